// SPDX-License-Identifier: Apache-2.0
// FileSystem: the file operations that the project needs, behind one interface so that tests can
// inject faults.
//
//   PosixFileSystem fs;
//   RETURN_IF_ERROR(WriteFileAtomically(fs, "/models/checkpoint", text));
//   ASSIGN_OR_RETURN(std::string back, ReadFile(fs, "/models/checkpoint"));
//
// Ownership: a file object closes itself; a WritableFile destroyed without Close() gives up errors
// of the last writes.
// Threads: a FileSystem and a RandomAccessFile may be used by many threads at once, a WritableFile
// by one.
// Errors: NotFound, AlreadyExists, PermissionDenied, ResourceExhausted (disk or descriptors),
// FailedPrecondition (a directory where a file is expected, or the reverse), else Unknown; each
// with the path and the system's own words. Files are read, never mapped: a mapped file that
// shrinks kills the process.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "thalweg/base/status.h"

namespace thalweg {

class RandomAccessFile {
 public:
  virtual ~RandomAccessFile() = default;
  // Reads up to n bytes at `offset` into `buffer`. Fewer than n only where the file ends; 0 at or
  // past its end.
  virtual Result<size_t> Read(uint64_t offset, void* buffer, size_t n) const = 0;
  virtual Result<uint64_t> Size() const = 0;
};

class WritableFile {
 public:
  virtual ~WritableFile() = default;
  virtual const std::string& path() const = 0;
  // Writes all of data or fails.
  virtual Status Append(std::string_view data) = 0;
  // Hands all of data to the system now, after what was appended before, or leaves the file as it
  // was: what others read meanwhile ends with whole appends, also where the disk is full or the
  // process is killed. NotFound where the file was removed meanwhile.
  virtual Status AppendWhole(std::string_view data) = 0;
  // Returns when everything appended so far is on the disk.
  virtual Status Sync() = 0;
  virtual Status Close() = 0;
};

struct FileInfo {
  uint64_t size = 0;
  bool is_directory = false;
  int64_t modified_nanos = 0;  // since 1970
};

class FileSystem {
 public:
  virtual ~FileSystem() = default;
  virtual Result<std::unique_ptr<RandomAccessFile>> OpenForReading(const std::string& path) = 0;
  // Creates the file, or empties the one that is there.
  virtual Result<std::unique_ptr<WritableFile>> OpenForWriting(const std::string& path) = 0;
  virtual Result<std::unique_ptr<WritableFile>> OpenForAppending(const std::string& path) = 0;
  // Creates a file that did not exist before; its name is `prefix`, this machine's start and some
  // random letters. It is locked until it is closed, so that others see that it is in use: rename
  // it before it is closed.
  virtual Result<std::unique_ptr<WritableFile>> CreateTemporary(const std::string& prefix) = 0;
  // Removes a file of CreateTemporary that nobody has open any more, after `first`, if given.
  // False: it is no such file, is in use, or may be in use on another machine (where locks may not
  // be seen, for a day after it was last written).
  virtual Result<bool> RemoveAbandoned(const std::string& path,
                                       const std::function<Status()>& first) = 0;
  virtual Result<FileInfo> Stat(const std::string& path) = 0;
  // Names (not paths) in a directory, sorted, without "." and "..".
  virtual Result<std::vector<std::string>> List(const std::string& directory) = 0;
  virtual Status RemoveFile(const std::string& path) = 0;
  // The directory must be empty.
  virtual Status RemoveDirectory(const std::string& path) = 0;
  // Makes the directory and its parents; fine if it exists.
  virtual Status MakeDirectories(const std::string& path) = 0;
  // Atomic within one file system, replaces what is at `to`, and is on the disk when it returns.
  virtual Status Rename(const std::string& from, const std::string& to) = 0;
  // Gives the file a second name, which must be free.
  virtual Status Link(const std::string& from, const std::string& to) = 0;
};

class PosixFileSystem : public FileSystem {
 public:
  Result<std::unique_ptr<RandomAccessFile>> OpenForReading(const std::string& path) override;
  Result<std::unique_ptr<WritableFile>> OpenForWriting(const std::string& path) override;
  Result<std::unique_ptr<WritableFile>> OpenForAppending(const std::string& path) override;
  Result<std::unique_ptr<WritableFile>> CreateTemporary(const std::string& prefix) override;
  Result<bool> RemoveAbandoned(const std::string& path,
                               const std::function<Status()>& first) override;
  Result<FileInfo> Stat(const std::string& path) override;
  Result<std::vector<std::string>> List(const std::string& directory) override;
  Status RemoveFile(const std::string& path) override;
  Status RemoveDirectory(const std::string& path) override;
  Status MakeDirectories(const std::string& path) override;
  Status Rename(const std::string& from, const std::string& to) override;
  Status Link(const std::string& from, const std::string& to) override;
};

// NotFound is false; every other error is returned.
Result<bool> FileExists(FileSystem& fs, const std::string& path);

struct ReadFileOptions {
  uint64_t max_bytes = uint64_t{1} << 40;  // more is ResourceExhausted
  // Asked for so many bytes in all, before they are taken; its error is the caller's.
  std::function<Status(uint64_t)> make_room;
};

// The whole file. Works for files whose size is unknown (pipes, /proc).
Result<std::string> ReadFile(FileSystem& fs, const std::string& path,
                             const ReadFileOptions& options = {});

// Exactly n bytes at offset, or OutOfRange when the file is shorter.
Status ReadExactly(const RandomAccessFile& file, uint64_t offset, void* buffer, size_t n);

// A reader sees the old contents or the new, never a part, also after a crash.
Status WriteFileAtomically(FileSystem& fs, const std::string& path, std::string_view contents);

// The part of a path before its last '/': "/a/b" gives "/a", "/a" gives "/", "a" gives ".".
std::string ParentDirectory(const std::string& path);

}  // namespace thalweg
