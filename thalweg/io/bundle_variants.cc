// SPDX-License-Identifier: Apache-2.0
#include "thalweg/io/bundle_variants.h"

#include "thalweg/base/crc32c.h"
#include "thalweg/io/fixed_int.h"
#include "thalweg/proto/messages.h"
#include "thalweg/proto/wire.h"
#include "thalweg/proto/wire_reader.h"
#include "thalweg/tensor/tensor_proto.h"

namespace thalweg {
namespace {

constexpr size_t kChecksumBytes = 4;

// The checksum counts a length as 64 bits.
uint32_t WithMessage(uint32_t crc, std::string_view message) {
  std::string length;
  AppendFixed64(length, message.size());
  return ExtendCrc32c(ExtendCrc32c(crc, length), message);
}

}  // namespace

Result<std::string> BundleVariants(const Tensor& value, uint32_t* crc) {
  OwnedMessage proto(pb::TensorProto::Descriptor());
  RETURN_IF_ERROR(TensorToProto(value, &*proto, {}));
  std::string bytes;
  for (const Message* variant : proto->Messages(pb::TensorProto::kVariantVal)) {
    ASSIGN_OR_RETURN(const std::string message, Serialize(*variant));
    AppendVarint(bytes, message.size());
    bytes += message;
    *crc = WithMessage(*crc, message);
    std::string checksum;
    AppendFixed32(checksum, MaskCrc32c(*crc));
    *crc = ExtendCrc32c(*crc, checksum);
    bytes += checksum;
  }
  return bytes;
}

Result<StoredVariant> StoredVariants::Next() {
  WireReader reader(bytes_);
  uint64_t length = 0;
  if (!reader.ReadVarint(&length) || bytes_.size() - reader.offset() < kChecksumBytes ||
      length > bytes_.size() - reader.offset() - kChecksumBytes) {
    return DataLoss("variant ", count_, " has a damaged length");
  }
  StoredVariant variant{.message = bytes_.substr(reader.offset(), length)};
  bytes_.remove_prefix(reader.offset() + length);
  crc_ = WithMessage(crc_, variant.message);
  variant.expected_crc = LoadFixed32(bytes_.data());
  variant.found_crc = MaskCrc32c(crc_);
  crc_ = ExtendCrc32c(crc_, bytes_.substr(0, kChecksumBytes));
  bytes_.remove_prefix(kChecksumBytes);
  ++count_;
  return variant;
}

Status ParseBundleVariants(std::string_view bytes, uint32_t* crc, Tensor& value) {
  OwnedMessage proto(pb::TensorProto::Descriptor());
  proto->SetInt(pb::TensorProto::kDtype, static_cast<int64_t>(DType::kVariant));
  ShapeToProto(value.shape(), proto->Mutable(pb::TensorProto::kTensorShape));
  StoredVariants stored(bytes);
  for (int64_t i = 0; i < value.num_elements(); ++i) {
    ASSIGN_OR_RETURN(const StoredVariant variant, stored.Next());
    if (variant.expected_crc != variant.found_crc) {
      return DataLoss("variant ", i, " does not match its checksum");
    }
    RETURN_IF_ERROR(MergeFromBytes(*proto->Add(pb::TensorProto::kVariantVal), variant.message));
  }
  if (!stored.rest().empty()) {
    return DataLoss(stored.rest().size(), " bytes follow the last variant");
  }
  *crc = stored.crc();
  ASSIGN_OR_RETURN(value, TensorFromProto(*proto));
  return OkStatus();
}

}  // namespace thalweg
