// SPDX-License-Identifier: Apache-2.0
// What the operations on checkpoints of both formats ask of their inputs.
// Ownership: a tensor that is read is the caller's.
// Threads: any.
// Errors: InvalidArgument for arguments, types and shapes that differ from the file's; those of the
// reader.
#pragma once

#include <string>

#include "thalweg/io/tensor_slice.h"
#include "thalweg/kernel/kernel_registry.h"

namespace thalweg {

inline Status CheckText(const Tensor& tensor, int64_t count, const char* what) {
  if (tensor.dtype() != DType::kString || tensor.num_elements() != count) {
    return InvalidArgument("expected ", count, " strings as ", what, ", got ", tensor.dtype(),
                           tensor.shape());
  }
  return OkStatus();
}

// What the file holds must be what the graph expects: reads all of `name`, or what `text` says.
// R: CheckpointReader or SliceFileReader. `mapped`: where a whole tensor may be mapped; null: it is
// read.
template <class R>
Result<Tensor> ReadFrom(const R& reader, const std::string& name, const std::string& text,
                        DType dtype, Allocator& allocator, MappedFiles* mapped = nullptr) {
  const auto* entry = reader.Find(name);
  if (entry != nullptr && entry->dtype != dtype) {
    return InvalidArgument("tensor '", name, "' has type ", entry->dtype,
                           " in the checkpoint, the graph expects ", dtype);
  }
  if constexpr (requires { reader.ReadOrMap(name, allocator, *mapped); }) {
    if (text.empty() && mapped != nullptr) return reader.ReadOrMap(name, allocator, *mapped);
  }
  if (text.empty()) return reader.Read(name, allocator);
  Shape whole;
  TensorSlice slice;
  RETURN_IF_ERROR(ParseShapeAndSlice(text, &whole, &slice).WithContext(name));
  if (entry != nullptr && entry->shape != whole) {
    return InvalidArgument("tensor '", name, "' has shape ", entry->shape,
                           " in the checkpoint, the graph expects ", whole);
  }
  return reader.ReadSlice(name, slice, allocator);
}

}  // namespace thalweg
