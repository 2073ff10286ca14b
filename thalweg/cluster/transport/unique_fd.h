// SPDX-License-Identifier: Apache-2.0
// UniqueFd: owns a file descriptor.
//
//   const UniqueFd file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
//   if (!file.valid()) return NotFound(path);
//
// Ownership: closes it when it is destroyed; moving hands it over.
// Threads: as an int.
// Errors: none; valid() tells, and `errno` is the caller's to read.
#pragma once

#include <unistd.h>

#include <utility>

namespace thalweg {

class UniqueFd {
 public:
  UniqueFd() = default;
  explicit UniqueFd(int fd) : fd_(fd) {}
  UniqueFd(UniqueFd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  UniqueFd& operator=(UniqueFd&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~UniqueFd() {
    if (fd_ >= 0) ::close(fd_);
  }
  int get() const { return fd_; }
  bool valid() const { return fd_ >= 0; }

 private:
  int fd_ = -1;
};

}  // namespace thalweg
