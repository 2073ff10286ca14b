// SPDX-License-Identifier: Apache-2.0
// NewFile: a file that appears whole or not at all, and replaces another one only by force.
//
//   NewFile file("out.npz", false);    // throws FileError where out.npz is there already
//   WriteFile(file.path(), bytes);     // a temporary name beside it
//   file.Keep();
//
// A device, a pipe, or a link to one is never replaced, but written to: path() is its own.
// Ownership: without Keep, the destructor removes what was written.
// Threads: one.
// Errors: throws FileError where the file is there already, cannot be made, or cannot be renamed to
// its name; what was written is there then, under the name that the error says.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>

#include "npy.h"

namespace cli {

class NewFile {
 public:
  NewFile(std::string name, bool force)
      : name_(std::move(name)), path_(name_ + ".tmp" + std::to_string(getpid())), force_(force) {
    if (name_.empty()) throw FileError("expected the name of a file, got an empty one");
    std::error_code ignored;
    const std::filesystem::file_status there = std::filesystem::status(name_, ignored);
    if (std::filesystem::is_directory(there)) throw FileError(name_ + ": it is a directory");
    is_replaced_ = !std::filesystem::exists(there) || std::filesystem::is_regular_file(there);
    if (!is_replaced_) {
      path_ = name_;
      Check(access(name_.c_str(), W_OK));
      return;
    }
    if (!force && std::filesystem::exists(there)) {
      throw FileError(name_ + ": the file is there already; --force replaces it");
    }
    // Here, and not when there is something to write that may never come again.
    const int made = open(path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    Check(made);
    close(made);
  }
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;
  ~NewFile() {
    if (is_replaced_) std::remove(path_.c_str());
  }

  const std::string& path() const { return path_; }
  // Whether it is a file, which can be read again.
  bool is_regular() const { return is_replaced_; }
  void Keep() {
    if (!std::exchange(is_replaced_, false)) return;
    if (!Rename()) {
      throw FileError(name_ + ": " + std::generic_category().message(errno) +
                      "; what was written is " + path_);
    }
  }

 private:
  void Check(int result) const {
    if (result < 0) throw FileError(name_ + ": " + std::generic_category().message(errno));
  }
  bool Rename() const {
    if (!force_) {  // a file may have appeared meanwhile
      if (renameat2(AT_FDCWD, path_.c_str(), AT_FDCWD, name_.c_str(), RENAME_NOREPLACE) == 0) {
        return true;
      }
      if (errno != EINVAL && errno != ENOSYS) return false;
      std::error_code ignored;  // a file system that cannot tell
      if (std::filesystem::exists(name_, ignored)) {
        errno = EEXIST;
        return false;
      }
    }
    return std::rename(path_.c_str(), name_.c_str()) == 0;
  }

  const std::string name_;
  std::string path_;
  const bool force_;
  bool is_replaced_ = false;
};

}  // namespace cli
