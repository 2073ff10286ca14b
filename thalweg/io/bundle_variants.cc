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

Status ParseBundleVariants(std::string_view bytes, uint32_t* crc, Tensor& value) {
  OwnedMessage proto(pb::TensorProto::Descriptor());
  proto->SetInt(pb::TensorProto::kDtype, static_cast<int64_t>(DType::kVariant));
  ShapeToProto(value.shape(), proto->Mutable(pb::TensorProto::kTensorShape));
  for (int64_t i = 0; i < value.num_elements(); ++i) {
    WireReader reader(bytes);
    uint64_t length = 0;
    if (!reader.ReadVarint(&length) || bytes.size() - reader.offset() < kChecksumBytes ||
        length > bytes.size() - reader.offset() - kChecksumBytes) {
      return DataLoss("variant ", i, " has a damaged length");
    }
    const std::string_view message = bytes.substr(reader.offset(), length);
    bytes.remove_prefix(reader.offset() + length);
    *crc = WithMessage(*crc, message);
    if (LoadFixed32(bytes.data()) != MaskCrc32c(*crc)) {
      return DataLoss("variant ", i, " does not match its checksum");
    }
    *crc = ExtendCrc32c(*crc, bytes.substr(0, kChecksumBytes));
    bytes.remove_prefix(kChecksumBytes);
    RETURN_IF_ERROR(MergeFromBytes(*proto->Add(pb::TensorProto::kVariantVal), message));
  }
  if (!bytes.empty()) return DataLoss(bytes.size(), " bytes follow the last variant");
  ASSIGN_OR_RETURN(value, TensorFromProto(*proto));
  return OkStatus();
}

}  // namespace thalweg
