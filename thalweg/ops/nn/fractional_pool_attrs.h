// SPDX-License-Identifier: Apache-2.0
// pooling_ratio of the fractional pools, and what it makes of a size. Private to them.
// Ownership: values.
// Threads: any; no state.
// Errors: InvalidArgument for a ratio out of range, Unimplemented for one over batch or channels.
#pragma once

#include <cmath>
#include <vector>

#include "thalweg/base/status.h"

namespace thalweg {

template <class Source>
Result<std::vector<float>> ParseRatio(const Source& source) {
  ASSIGN_OR_RETURN(auto ratio, source.template Attr<std::vector<float>>("pooling_ratio"));
  if (ratio.size() != 4) {
    return InvalidArgument("pooling_ratio must have 4 elements, got ", ratio.size());
  }
  for (float r : ratio) {
    if (!(r >= 1)) return InvalidArgument("pooling_ratio cannot be smaller than 1, got ", r);
  }
  if (ratio[0] != 1 || ratio[3] != 1) {
    return Unimplemented("fractional pooling over the batch or channel dimension");
  }
  return ratio;
}

inline Result<int64_t> PooledSize(int64_t size, float ratio, int dimension) {
  const auto out = static_cast<int64_t>(std::floor(static_cast<float>(size) / ratio));
  if (out >= 1 && out <= size) return out;
  return InvalidArgument("pooling ratio ", ratio, " is higher than the size of dimension ",
                         dimension, ", ", size);
}

}  // namespace thalweg
