// SPDX-License-Identifier: Apache-2.0
#include "thalweg/io/slice_copy.h"

#include <algorithm>
#include <cstring>

namespace thalweg {

void CopyBox(const Tensor& from, const TensorSlice& source, Tensor& to, const TensorSlice& target,
             const TensorSlice& common) {
  const size_t element = DTypeStride(from.dtype());
  ForRuns(source, target, common, [&](size_t at, size_t into, size_t n) {
    if (from.dtype() == DType::kString) {
      std::copy_n(from.data<std::string>() + at, n, to.mutable_data<std::string>() + into);
    } else {
      std::memcpy(static_cast<char*>(to.mutable_raw_data()) + into * element,
                  static_cast<const char*>(from.raw_data()) + at * element, n * element);
    }
  });
}

}  // namespace thalweg
