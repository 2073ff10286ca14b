// SPDX-License-Identifier: Apache-2.0
// Reduction: which dimensions of a shape disappear, merged into alternating groups of kept and
// reduced ones.
//
//   ASSIGN_OR_RETURN(Reduction reduction, Reduction::Make(shape.dims(), axes));
//   ... make the output with reduction.OutputDims(keep_dims) ...
//   Reduce(work, op, dtype, reduction, x, y);
//
// Ownership: a value.
// Threads: const members from any.
// Errors: InvalidArgument for an axis out of range.
#pragma once

#include <span>

#include "thalweg/base/status.h"
#include "thalweg/tensor/dims.h"

namespace thalweg::compute {

class Reduction {
 public:
  // Axes may be negative and may repeat. InvalidArgument when one is outside [-rank, rank).
  static Result<Reduction> Make(std::span<const int64_t> dims, std::span<const int64_t> axes);

  Dims OutputDims(bool keep_dims) const;
  int64_t input_elements() const { return input_elements_; }
  int64_t output_elements() const { return output_elements_; }

  // Groups from left to right; group i is reduced when reduced(i).
  int groups() const { return sizes_.size(); }
  int64_t size(int group) const { return sizes_[group]; }
  bool reduced(int group) const { return (group % 2 == 0) == first_reduced_; }

 private:
  Reduction() = default;

  Dims dims_;
  Dims is_reduced_;  // 0 or 1 per dimension
  Dims sizes_;
  bool first_reduced_ = false;
  int64_t input_elements_ = 1;
  int64_t output_elements_ = 1;
};

}  // namespace thalweg::compute
