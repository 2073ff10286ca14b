// SPDX-License-Identifier: Apache-2.0
// RecordReader: the records of a TFRecord file, one after the other: length (fixed64), its masked
// CRC-32C, the bytes, theirs.
//
//   ASSIGN_OR_RETURN(RecordReader reader, RecordReader::Open(fs, "train.tfrecord"));
//   while (true) {
//     ASSIGN_OR_RETURN(std::optional<std::string> record, reader.Next());
//     if (!record) break;
//   }
//
// A file that ends within the twelve bytes before a record ends there, as for TensorFlow's reader.
// Errors: DataLoss with file and offset for everything else that is not as written.
// Threads: one.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "thalweg/base/file_system.h"
#include "thalweg/base/status.h"

namespace thalweg {

class RecordReader {
 public:
  static Result<RecordReader> Open(FileSystem& fs, std::string path);
  // Nothing at the end.
  Result<std::optional<std::string>> Next();

 private:
  RecordReader(std::string path, std::unique_ptr<RandomAccessFile> file, uint64_t size)
      : path_(std::move(path)), file_(std::move(file)), size_(size) {}
  // The n bytes from offset_ on, which the file has; valid until the next call.
  Result<const char*> Take(size_t n);

  std::string path_;
  std::unique_ptr<RandomAccessFile> file_;
  uint64_t size_ = 0;
  uint64_t offset_ = 0;
  std::string buffer_;         // of the file
  uint64_t buffer_begin_ = 0;  // where it is in it
};

}  // namespace thalweg
