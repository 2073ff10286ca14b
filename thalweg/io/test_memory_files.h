// SPDX-License-Identifier: Apache-2.0
// For tests and fuzzers: files that are bytes in memory.
//
//   MemoryFileSystem fs([&](const std::string& path) { return std::string_view(bytes); });
//
// Ownership: the bytes must outlive the files.
// Threads: one.
// Errors: Unimplemented for everything but reading and Stat; NotFound from the 101st opening on, so
// that a claim of many files ends.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "thalweg/base/file_system.h"

namespace thalweg {

class MemoryFile : public RandomAccessFile {
 public:
  explicit MemoryFile(std::string_view bytes) : bytes_(bytes) {}
  Result<size_t> Read(uint64_t offset, void* buffer, size_t n) const override {
    if (offset >= bytes_.size()) return size_t{0};
    return bytes_.copy(static_cast<char*>(buffer), n, offset);
  }
  Result<uint64_t> Size() const override { return uint64_t{bytes_.size()}; }

 private:
  const std::string_view bytes_;
};

class MemoryFileSystem : public FileSystem {
 public:
  explicit MemoryFileSystem(std::function<std::string_view(const std::string& path)> bytes_of)
      : bytes_of_(std::move(bytes_of)) {}
  Result<std::unique_ptr<RandomAccessFile>> OpenForReading(const std::string& path) override {
    if (opened_++ == 100) return NotFound(path);
    return std::unique_ptr<RandomAccessFile>(new MemoryFile(bytes_of_(path)));
  }
  Result<std::unique_ptr<WritableFile>> OpenForWriting(const std::string& path) override {
    return Unimplemented(path);
  }
  Result<std::unique_ptr<WritableFile>> OpenForAppending(const std::string& path) override {
    return Unimplemented(path);
  }
  Result<std::unique_ptr<WritableFile>> CreateTemporary(const std::string& prefix) override {
    return Unimplemented(prefix);
  }
  Result<FileInfo> Stat(const std::string& path) override {
    return FileInfo{.size = bytes_of_(path).size()};
  }
  Result<std::vector<std::string>> List(const std::string& path) override {
    return Unimplemented(path);
  }
  Status RemoveFile(const std::string& path) override { return Unimplemented(path); }
  Status RemoveDirectory(const std::string& path) override { return Unimplemented(path); }
  Status MakeDirectories(const std::string& path) override { return Unimplemented(path); }
  Status Rename(const std::string& from, const std::string&) override {
    return Unimplemented(from);
  }
  Status Link(const std::string& from, const std::string&) override { return Unimplemented(from); }
  Result<bool> RemoveAbandoned(const std::string& path, const std::function<Status()>&) override {
    return Unimplemented(path);
  }

 private:
  const std::function<std::string_view(const std::string& path)> bytes_of_;
  int opened_ = 0;
};

}  // namespace thalweg
