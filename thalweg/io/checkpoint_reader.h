// SPDX-License-Identifier: Apache-2.0
// CheckpointReader: reads tensors from a checkpoint of either format, V2 (bundle_reader.h) where
// there is an index, else V1 (slice_file_reader.h).
//
//   ASSIGN_OR_RETURN(auto reader, CheckpointReader::Open(fs, "/models/model-7"));
//   for (const auto& tensor : reader->tensors()) ... tensor.name, tensor.dtype, tensor.shape
//   ASSIGN_OR_RETURN(Tensor w, reader->Read("w", allocator));
//
// Ownership: keeps the files open; `fs` must outlive it.
// Threads: const members from any thread.
// Errors: NotFound for what is not there; DataLoss for bytes that do not match their checksums,
// so that what it gives is what was written.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "thalweg/base/file_system.h"
#include "thalweg/base/mapped_file.h"
#include "thalweg/base/status.h"
#include "thalweg/io/tensor_slice.h"
#include "thalweg/tensor/tensor.h"

namespace thalweg {

class BundleReader;
class SliceFileReader;

class CheckpointReader {
 public:
  struct Entry {
    std::string name;
    DType dtype = DType::kInvalid;
    Shape shape;        // of the whole tensor, also where it was saved in slices
    size_t slices = 0;  // that it was saved in; 0: as a whole
  };

  // `prefix` may be a pattern of the shell's where the format is V1.
  static Result<std::unique_ptr<CheckpointReader>> Open(FileSystem& fs, const std::string& prefix);
  ~CheckpointReader();

  // Format V2, not V1.
  bool is_bundle() const { return bundle_ != nullptr; }
  // All tensors, sorted by name.
  const std::vector<Entry>& tensors() const { return tensors_; }
  // Null when there is none of this name.
  const Entry* Find(std::string_view name) const;
  Result<Tensor> Read(std::string_view name, Allocator& allocator) const;
  // See BundleReader; format V1 is read.
  Result<Tensor> ReadOrMap(std::string_view name, Allocator& allocator, MappedFiles& files) const;
  Result<Tensor> ReadSlice(std::string_view name, const TensorSlice& slice,
                           Allocator& allocator) const;

 private:
  CheckpointReader();

  std::unique_ptr<BundleReader> bundle_;  // one of the two
  std::unique_ptr<SliceFileReader> slice_files_;
  std::vector<Entry> tensors_;
};

}  // namespace thalweg
