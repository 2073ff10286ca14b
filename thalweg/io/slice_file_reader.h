// SPDX-License-Identifier: Apache-2.0
// SliceFileReader: reads tensors from a checkpoint of format V1 (see slice_file_writer.h), which
// may be spread over several files, whole or in slices.
//
//   ASSIGN_OR_RETURN(auto reader, SliceFileReader::Open(fs, "/models/model-7-?????-of-00002"));
//   ASSIGN_OR_RETURN(Tensor w, reader->Read("w", allocator));
//
// It reads what stands of tensors in each file, and values when they are asked for.
// Ownership: owns what it knows of its files, and these open; tensors are the caller's.
// Threads: const members from any thread.
// Errors: NotFound for a pattern that no file matches and for a missing tensor, InvalidArgument for
// one that is not there as a whole, DataLoss with file and tensor for what is not as written.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "thalweg/base/file_system.h"
#include "thalweg/base/status.h"
#include "thalweg/io/table.h"
#include "thalweg/io/tensor_slice.h"
#include "thalweg/tensor/tensor.h"

namespace thalweg {

class SliceFileReader {
 public:
  struct Entry {
    DType dtype = DType::kInvalid;
    Shape shape;                                         // of the whole tensor
    std::vector<std::pair<size_t, TensorSlice>> slices;  // and the file that has it
  };

  // The pattern is a path, or one of the shell's that several match.
  static Result<std::unique_ptr<SliceFileReader>> Open(FileSystem& fs, std::string pattern);

  // Null when there is none.
  const Entry* Find(std::string_view name) const;
  // All tensors, sorted by name.
  std::vector<std::string> Names() const;
  Result<Tensor> Read(std::string_view name, Allocator& allocator) const;
  Result<Tensor> ReadSlice(std::string_view name, const TensorSlice& slice,
                           Allocator& allocator) const;

 private:
  struct File {
    std::string path;
    std::unique_ptr<RandomAccessFile> file;
    TableReader table;
  };
  struct Piece {
    TensorSlice box;
    TensorSlice common;  // with what is wanted
    Tensor value;
  };
  explicit SliceFileReader(std::string pattern) : pattern_(std::move(pattern)) {}
  Status OpenFile(FileSystem& fs, const std::string& path);
  Status AddTensor(const Message& meta);
  Result<Tensor> ReadRecord(std::string_view name, const Entry& entry, size_t file,
                            const TensorSlice& slice, Allocator& allocator) const;
  Result<std::vector<Piece>> PiecesOf(std::string_view name, const Entry& entry,
                                      const TensorSlice& wanted, Allocator& allocator) const;

  const std::string pattern_;
  std::vector<File> files_;
  std::map<std::string, Entry, std::less<>> entries_;
};

}  // namespace thalweg
