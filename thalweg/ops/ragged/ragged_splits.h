// SPDX-License-Identifier: Apache-2.0
// Row splits as outputs: made as int64 in a tensor, so that splits of which memory cannot hold as
// many are ResourceExhausted before any is written, and given away as the type that the node asks
// for.
//   ASSIGN_OR_RETURN(Tensor splits, NewSplits(ctx, rows + 1));
//   ... splits.mutable_data<int64_t>()[i] = ...;
//   RETURN_IF_ERROR(SetSplits(ctx, 0, DType::kInt32, std::move(splits)));
//
// Ownership: a tensor that is given away; outputs are the context's.
// Threads: those of the kernel's call.
// Errors: ResourceExhausted for more splits than memory holds; InvalidArgument for splits that do
// not begin with 0 or do not fit into int32.
#pragma once

#include <limits>
#include <utility>

#include "thalweg/kernel/context.h"
#include "thalweg/tensor/row_splits.h"

namespace thalweg {

constexpr int64_t kMostValues = std::numeric_limits<int64_t>::max();

// `count` of them, one at least; the first is 0, the others are not written.
inline Result<Tensor> NewSplits(Context& ctx, int64_t count) {
  ASSIGN_OR_RETURN(const Shape shape, Shape::Make(Dims{count}));
  ASSIGN_OR_RETURN(Tensor splits, Tensor::Allocate(ctx.allocator(), DType::kInt64, shape));
  splits.mutable_data<int64_t>()[0] = 0;
  return splits;
}

// For each dimension but the last: the rows of it, all of one width.
inline Result<std::vector<Tensor>> RegularSplits(Context& ctx, const Shape& shape) {
  std::vector<Tensor> levels;
  int64_t rows = 1;
  for (int d = 0; d + 1 < shape.rank(); ++d) {
    const int64_t width = shape.dim(d + 1);
    rows *= shape.dim(d);
    if (rows == kMostValues) return ResourceExhausted("row splits of ", rows, " rows");
    ASSIGN_OR_RETURN(Tensor splits, NewSplits(ctx, rows + 1));
    auto* const at = splits.mutable_data<int64_t>();
    for (int64_t row = 0; row <= rows; ++row) at[row] = row * width;
    levels.push_back(std::move(splits));
  }
  return levels;
}

// Splits that begin with 0 and end anywhere.
inline Result<Splits> SplitsFromZero(const Tensor& tensor) {
  ASSIGN_OR_RETURN(Splits splits, SplitsOf(tensor, kMostValues, Cover::kPart));
  if (splits.front() == 0) return splits;
  return InvalidArgument("row splits must begin with 0, got ", splits.front());
}

// Output i.
inline Status SetSplits(Context& ctx, int i, DType dtype, Tensor splits) {
  if (dtype == DType::kInt64) {
    ctx.set_output(i, std::move(splits));
    return OkStatus();
  }
  const auto all = splits.flat<int64_t>();
  if (all.back() > std::numeric_limits<int32_t>::max()) {
    return InvalidArgument("row splits of int32 cannot hold ", all.back(), " values");
  }
  ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(i, DType::kInt32, splits.shape()));
  auto* to = out->mutable_data<int32_t>();
  for (const int64_t at : all) *to++ = static_cast<int32_t>(at);
  return OkStatus();
}

}  // namespace thalweg
