// SPDX-License-Identifier: Apache-2.0
#include "thalweg/tensor/row_splits.h"

#include "thalweg/tensor/integers.h"

namespace thalweg {

Result<Splits> SplitsOf(const Tensor& tensor, int64_t values, Cover cover) {
  const bool whole = cover == Cover::kWhole;
  if (tensor.rank() != 1) {
    return InvalidArgument("row splits must be a vector, got shape ", tensor.shape());
  }
  const int64_t count = tensor.num_elements();
  if (count == 0) return InvalidArgument("row splits must have one element at least, got none");
  Splits splits(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) {
    const int64_t at = IntAt(tensor, i);
    splits[static_cast<size_t>(i)] = at;
    if (i == 0 && (at < 0 || (whole && at != 0))) {
      return InvalidArgument("row splits must begin with 0, got ", at);
    }
    if (i > 0 && at < splits[static_cast<size_t>(i - 1)]) {
      return InvalidArgument("row splits must not go down, got ", at, " behind ",
                             splits[static_cast<size_t>(i - 1)]);
    }
  }
  const int64_t last = splits.back();
  if (last > values || (whole && last != values)) {
    return InvalidArgument("row splits end at ", last, ", of ", values, " values");
  }
  return splits;
}

}  // namespace thalweg
