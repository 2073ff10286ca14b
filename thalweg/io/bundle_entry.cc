// SPDX-License-Identifier: Apache-2.0
#include "thalweg/io/bundle_entry.h"

#include "thalweg/base/crc32c.h"
#include "thalweg/io/fixed_int.h"
#include "thalweg/proto/messages.h"
#include "thalweg/proto/wire.h"
#include "thalweg/proto/wire_reader.h"
#include "thalweg/tensor/tensor_proto.h"

namespace thalweg {

namespace BundlePb = pb::BundleEntryProto;

Result<int> ParseBundleHeader(std::string_view bytes) {
  ASSIGN_OR_RETURN(const OwnedMessage header,
                   ParseMessage(pb::BundleHeaderProto::Descriptor(), bytes));
  if (header->GetInt(pb::BundleHeaderProto::kEndianness) != 0) {
    return Unimplemented("the checkpoint was written on a big-endian machine");
  }
  constexpr int kMostShards = 100000;
  const int64_t shards = header->GetInt(pb::BundleHeaderProto::kNumShards);
  if (shards < 1 || shards > kMostShards) {
    return DataLoss("the header claims ", shards, " data files");
  }
  return static_cast<int>(shards);
}

Result<BundleEntry> ParseBundleEntry(std::string_view bytes, int num_shards) {
  ASSIGN_OR_RETURN(const OwnedMessage message, ParseMessage(BundlePb::Descriptor(), bytes));
  BundleEntry entry;
  const int64_t dtype = message->GetInt(BundlePb::kDtype);
  if (!IsValidDType(static_cast<int>(dtype))) return DataLoss("unknown element type ", dtype);
  entry.dtype = static_cast<DType>(dtype);
  ASSIGN_OR_RETURN(entry.shape, ShapeFromProto(message->GetMessage(BundlePb::kShape)));
  entry.shard = static_cast<int>(message->GetInt(BundlePb::kShardId));
  entry.offset = static_cast<uint64_t>(message->GetInt(BundlePb::kOffset));
  entry.size = static_cast<uint64_t>(message->GetInt(BundlePb::kSize));
  entry.crc = static_cast<uint32_t>(message->GetUint(BundlePb::kCrc32c));
  for (const Message* slice : message->Messages(BundlePb::kSlices)) {
    ASSIGN_OR_RETURN(TensorSlice parsed, TensorSlice::FromProto(*slice));
    RETURN_IF_ERROR(parsed.Resolve(entry.shape).status());
    entry.slices.push_back(std::move(parsed));
  }
  if (entry.shard < 0 || entry.shard >= num_shards) {
    return DataLoss("data file ", entry.shard, " of ", num_shards, " does not exist");
  }
  return entry;
}

bool IsBundleSize(DType dtype, const Shape& shape, uint64_t bytes) {
  const auto elements = static_cast<uint64_t>(shape.num_elements());
  // A string has at least the byte of its length. Divided, since the product may not fit.
  const uint64_t each = dtype == DType::kString ? 1 : DTypeSize(dtype);
  return IsPlain(dtype) ? bytes % each == 0 && bytes / each == elements : bytes >= elements;
}

bool ParseStoredStrings(std::string_view bytes, uint64_t num_elements, StoredStrings* strings) {
  WireReader reader(bytes);
  std::string fixed;
  if (num_elements > bytes.size()) return false;
  strings->lengths.resize(static_cast<size_t>(num_elements));
  uint64_t sum = 0;
  for (uint64_t& length : strings->lengths) {
    if (!reader.ReadVarint(&length) || length > bytes.size() - sum) return false;
    sum += length;
    if (length <= UINT32_MAX) {
      AppendFixed32(fixed, static_cast<uint32_t>(length));
    } else {
      AppendFixed64(fixed, length);
    }
  }
  if (reader.remaining() < 4 || reader.remaining() - 4 != sum) return false;
  const uint32_t crc = Crc32c(fixed);
  strings->expected_lengths_crc = LoadFixed32(reader.position());
  strings->found_lengths_crc = MaskCrc32c(crc);
  strings->begin = reader.offset() + 4;
  strings->found_crc = MaskCrc32c(ExtendCrc32c(crc, bytes.substr(reader.offset())));
  return true;
}

}  // namespace thalweg
