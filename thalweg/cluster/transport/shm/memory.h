// SPDX-License-Identifier: Apache-2.0
// SharedMemory: a mapping of memory that two processes share (memfd, never /dev/shm: that is a
// small mount in a container, and a page that does not fit is a SIGBUS).
//
//   ASSIGN_OR_RETURN(SharedMemory made, SharedMemory::Make(4096, SharedUse::kOwnerWrites));
//   ASSIGN_OR_RETURN(SharedMemory seen,      // by the other process, which was sent made.fd()
//                    SharedMemory::Map(std::move(fd), 4096, SharedUse::kOwnerWrites));
//
// Ownership: each maps it until it is destroyed; made memory is sealed: nobody can truncate it.
// Threads: const members from any; who writes what the two processes settle (ring.h).
// Errors: ResourceExhausted where it cannot be backed, which is done when it is made; DataLoss for
// memory of another process that is not as it must be.
#pragma once

#include <cstddef>

#include "thalweg/base/status.h"
#include "thalweg/cluster/transport/unique_fd.h"

namespace thalweg {

enum class SharedUse { kBothWrite, kOwnerWrites };

class SharedMemory {
 public:
  SharedMemory() = default;
  // `fd` of the result is what the other process needs.
  static Result<SharedMemory> Make(size_t bytes, SharedUse use);
  // Memory made by another process, of at least `bytes`. DataLoss where it is not as it must be.
  static Result<SharedMemory> Map(UniqueFd fd, size_t bytes, SharedUse use);
  SharedMemory(SharedMemory&& other) noexcept { *this = std::move(other); }
  SharedMemory& operator=(SharedMemory&& other) noexcept;
  ~SharedMemory();

  char* data() const { return data_; }
  size_t bytes() const { return bytes_; }
  int fd() const { return fd_.get(); }  // of made memory

 private:
  UniqueFd fd_;
  char* data_ = nullptr;
  size_t bytes_ = 0;
};

}  // namespace thalweg
