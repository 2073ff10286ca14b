// SPDX-License-Identifier: Apache-2.0
#include "thalweg/compute/reduce/reduction.h"

namespace thalweg::compute {

Result<Reduction> Reduction::Make(std::span<const int64_t> dims, std::span<const int64_t> axes) {
  Reduction r;
  const auto rank = static_cast<int64_t>(dims.size());
  r.dims_ = Dims(dims);
  r.is_reduced_.resize(static_cast<int>(rank));
  for (int64_t axis : axes) {
    if (axis < -rank || axis >= rank) {
      return InvalidArgument("Invalid reduction dimension (", axis, " for input with ", rank,
                             " dimension(s)");
    }
    r.is_reduced_[static_cast<int>(axis < 0 ? axis + rank : axis)] = 1;
  }
  bool last = false;
  for (int i = 0; i < static_cast<int>(rank); ++i) {
    r.input_elements_ *= r.dims_[i];
    const bool reduced = r.is_reduced_[i] != 0;
    if (!reduced) r.output_elements_ *= r.dims_[i];
    if (r.dims_[i] == 1) continue;
    if (r.sizes_.size() == 0) r.first_reduced_ = reduced;
    if (r.sizes_.size() > 0 && reduced == last) {
      r.sizes_[r.sizes_.size() - 1] *= r.dims_[i];
    } else {
      r.sizes_.push_back(r.dims_[i]);
    }
    last = reduced;
  }
  if (r.sizes_.size() == 0) {  // a single element
    r.sizes_.push_back(1);
    r.first_reduced_ = false;
  }
  return r;
}

Dims Reduction::OutputDims(bool keep_dims) const {
  Dims out;
  for (int i = 0; i < dims_.size(); ++i) {
    if (is_reduced_[i] == 0) {
      out.push_back(dims_[i]);
    } else if (keep_dims) {
      out.push_back(1);
    }
  }
  return out;
}

}  // namespace thalweg::compute
