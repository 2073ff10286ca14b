// SPDX-License-Identifier: Apache-2.0
#include "thalweg/kernel/fused_ops.h"

#include <utility>

namespace thalweg {
namespace {

using compute::UnaryOp;

constexpr std::pair<std::string_view, UnaryOp> kActivations[] = {{"Relu6", UnaryOp::kRelu6},
                                                                 {"Elu", UnaryOp::kElu},
                                                                 {"Tanh", UnaryOp::kTanh},
                                                                 {"Sigmoid", UnaryOp::kSigmoid}};

}  // namespace

Result<FusedOps> FusedOps::Parse(const KernelConstruction& c, bool may_batch_norm) {
  ASSIGN_OR_RETURN(const auto names, c.Attr<std::vector<std::string>>("fused_ops"));
  FusedOps fused;
  size_t i = 0;
  const auto next = [&](std::string_view name) {
    if (i >= names.size() || names[i] != name) return false;
    ++i;
    return true;
  };
  fused.batch_norm = may_batch_norm && next("FusedBatchNorm");
  fused.bias = !fused.batch_norm && next("BiasAdd");
  fused.residual = (fused.bias || fused.batch_norm) && next("Add");
  fused.relu = next("Relu");
  if (!fused.relu) fused.leaky_relu = next("LeakyRelu");
  for (const auto& [name, op] : kActivations) {
    if (!fused.relu && !fused.leaky_relu && !fused.activation && next(name)) fused.activation = op;
  }
  if (i != names.size()) {
    return Unimplemented("fused_ops: '", names[i], "' is unknown, or out of place: ",
                         may_batch_norm ? "BiasAdd or FusedBatchNorm" : "BiasAdd",
                         ", Add and an activation may follow each other");
  }
  ASSIGN_OR_RETURN(const int64_t args, c.Attr<int64_t>("num_args"));
  if (args != fused.args()) {
    return InvalidArgument("fused_ops need ", fused.args(), " args, got ", args);
  }
  ASSIGN_OR_RETURN(fused.alpha, c.Attr<float>("leakyrelu_alpha"));
  return fused;
}

Status FusedOps::Activate(compute::Work& work, Tensor* y) const {
  void* const data = y->mutable_raw_data();
  if (activation) {
    return compute::RunUnary(work, *activation, y->dtype(), y->num_elements(), data, data);
  }
  if (!leaky_relu) return OkStatus();
  const Half half(alpha);
  const Bfloat16 bfloat16(alpha);
  const double wide = alpha;
  const void* factor = &alpha;
  if (y->dtype() == DType::kHalf) factor = &half;
  if (y->dtype() == DType::kBfloat16) factor = &bfloat16;
  if (y->dtype() == DType::kDouble) factor = &wide;
  const Shape shape = y->shape();
  ASSIGN_OR_RETURN(const auto broadcast, compute::Broadcast::Make({shape.dims(), Dims()}));
  return compute::RunBinary(work, compute::BinaryOp::kLeakyRelu, y->dtype(), broadcast, data,
                            factor, data);
}

}  // namespace thalweg
