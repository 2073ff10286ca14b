// SPDX-License-Identifier: Apache-2.0
#include "thalweg/resources/ragged_value.h"

#include <memory>

#include "thalweg/compute/ew/ew.h"
#include "thalweg/compute/move/strided_copy.h"

namespace thalweg {

Result<Variant> RaggedValue::Make(DType splits_type, std::vector<Splits> splits, Tensor values) {
  const std::shared_ptr<const RaggedValue> made(
      new RaggedValue(splits_type, std::move(splits), std::move(values)));
  RETURN_IF_ERROR(CheckDepth(*made));
  return Variant(made);
}

Result<Variant> RaggedValue::Plus(Context& ctx, const VariantValue& other) const {
  const auto* const b = dynamic_cast<const RaggedValue*>(&other);
  if (b == nullptr) {
    return InvalidArgument("a ragged tensor cannot be added to ", other.DebugString());
  }
  if (splits_ != b->splits_ || values_.dtype() != b->values_.dtype() ||
      values_.shape() != b->values_.shape()) {
    return InvalidArgument("Can't add ragged tensors of different splits, types or shapes: ",
                           DebugString(), " of values ", values_.shape(), " and ", b->DebugString(),
                           " of values ", b->values_.shape());
  }
  if (!compute::HasBinary(compute::BinaryOp::kAdd, values_.dtype())) {
    return InvalidArgument("Trying to add unsupported dtype ", values_.dtype());
  }
  ASSIGN_OR_RETURN(Tensor sum, Tensor::Allocate(ctx.allocator(), values_.dtype(), values_.shape()));
  RETURN_IF_ERROR(compute::RunBinary(ctx.work(), compute::BinaryOp::kAdd, values_.dtype(),
                                     compute::Broadcast::Dense(values_.num_elements(), 2),
                                     values_.raw_data(), b->values_.raw_data(),
                                     sum.mutable_raw_data()));
  return Make(splits_type_, splits_, std::move(sum));
}

Result<Variant> RaggedValue::Zeros(Context& ctx) const {
  if (values_.dtype() == DType::kVariant) {
    return Unimplemented("zeros like a ragged tensor of variants are not known");
  }
  ASSIGN_OR_RETURN(Tensor zeros,
                   Tensor::Allocate(ctx.allocator(), values_.dtype(), values_.shape()));
  RETURN_IF_ERROR(compute::FillZeros(ctx.work(), values_.dtype(), zeros.mutable_raw_data(),
                                     zeros.num_elements()));
  return Make(splits_type_, splits_, std::move(zeros));
}

}  // namespace thalweg
