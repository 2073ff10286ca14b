// SPDX-License-Identifier: Apache-2.0
#include "thalweg/ops/data/iterator_wire.h"

#include <vector>

#include "thalweg/proto/wire.h"
#include "thalweg/resources/variant_wire.h"
#include "thalweg/tensor/tensor_proto.h"

namespace thalweg {
namespace {

constexpr std::string_view kStateType = "thalweg::IteratorState";
// What a state begins with that says its dataset; those before said nothing.
constexpr std::string_view kFirstVersion = "1\n";
namespace vt = pb::VariantTensorDataProto;
namespace rh = pb::ResourceHandleProto;

}  // namespace

Result<Tensor> VariantOfState(const IteratorState& state) {
  OwnedMessage message(vt::Descriptor());
  message->SetString(vt::kTypeName, kStateType);
  if (!state.lineage.empty()) {
    message->SetString(vt::kMetadata, StrCat(kFirstVersion, state.lineage));
  }
  std::vector<Tensor> sent = state.tensors;  // the message borrows from them
  for (Tensor& tensor : sent) {
    if (tensor.dtype() == DType::kVariant) {
      ASSIGN_OR_RETURN(tensor, WithWireForms(tensor));
    }
    RETURN_IF_ERROR(TensorToProto(tensor, message->Add(vt::kTensors), {.borrow = true}));
  }
  ASSIGN_OR_RETURN(std::string bytes, Serialize(*message));
  ASSIGN_OR_RETURN(Tensor variant, Tensor::AllocateHost(DType::kVariant, Shape()));
  *variant.mutable_data<Variant>() =
      Variant(std::make_shared<const OpaqueVariant>(std::string(kStateType), std::move(bytes)));
  return variant;
}

Result<IteratorState> StateOfVariant(const Tensor& variant) {
  const OpaqueVariant* const opaque =
      variant.rank() == 0 ? variant.scalar<Variant>().As<OpaqueVariant>() : nullptr;
  if (opaque == nullptr || opaque->TypeName() != kStateType) {
    return InvalidArgument("expected the state of an iterator, got ",
                           opaque == nullptr ? "another variant" : opaque->TypeName());
  }
  OwnedMessage message(vt::Descriptor());
  RETURN_IF_ERROR(MergeFromBytes(*message, opaque->bytes()));
  IteratorState state;
  std::string_view metadata = message->GetString(vt::kMetadata);
  if (metadata.starts_with(kFirstVersion)) {
    metadata.remove_prefix(kFirstVersion.size());
    state.lineage = metadata;
  } else if (!metadata.empty()) {
    return InvalidArgument("the state of the iterator is of a newer version, '",
                           metadata.substr(0, metadata.find('\n')).substr(0, 20),
                           "', than this one, which is '1'");
  }
  size_t budget = kMaxClaimedBytes;
  for (const Message* tensor : message->Messages(vt::kTensors)) {
    ASSIGN_OR_RETURN(Tensor value, TensorFromProto(*tensor, {.claim_budget = &budget}));
    if (value.dtype() == DType::kVariant) {
      ASSIGN_OR_RETURN(value, FromWireForms(value, &budget));
    }
    state.tensors.push_back(std::move(value));
  }
  return state;
}

Result<std::string> TextOfHandle(const Tensor& handle) {
  const ResourceHandle::Place* const place = handle.scalar<ResourceHandle>().place();
  if (place == nullptr || place->name == "AnonymousIterator") {
    return InvalidArgument("an iterator without a name has no string handle");
  }
  OwnedMessage message(rh::Descriptor());
  message->SetString(rh::kDevice, place->device);
  message->SetString(rh::kContainer, place->container);
  message->SetString(rh::kName, place->name);
  message->SetUint(rh::kHashCode, place->hash_code);
  message->SetString(rh::kMaybeTypeName, place->type_name);
  return Serialize(*message);
}

Result<ResourceHandle::Place> PlaceOfText(const std::string& text) {
  OwnedMessage message(rh::Descriptor());
  if (!MergeFromBytes(*message, text).ok()) {
    return InvalidArgument("Could not parse string_handle as a valid ResourceHandle");
  }
  ResourceHandle::Place place;
  place.device = message->GetString(rh::kDevice);
  place.container = message->GetString(rh::kContainer);
  place.name = message->GetString(rh::kName);
  place.hash_code = message->GetUint(rh::kHashCode);
  place.type_name = message->GetString(rh::kMaybeTypeName);
  return place;
}

}  // namespace thalweg
