// SPDX-License-Identifier: Apache-2.0
// MappedFile: a file whose pages are memory, shared with all processes that map it. MappedFiles:
// those of one owner, each once.
//
//   MappedFiles files;
//   ASSIGN_OR_RETURN(const std::shared_ptr<const MappedFile> file, files.Map("/models/weights"));
//   Use(file->bytes());
//   RETURN_IF_ERROR(files.Check());  // what was used is what stood in the file
//
// A file that others cut short, or that cannot be read any more, ends nothing: pages that are gone
// read as zeros, and Check says so from then on. For that the first Map sets a handler of SIGBUS
// in the process (docs/design/mapped_weights.md); faults that are not those of a mapped file go to
// the handler that was there before. A file that is written into is found by its time. One that is
// replaced or removed stays what it was.
// Ownership: a MappedFile owns its mapping, which is read-only, and the open file.
// Threads: every member from any. bytes() is read by any, also while the file changes.
// Errors: those of opening the file; InvalidArgument for an empty one, ResourceExhausted for too
// many files or no room; Check: DataLoss that names the file.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "thalweg/base/mutex.h"
#include "thalweg/base/status.h"

namespace thalweg {

class MappedFile {
 public:
  static Result<std::shared_ptr<const MappedFile>> Open(const std::string& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  const std::string& path() const { return path_; }
  std::string_view bytes() const { return {data_, size_}; }
  // Gives back the memory of a part of bytes(), for who reads a large file once, from its begin to
  // its end; where it is read again it comes from the file again.
  void Forget(std::string_view part) const;
  // Whether all of it is still what it was when it was mapped.
  Status Check() const;

 private:
  explicit MappedFile(std::string path) : path_(std::move(path)) {}
  Status Map();

  const std::string path_;
  int fd_ = -1;
  const char* data_ = nullptr;
  size_t size_ = 0;
  int64_t modified_nanos_ = 0;
  int slot_ = -1;                                 // of what the handler knows
  mutable std::atomic<bool> has_changed_{false};  // once seen, for good
};

// What has fewer bytes is read where others are mapped.
inline constexpr size_t kLeastMapped = size_t{64} << 10;

class MappedFiles {
 public:
  MappedFiles() = default;
  ~MappedFiles();
  MappedFiles(const MappedFiles&) = delete;
  MappedFiles& operator=(const MappedFiles&) = delete;

  Result<std::shared_ptr<const MappedFile>> Map(const std::string& path) EXCLUDES(mutex_);
  // Whether it points into one of them.
  bool Hold(const void* at) const;
  // Of all that were mapped. Takes no lock: it is called before and after steps.
  Status Check() const;

 private:
  struct Node {
    std::shared_ptr<const MappedFile> file;
    Node* next = nullptr;
  };
  Mutex mutex_;  // held by who adds one
  std::atomic<Node*> first_{nullptr};
};

}  // namespace thalweg
