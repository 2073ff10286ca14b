// SPDX-License-Identifier: Apache-2.0
// Broadcast: two or three operands of different shapes walked together, by NumPy's rules.
//
//   ASSIGN_OR_RETURN(Broadcast broadcast, Broadcast::Make({a_dims, b_dims}));
//   ... make the output with broadcast.output_dims() ...
//   RunBinary(work, op, dtype, broadcast, a, b, out);
//
// Neighboring dimensions that all operands walk alike are merged, so that most cases end as one or
// two dimensions.
// Ownership: a value; a RowCursor points at its Broadcast.
// Threads: const members from any; a cursor one at a time.
// Errors: InvalidArgument "Incompatible shapes" when two sizes differ and neither is 1.
#pragma once

#include <initializer_list>
#include <span>

#include "thalweg/base/status.h"
#include "thalweg/tensor/dims.h"

namespace thalweg::compute {

class Broadcast {
 public:
  static constexpr int kMaxOperands = 3;

  static Result<Broadcast> Make(std::initializer_list<std::span<const int64_t>> operands);
  // Operands of n elements each.
  static Broadcast Dense(int64_t n, int operands);

  const Dims& output_dims() const { return output_dims_; }
  int operands() const { return operands_; }
  int64_t elements() const { return elements_; }

  // The merged dimensions, at least one; the last is the fastest. An operand's stride is 0 where it
  // repeats.
  int rank() const { return sizes_.size(); }
  int64_t size(int dim) const { return sizes_[dim]; }
  int64_t stride(int operand, int dim) const { return strides_[operand][dim]; }
  int64_t inner() const { return sizes_[sizes_.size() - 1]; }
  int64_t rows() const { return inner() == 0 ? 0 : elements_ / inner(); }
  // True when the operand has an element of its own for every element of the output.
  bool IsDense(int operand) const { return dense_[operand]; }

 private:
  Broadcast() = default;

  int operands_ = 0;
  Dims output_dims_;
  int64_t elements_ = 0;
  Dims sizes_;
  Dims strides_[kMaxOperands];
  bool dense_[kMaxOperands] = {};
};

// Walks the rows (all dimensions but the last) of a Broadcast: offset(k) is where row row() of
// operand k starts.
class RowCursor {
 public:
  RowCursor(const Broadcast& broadcast, int64_t row);
  int64_t offset(int operand) const { return offset_[operand]; }
  void Next();

 private:
  const Broadcast& broadcast_;
  Dims place_;
  int64_t offset_[Broadcast::kMaxOperands] = {};
};

}  // namespace thalweg::compute
