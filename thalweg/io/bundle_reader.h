// SPDX-License-Identifier: Apache-2.0
// BundleReader: reads tensors from a checkpoint of format V2 (see bundle_writer.h), whole or in
// slices, also such as were saved in slices.
//
//   ASSIGN_OR_RETURN(auto reader, BundleReader::Open(fs, "/models/model-7"));
//   ASSIGN_OR_RETURN(Tensor w, reader->Read("w", allocator));
//
// A data file is opened when the first tensor of it is read.
// Ownership: owns its entries and open files; the file system outlives it, tensors are the
// caller's.
// Threads: const members from any thread.
// Errors: NotFound with the nearest names for a missing tensor or file, DataLoss with file and
// tensor for what does not match its checksum.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "thalweg/base/file_system.h"
#include "thalweg/base/mapped_file.h"
#include "thalweg/base/mutex.h"
#include "thalweg/base/status.h"
#include "thalweg/io/bundle_entry.h"
#include "thalweg/io/tensor_slice.h"
#include "thalweg/tensor/tensor.h"

namespace thalweg {

class BundleReader {
 public:
  using Entry = BundleEntry;

  static Result<std::unique_ptr<BundleReader>> Open(FileSystem& fs, std::string prefix);

  // Null when there is none. Names of slices' pieces are not tensors.
  const Entry* Find(std::string_view name) const;
  // All tensors, sorted by name.
  std::vector<std::string> Names() const;
  int num_shards() const { return num_shards_; }
  Result<Tensor> Read(std::string_view name, Allocator& allocator) const;
  Result<Tensor> ReadSlice(std::string_view name, const TensorSlice& slice,
                           Allocator& allocator) const;
  // As Read, but a large tensor that stands in its file as in memory is its pages there, which
  // nobody has read: its checksum is not looked at. Others are read.
  Result<Tensor> ReadOrMap(std::string_view name, Allocator& allocator, MappedFiles& files) const;
  // Whether a tensor that was saved in pieces can be put together from them: each of its type, in
  // its file, and every element in one of them. Reads no values.
  Status CheckPieces(std::string_view name) const;

 private:
  BundleReader(FileSystem& fs, std::string prefix) : fs_(fs), prefix_(std::move(prefix)) {}
  Result<const RandomAccessFile*> Shard(int shard) const EXCLUDES(mutex_);
  Result<const Entry*> Require(std::string_view name) const;
  // One of the tensors that a partitioned one was saved in, and what it has in common with what is
  // wanted.
  struct Piece {
    std::string name;  // for messages
    const Entry* entry = nullptr;
    Shape shape;
    TensorSlice box;
    TensorSlice common;
  };

  // DataLoss when the bytes are not in the file, or not as many as a tensor of `shape` has.
  Status CheckSize(const std::string& key, const Entry& entry, const Shape& shape) const;
  Result<std::vector<Piece>> PiecesOf(std::string_view name, const Entry& entry,
                                      const TensorSlice& wanted) const;
  Result<Tensor> ReadEntry(const std::string& key, const Entry& entry, const Shape& shape,
                           Allocator& allocator) const;
  Status ReadVariants(const std::string& key, const Entry& entry, Tensor& value) const;
  Status ReadStrings(const std::string& key, const Entry& entry, Tensor& value) const;
  Result<Tensor> Assemble(std::string_view name, const Entry& entry, const TensorSlice& wanted,
                          Allocator& allocator) const;

  FileSystem& fs_;
  const std::string prefix_;
  int num_shards_ = 0;
  mutable Mutex mutex_;
  mutable std::map<int, std::unique_ptr<RandomAccessFile>> shards_ GUARDED_BY(mutex_);
  std::map<std::string, Entry, std::less<>> entries_;
};

}  // namespace thalweg
