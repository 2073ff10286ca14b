// SPDX-License-Identifier: Apache-2.0
// NewFile: a file that appears whole or not at all, and replaces another one only by force.
//
//   NewFile file("out.npz", false);    // throws FileError where out.npz is there already
//   WriteFile(file.path(), bytes);     // a temporary name beside it
//   file.Keep();
//
// Ownership: without Keep, the destructor removes what was written.
// Threads: one.
// Errors: throws FileError where the file is there already, or cannot be renamed to its name.
#pragma once

#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <string>
#include <utility>

#include "npy.h"

namespace cli {

class NewFile {
 public:
  NewFile(std::string name, bool force)
      : name_(std::move(name)), path_(name_ + ".tmp" + std::to_string(getpid())) {
    std::error_code ignored;
    if (!force && std::filesystem::exists(name_, ignored)) {
      throw FileError(name_ + ": the file is there already; --force replaces it");
    }
  }
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;
  ~NewFile() {
    if (!kept_) std::remove(path_.c_str());
  }

  const std::string& path() const { return path_; }
  void Keep() {
    std::error_code error;
    std::filesystem::rename(path_, name_, error);
    if (error) throw FileError(name_ + ": " + error.message());
    kept_ = true;
  }

 private:
  const std::string name_;
  const std::string path_;
  bool kept_ = false;
};

}  // namespace cli
