// SPDX-License-Identifier: Apache-2.0
// LockFile: a file that only one of several processes can make; it is removed when the object goes.
//
//   ASSIGN_OR_RETURN(std::unique_ptr<LockFile> lock, LockFile::Make(path));
//
// Ownership: the file.
// Threads: one for each object.
// Errors: AlreadyExists that says what the file of somebody else holds.
#pragma once

#include <memory>
#include <string>

#include "thalweg/base/status.h"

namespace thalweg {

class LockFile {
 public:
  static Result<std::unique_ptr<LockFile>> Make(std::string path);
  LockFile(const LockFile&) = delete;
  LockFile& operator=(const LockFile&) = delete;
  ~LockFile();

 private:
  explicit LockFile(std::string path) : path_(std::move(path)) {}
  const std::string path_;
};

}  // namespace thalweg
