// SPDX-License-Identifier: Apache-2.0
#include "thalweg/resources/variant_wire.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "thalweg/proto/wire.h"
#include "thalweg/resources/held_tensor.h"
#include "thalweg/resources/ragged_value.h"
#include "thalweg/tensor/tensor_proto.h"

namespace thalweg {
namespace {

namespace vt = pb::VariantTensorDataProto;

constexpr std::string_view kHeldTensor = "tensorflow::Tensor";
constexpr std::string_view kRagged = "RaggedTensorVariant";

Result<Tensor> SplitsTensor(DType dtype, const Splits& splits) {
  ASSIGN_OR_RETURN(Tensor tensor,
                   Tensor::AllocateHost(dtype, Shape{static_cast<int64_t>(splits.size())}));
  if (dtype == DType::kInt32) {
    std::transform(splits.begin(), splits.end(), tensor.mutable_data<int32_t>(),
                   [](int64_t at) { return static_cast<int32_t>(at); });
  } else {
    std::copy(splits.begin(), splits.end(), tensor.mutable_data<int64_t>());
  }
  return tensor;
}

// The tensors that a value is of; none where it has no wire form here.
Result<std::vector<Tensor>> PartsOf(const Variant& variant) {
  std::vector<Tensor> parts;
  if (const auto* held = variant.As<HeldTensor>()) {
    parts.push_back(held->tensor());
  } else if (const auto* ragged = variant.As<RaggedValue>()) {
    for (const Splits& splits : ragged->splits()) {
      ASSIGN_OR_RETURN(Tensor tensor, SplitsTensor(ragged->splits_type(), splits));
      parts.push_back(std::move(tensor));
    }
    parts.push_back(ragged->values());
  }
  return parts;
}

Result<Variant> Written(const Variant& variant) {
  ASSIGN_OR_RETURN(const std::vector<Tensor> parts, PartsOf(variant));
  if (parts.empty()) return variant;
  OwnedMessage message(vt::Descriptor());
  message->SetString(vt::kTypeName, variant.get()->TypeName());
  for (const Tensor& part : parts) {
    Tensor sent = part;
    if (part.dtype() == DType::kVariant) {
      ASSIGN_OR_RETURN(sent, WithWireForms(part));
    }
    RETURN_IF_ERROR(TensorToProto(sent, message->Add(vt::kTensors)));
  }
  ASSIGN_OR_RETURN(std::string bytes, Serialize(*message));
  return Variant(
      std::make_shared<const OpaqueVariant>(variant.get()->TypeName(), std::move(bytes)));
}

Result<Variant> RaggedOf(std::vector<Tensor> parts) {
  Tensor values = std::move(parts.back());
  parts.pop_back();
  if (!parts.empty() && values.rank() == 0) {
    return InvalidArgument("the values of a ragged tensor must not be a scalar");
  }
  std::vector<Splits> levels;
  for (size_t i = 0; i < parts.size(); ++i) {
    if (parts[i].dtype() != parts[0].dtype()) {
      return InvalidArgument("the row splits of a ragged tensor must have one type");
    }
    const int64_t below = i + 1 < parts.size() ? parts[i + 1].num_elements() - 1 : values.dim(0);
    ASSIGN_OR_RETURN(Splits splits, SplitsOf(parts[i], below, Cover::kWhole));
    levels.push_back(std::move(splits));
  }
  const DType splits_type = parts.empty() ? DType::kInt64 : parts[0].dtype();
  return RaggedValue::Make(splits_type, std::move(levels), std::move(values));
}

Result<Tensor> ReadAll(const Tensor& variants, size_t* claim_budget, int depth);

Result<Variant> Read(const Variant& variant, size_t* claim_budget, int depth) {
  const auto* const opaque = variant.As<OpaqueVariant>();
  if (opaque == nullptr) return variant;
  const std::string type = opaque->TypeName();
  if (type != kHeldTensor && type != kRagged) return variant;
  OwnedMessage message(vt::Descriptor());
  RETURN_IF_ERROR(MergeFromBytes(*message, opaque->bytes()));
  std::vector<Tensor> parts;
  for (const Message* tensor : message->Messages(vt::kTensors)) {
    ASSIGN_OR_RETURN(Tensor part, TensorFromProto(*tensor, {.claim_budget = claim_budget}));
    if (part.dtype() == DType::kVariant) {
      ASSIGN_OR_RETURN(part, ReadAll(part, claim_budget, depth + 1));
    }
    parts.push_back(std::move(part));
  }
  if (parts.empty() || (type == kHeldTensor && parts.size() != 1)) {
    return InvalidArgument("a variant of type ", type, " must not have ", parts.size(), " tensors");
  }
  if (type == kRagged) return RaggedOf(std::move(parts));
  Variant held;
  RETURN_IF_ERROR(HoldTensor(std::move(parts[0]), &held));
  return held;
}

Result<Tensor> ReadAll(const Tensor& variants, size_t* claim_budget, int depth) {
  if (depth > NestedVariant::kMaxDepth) {
    return InvalidArgument("variants may be nested ", NestedVariant::kMaxDepth, " deep");
  }
  ASSIGN_OR_RETURN(Tensor out, Tensor::AllocateHost(DType::kVariant, variants.shape()));
  auto* to = out.mutable_data<Variant>();
  for (const Variant& variant : variants.flat<Variant>()) {
    ASSIGN_OR_RETURN(*to++, Read(variant, claim_budget, depth));
  }
  return out;
}

}  // namespace

Result<Tensor> WithWireForms(const Tensor& variants) {
  ASSIGN_OR_RETURN(Tensor out, Tensor::AllocateHost(DType::kVariant, variants.shape()));
  auto* to = out.mutable_data<Variant>();
  for (const Variant& variant : variants.flat<Variant>()) {
    ASSIGN_OR_RETURN(*to++, Written(variant));
  }
  return out;
}

Result<Tensor> FromWireForms(const Tensor& variants, size_t* claim_budget) {
  return ReadAll(variants, claim_budget, 1);
}

}  // namespace thalweg
