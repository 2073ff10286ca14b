// SPDX-License-Identifier: Apache-2.0
// Summaries of quantiles as tensors: a row of value, weight, lowest and highest rank for each
// entry.
//
//   ASSIGN_OR_RETURN(QuantileSummary summary, SummaryOfTensor(ctx.input(1), 0));
//   RETURN_IF_ERROR(SetSummaryOutput(ctx, 0, summary));
//
// Ownership: a summary is a copy; an output has a buffer of its own.
// Threads: any.
// Errors: InvalidArgument for another shape.
#pragma once

#include <cstring>

#include "thalweg/kernel/context.h"
#include "thalweg/resources/quantile_sketch.h"

namespace thalweg {

static_assert(sizeof(QuantileEntry) == 4 * sizeof(float));

// `index`: which of the list it is.
inline Result<QuantileSummary> SummaryOfTensor(const Tensor& tensor, int index) {
  const Shape& shape = tensor.shape();
  if (shape.rank() != 2 || shape.dim(1) != 4) {
    return InvalidArgument("summaries[", index, "] must have 4 columns, got shape ", shape);
  }
  QuantileSummary summary(static_cast<size_t>(shape.dim(0)));
  if (!summary.empty()) {
    std::memcpy(summary.data(), tensor.data<float>(), summary.size() * sizeof(QuantileEntry));
  }
  return summary;
}

inline Status SetSummaryOutput(Context& ctx, int i, const QuantileSummary& summary) {
  const auto rows = static_cast<int64_t>(summary.size());
  ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(i, DType::kFloat, Shape{rows, 4}));
  if (rows > 0) {
    std::memcpy(out->mutable_data<float>(), summary.data(), summary.size() * sizeof(QuantileEntry));
  }
  return OkStatus();
}

}  // namespace thalweg
