// SPDX-License-Identifier: Apache-2.0
// Half precision computed as float; leading dimensions that broadcast.
//
//   ASSIGN_OR_RETURN(const Tensor input, Widened(ctx, ctx.input(0)));     // float, or as it is
//   ASSIGN_OR_RETURN(WidenedOutput out, WidenedOutput::Allocate(ctx, 0, shape));
//   ... write out.tensor() ...
//   return out.Finish();                                                   // narrows
//
// Ownership: a copy, or a share of what needs none; the output is the context's.
// Threads: those of the kernel's call.
// Errors: ResourceExhausted; BroadcastBatch: InvalidArgument for batches that do not broadcast.
#pragma once

#include <algorithm>
#include <vector>

#include "thalweg/graph/shape_inference.h"
#include "thalweg/ops/linalg/matrix_batch.h"

namespace thalweg {

inline Result<Tensor> Widened(Context& ctx, const Tensor& tensor) {
  if (tensor.dtype() != DType::kHalf) return tensor;
  ASSIGN_OR_RETURN(Tensor wide, ctx.AllocateTemporary(DType::kFloat, tensor.shape()));
  const Half* from = tensor.data<Half>();
  float* to = wide.mutable_data<float>();
  for (int64_t i = 0; i < tensor.num_elements(); ++i) to[i] = static_cast<float>(from[i]);
  return wide;
}

class WidenedOutput {
 public:
  // An output of the type of input 0.
  static Result<WidenedOutput> Allocate(Context& ctx, int i, const Shape& shape) {
    WidenedOutput made;
    const DType dtype = ctx.input(0).dtype();
    ASSIGN_OR_RETURN(made.out_, ctx.AllocateOutput(i, dtype, shape));
    if (dtype == DType::kHalf) {
      ASSIGN_OR_RETURN(made.wide_, ctx.AllocateTemporary(DType::kFloat, shape));
    }
    return made;
  }
  Tensor& tensor() { return wide_.empty() ? *out_ : wide_; }
  Status Finish() {
    if (wide_.empty()) return OkStatus();
    const float* from = wide_.data<float>();
    std::transform(from, from + wide_.num_elements(), out_->mutable_data<Half>(),
                   [](float value) { return Half(value); });
    return OkStatus();
  }

 private:
  Tensor* out_ = nullptr;
  Tensor wide_;
};

// Which matrices of two batches belong to each matrix of the output.
class BroadcastBatch {
 public:
  static Result<BroadcastBatch> Of(const MatrixBatch& left, const MatrixBatch& right) {
    BroadcastBatch made;
    if (left.leading == right.leading) {
      made.leading_ = left.leading;
      made.count_ = left.count;
      return made;
    }
    Result<PartialShape> both =
        BroadcastShapes(PartialShape(left.leading), PartialShape(right.leading));
    RETURN_IF_ERROR(Explained(both.status(), "the leading dimensions disagree"));
    made.leading_ = both->dims();
    ASSIGN_OR_RETURN(const Shape shape, Shape::Make(made.leading_));
    made.count_ = shape.num_elements();
    if (left.size() == 0 || right.size() == 0) return made;  // nothing will be read
    made.left_ = Indices(made.leading_, left.leading, made.count_);
    made.right_ = Indices(made.leading_, right.leading, made.count_);
    return made;
  }
  int64_t count() const { return count_; }
  int64_t left(int64_t i) const { return left_.empty() ? i : left_[static_cast<size_t>(i)]; }
  int64_t right(int64_t i) const { return right_.empty() ? i : right_[static_cast<size_t>(i)]; }
  Result<Shape> With(std::initializer_list<int64_t> last) const {
    return MatrixBatch{.leading = leading_}.With(last);
  }

 private:
  static std::vector<int64_t> Indices(const Dims& out, const Dims& in, int64_t count) {
    const int skip = out.size() - in.size();
    std::vector<int64_t> indices;
    Dims at;
    at.resize(out.size(), 0);
    for (int64_t n = 0; n < count; ++n) {
      int64_t index = 0;
      for (int d = 0; d < in.size(); ++d) index = index * in[d] + (in[d] == 1 ? 0 : at[d + skip]);
      indices.push_back(index);
      for (int d = out.size() - 1; d >= 0 && ++at[d] == out[d]; --d) at[d] = 0;
    }
    return indices;
  }

  Dims leading_;
  int64_t count_ = 0;
  std::vector<int64_t> left_;
  std::vector<int64_t> right_;
};

}  // namespace thalweg
