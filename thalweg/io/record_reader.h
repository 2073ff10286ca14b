// SPDX-License-Identifier: Apache-2.0
// RecordReader: the records of a TFRecord file, one after the other: length (fixed64), its masked
// CRC-32C, the bytes, theirs. The file may be compressed as a whole.
//
//   ASSIGN_OR_RETURN(RecordReader reader, RecordReader::Open(fs, "train.tfrecord"));
//   while (true) {
//     ASSIGN_OR_RETURN(std::optional<std::string> record, reader.Next());
//     if (!record) break;
//   }
//
// A file that ends within the twelve bytes before a record ends there, as for TensorFlow's reader.
// Errors: DataLoss with file and offset for everything else that is not as written; the same one
// again when Next is called again.
// Threads: one.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "thalweg/base/file_system.h"
#include "thalweg/base/status.h"
#include "thalweg/io/inflate.h"

namespace thalweg {

class RecordReader {
 public:
  static Result<RecordReader> Open(FileSystem& fs, std::string path,
                                   Compression kind = Compression::kNone);
  // Nothing at the end. make_room is asked for the bytes of a record before they are taken; its error
  // is the caller's, and the record comes next time.
  Result<std::optional<std::string>> Next(const MakeRoom& make_room = {});
  // Where the next record begins, in what is uncompressed.
  uint64_t offset() const { return offset_; }

 private:
  static constexpr uint64_t kUnknownSize = ~uint64_t{0};

  RecordReader(std::string path, std::unique_ptr<RandomAccessFile> file, uint64_t size)
      : path_(std::move(path)), file_(std::move(file)), size_(size) {}
  // Makes the n bytes from offset_ on be those from next_ on in the buffer: how many of them there
  // are.
  Result<size_t> Fill(size_t n);

  std::string path_;
  std::unique_ptr<RandomAccessFile> file_;
  uint64_t size_ = 0;
  uint64_t offset_ = 0;  // of the next record
  std::string buffer_;
  size_t next_ = 0;  // in the buffer
};

}  // namespace thalweg
