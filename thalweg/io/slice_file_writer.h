// SPDX-License-Identifier: Apache-2.0
// SliceFileWriter: writes tensors into a checkpoint of format V1: one file, a sorted table with the
// names, types and shapes of all tensors under the empty key, and the values of each slice, as a
// message, under SliceKey.
//
//   ASSIGN_OR_RETURN(auto writer, SliceFileWriter::Create(fs, "/models/model-7"));
//   RETURN_IF_ERROR(writer->Add("w", tensor));
//   RETURN_IF_ERROR(writer->Finish());        // until then there is no such file
//
// Tensors are kept until Finish.
// Ownership: copies values as they come; the file system outlives it.
// Threads: one.
// Errors: InvalidArgument for a slice given twice, Unimplemented for types that the format has not,
// what the file system says.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "thalweg/base/file_system.h"
#include "thalweg/base/status.h"
#include "thalweg/io/tensor_slice.h"
#include "thalweg/tensor/tensor.h"

namespace thalweg {

// Whether the format has tensors of this type.
bool IsSliceFileType(DType dtype);

class SliceFileWriter {
 public:
  static Result<std::unique_ptr<SliceFileWriter>> Create(FileSystem& fs, std::string path);

  Status Add(std::string_view name, const Tensor& value);
  // One slice of the tensor `name` of shape `whole`.
  Status AddSlice(std::string_view name, const Shape& whole, const TensorSlice& slice,
                  const Tensor& value);
  Status Finish();

 private:
  struct Record {
    std::string name;
    TensorSlice slice;
    Tensor value;
  };
  SliceFileWriter(FileSystem& fs, std::string path) : fs_(fs), path_(std::move(path)) {}
  Result<Message*> MetaOf(std::string_view name, const Shape& whole, DType dtype);
  Status WriteTable(WritableFile& file) const;

  FileSystem& fs_;
  const std::string path_;
  OwnedMessage meta_;                                                       // SavedTensorSlices
  std::map<std::string, std::pair<Message*, Shape>, std::less<>> tensors_;  // in meta_
  std::map<std::string, Record> records_;
};

}  // namespace thalweg
