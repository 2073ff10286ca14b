// SPDX-License-Identifier: Apache-2.0
#include "thalweg/ops/queue/accumulator.h"

#include <cstring>
#include <utility>

#include "thalweg/compute/ew/ew.h"
#include "thalweg/resources/batch_rows.h"
#include "thalweg/tensor/integers.h"

namespace thalweg {
namespace {

// *sum += value, in place when nobody else sees it.
Status AddTo(Context& ctx, Tensor* sum, const Tensor& value) {
  const DType dtype = sum->dtype();
  const auto dense = compute::Broadcast::Dense(sum->num_elements(), 2);
  if (sum->IsSoleOwner()) {
    return compute::RunBinary(ctx.work(), compute::BinaryOp::kAdd, dtype, dense, sum->raw_data(),
                              value.raw_data(), sum->mutable_raw_data());
  }
  ASSIGN_OR_RETURN(Tensor out, Tensor::Allocate(ctx.allocator(), dtype, sum->shape()));
  RETURN_IF_ERROR(compute::RunBinary(ctx.work(), compute::BinaryOp::kAdd, dtype, dense,
                                     sum->raw_data(), value.raw_data(), out.mutable_raw_data()));
  *sum = std::move(out);
  return OkStatus();
}

// value / count; value itself for one.
Result<Tensor> Divided(Context& ctx, const Tensor& value, int64_t count) {
  if (count == 1) return value;
  const DType dtype = value.dtype();
  ASSIGN_OR_RETURN(Tensor divisor, Tensor::Allocate(ctx.allocator(), dtype, Shape()));
  RETURN_IF_ERROR(
      compute::RunCast(ctx.work(), DType::kInt64, dtype, 1, &count, divisor.mutable_raw_data()));
  const Shape shape = value.shape();
  ASSIGN_OR_RETURN(Tensor out, Tensor::Allocate(ctx.allocator(), dtype, shape));
  ASSIGN_OR_RETURN(const compute::Broadcast broadcast,
                   compute::Broadcast::Make({shape.dims(), Dims()}));
  RETURN_IF_ERROR(compute::RunBinary(ctx.work(), compute::BinaryOp::kDiv, dtype, broadcast,
                                     value.raw_data(), divisor.raw_data(), out.mutable_raw_data()));
  return out;
}

PartialShape RowShape(const Shape& values) {
  Dims dims = values.dims();
  dims.erase(0);
  return PartialShape({-1}).Concatenate(PartialShape(std::move(dims)));
}

}  // namespace

int64_t Accumulator::count() const {
  MutexLock lock(mutex_);
  return count_;
}

void Accumulator::SetGlobalStep(int64_t step) {
  MutexLock lock(mutex_);
  global_step_ = step;
}

std::string Accumulator::DebugString() const {
  MutexLock lock(mutex_);
  return StrCat("accumulator '", spec_.name, "' (", count_, " gradients, global step ",
                global_step_, ")");
}

Status Accumulator::Apply(Context& ctx, int64_t step) {
  Ended ended;
  {
    MutexLock lock(mutex_);
    if (step < global_step_) return OkStatus();
    RETURN_IF_ERROR(Add(ctx, count_ == 0));
    ++count_;
    AdvanceAll(&ended);
  }
  End(std::move(ended));
  return OkStatus();
}

WaiterQueues::Progress Accumulator::Advance(Waiter& waiter) {
  auto& take = static_cast<Take&>(waiter);
  if (count_ < take.required) return Progress::kNone;
  take.count = std::exchange(count_, 0);
  ++global_step_;
  MoveSum(take);
  return Progress::kEnded;
}

Status DenseAccumulator::ApplyGradient(Context& ctx) {
  ASSIGN_OR_RETURN(const int64_t step, IntScalar(ctx.input(1), "local_step"));
  const Tensor& gradient = ctx.input(2);
  if (gradient.dtype() != spec().dtype) {
    return InvalidArgument("accumulator '", spec().name, "' is of type ", spec().dtype,
                           ", the gradient of type ", gradient.dtype());
  }
  if (!spec().shape.Admits(gradient.shape())) {
    return InvalidArgument("Shape mismatch: expected ", spec().shape, ", got ", gradient.shape());
  }
  return Apply(ctx, step);
}

Status DenseAccumulator::Add(Context& ctx, bool is_first) {
  const Tensor& gradient = ctx.input(2);
  if (is_first) {
    sum_ = gradient;
    return OkStatus();
  }
  if (sum_.shape() != gradient.shape()) {
    return InvalidArgument("Shape mismatch: expected ", sum_.shape(), ", got ", gradient.shape());
  }
  return AddTo(ctx, &sum_, gradient);
}

void DenseAccumulator::MoveSum(Take& take) { take.parts.push_back(std::move(sum_)); }

Status DenseAccumulator::Finish(Waiter& waiter) {
  auto& take = static_cast<Take&>(waiter);
  ASSIGN_OR_RETURN(Tensor average,
                   Divided(take.ctx, take.parts[0], spec().is_mean ? take.count : 1));
  take.ctx.set_output(0, std::move(average));
  return OkStatus();
}

Status SparseAccumulator::ApplyGradient(Context& ctx, bool has_known_shape) {
  ASSIGN_OR_RETURN(const int64_t step, IntScalar(ctx.input(1), "local_step"));
  const Tensor& indices = ctx.input(2);
  const Tensor& values = ctx.input(3);
  if (values.dtype() != spec().dtype) {
    return InvalidArgument("accumulator '", spec().name, "' is of type ", spec().dtype,
                           ", the gradient of type ", values.dtype());
  }
  if (indices.rank() != 1 || values.rank() < 1) {
    return InvalidArgument("indices must be a vector and values have at least one dimension, got ",
                           indices.shape(), " and ", values.shape());
  }
  if (values.dim(0) != indices.dim(0)) {
    return InvalidArgument("Expected ", indices.dim(0), " non-empty input values, got ",
                           values.dim(0));
  }
  PartialShape whole = RowShape(values.shape());
  if (has_known_shape) {
    ASSIGN_OR_RETURN(const Shape given, ShapeOf(ctx.input(4), "gradient_shape"));
    ASSIGN_OR_RETURN(whole, whole.MergeWith(given));
  }
  const Result<PartialShape> merged = whole.MergeWith(spec().shape);
  if (!merged.ok()) {
    return InvalidArgument("Shape mismatch: expected ", spec().shape, ", got ", whole);
  }
  const int64_t limit = merged->dim(0);
  for (int64_t i = 0; i < indices.num_elements(); ++i) {
    const int64_t index = indices.data<int64_t>()[i];
    if (index < 0 || (limit >= 0 && index >= limit)) {
      return InvalidArgument("Shape mismatch: index of slice ", i,
                             " exceeded limits of shape; index is ", index, " exceeded ", limit);
    }
  }
  return Apply(ctx, step);
}

Status SparseAccumulator::Add(Context& ctx, bool is_first) {
  const Tensor& indices = ctx.input(2);
  const Tensor& values = ctx.input(3);
  PartialShape whole = RowShape(values.shape());
  if (ctx.input(4).num_elements() > 0) {
    ASSIGN_OR_RETURN(const Shape given, ShapeOf(ctx.input(4), "gradient_shape"));
    ASSIGN_OR_RETURN(whole, whole.MergeWith(given));
  }
  ASSIGN_OR_RETURN(whole, whole.MergeWith(is_first ? spec().shape : shape_));
  ++gradients_;
  for (int64_t i = 0; i < indices.num_elements(); ++i) {
    ASSIGN_OR_RETURN(Tensor row, RowOf(ctx.allocator(), values, i));
    Row& kept = rows_[indices.data<int64_t>()[i]];
    if (kept.sum.empty()) {
      kept.sum = std::move(row);
    } else {
      RETURN_IF_ERROR(AddTo(ctx, &kept.sum, row));
    }
    kept.count += kept.last_from != gradients_;
    kept.last_from = gradients_;
  }
  shape_ = std::move(whole);
  return OkStatus();
}

// Indices, counts and the shape; behind them the rows.
void SparseAccumulator::MoveSum(Take& take) {
  std::vector<int64_t> indices, counts;
  std::vector<Tensor> rows;
  for (auto& [index, row] : rows_) {
    indices.push_back(index);
    counts.push_back(row.count);
    rows.push_back(std::move(row.sum));
  }
  rows_.clear();
  const int64_t n = static_cast<int64_t>(indices.size());
  const Dims& dims = shape_.dims();
  take.parts = {Tensor::Of<int64_t>(indices, Shape{n}), Tensor::Of<int64_t>(counts, Shape{n}),
                Tensor::Of<int64_t>({dims.data(), static_cast<size_t>(dims.size())},
                                    Shape{static_cast<int64_t>(dims.size())})};
  take.parts.insert(take.parts.end(), std::move_iterator(rows.begin()),
                    std::move_iterator(rows.end()));
}

Status SparseAccumulator::Finish(Waiter& waiter) {
  auto& take = static_cast<Take&>(waiter);
  constexpr size_t kRows = 3;
  std::vector<Tensor> rows(take.parts.begin() + kRows, take.parts.end());
  for (size_t i = 0; i < rows.size() && spec().is_mean; ++i) {
    ASSIGN_OR_RETURN(rows[i], Divided(take.ctx, rows[i], take.parts[1].data<int64_t>()[i]));
  }
  Dims inner;
  const Tensor& shape = take.parts[2];
  for (int64_t d = 1; d < shape.num_elements(); ++d) {
    inner.push_back(shape.data<int64_t>()[d]);
  }
  ASSIGN_OR_RETURN(Tensor values,
                   BatchOf(take.ctx.allocator(), spec().dtype, Shape(std::move(inner)), rows, 1));
  take.ctx.set_output(0, take.parts[0]);
  take.ctx.set_output(1, std::move(values));
  take.ctx.set_output(2, shape);
  return OkStatus();
}

}  // namespace thalweg
