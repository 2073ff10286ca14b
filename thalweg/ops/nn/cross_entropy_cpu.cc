// SPDX-License-Identifier: Apache-2.0
#include "thalweg/compute/softmax/softmax.h"
#include "thalweg/graph/shape_inference.h"
#include "thalweg/kernel/element_wise.h"

namespace thalweg {
namespace {

Status Dense(Context& ctx) {
  const Tensor &logits = ctx.input(0), &labels = ctx.input(1);
  const Shape a = logits.shape(), b = labels.shape();
  const auto broadcast = compute::Broadcast::Make({a.dims(), b.dims()});
  if (!broadcast.ok()) {
    return InvalidArgument("logits and labels must be broadcastable: logits_size=", a,
                           " labels_size=", b);
  }
  const Shape out(broadcast->output_dims());
  if (out.rank() != 2) {
    return InvalidArgument(
        "logits and labels must be either 2-dimensional, or broadcasted to be "
        "2-dimensional, got ",
        a, " and ", b);
  }
  // Strides of a broadcast operand: 0 where it repeats.
  const auto size = [](const Shape& s, int from_back) {
    return from_back <= s.rank() ? s.dim(s.rank() - from_back) : 1;
  };
  const auto row = [&](const Shape& s) { return size(s, 2) == 1 ? 0 : size(s, 1); };
  const auto column = [&](const Shape& s) { return size(s, 1) == 1 && out.dim(1) != 1 ? 0 : 1; };
  const compute::CrossEntropyStrides strides{row(a), column(a), row(b), column(b)};
  const DType dtype = logits.dtype();
  ASSIGN_OR_RETURN(Tensor * loss, ctx.AllocateOutput(0, dtype, Shape{out.dim(0)}));
  ASSIGN_OR_RETURN(Tensor * grad, ctx.AllocateOutput(1, dtype, out));
  return compute::CrossEntropy(ctx.work(), dtype, out.dim(0), out.dim(1), strides,
                               logits.raw_data(), labels.raw_data(), loss->mutable_raw_data(),
                               grad->mutable_raw_data());
}

Status Sparse(Context& ctx) {
  const Tensor &logits = ctx.input(0), &labels = ctx.input(1);
  if (logits.rank() != 2) {
    return InvalidArgument("logits must be 2-D, but got shape ", logits.shape());
  }
  if (labels.rank() != 1) {
    return InvalidArgument("labels must be 1-D, but got shape ", labels.shape());
  }
  if (logits.dim(0) != labels.dim(0)) {
    return InvalidArgument(
        "logits and labels must have the same first dimension, got logits shape ", logits.shape(),
        " and labels shape ", labels.shape());
  }
  const int64_t rows = logits.dim(0), classes = logits.dim(1);
  if (rows > 0 && classes == 0) {
    return InvalidArgument("logits must have at least one class, got ", logits.shape());
  }
  const DType dtype = logits.dtype();
  ASSIGN_OR_RETURN(Tensor * loss, ctx.AllocateOutput(0, dtype, Shape{rows}));
  ASSIGN_OR_RETURN(Tensor * grad, ctx.AllocateOutput(1, dtype, Shape{rows, classes}));
  return compute::SparseCrossEntropy(ctx.work(), dtype, rows, classes, logits.raw_data(),
                                     labels.dtype(), labels.raw_data(), loss->mutable_raw_data(),
                                     grad->mutable_raw_data());
}

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(cross_entropy, cpu) {
  for (DType dtype : kFloats) {
    registry.AddFunction<Dense>("SoftmaxCrossEntropyWithLogits", kCpu, {{"T", dtype}});
    for (DType labels : {DType::kInt64, DType::kInt32}) {
      registry.AddFunction<Sparse>("SparseSoftmaxCrossEntropyWithLogits", kCpu,
                                   {{"T", dtype}, {"Tlabels", labels}});
    }
  }
}
