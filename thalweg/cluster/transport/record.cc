// SPDX-License-Identifier: Apache-2.0
#include "thalweg/cluster/transport/record.h"

#include <cstring>

namespace thalweg {
namespace {

constexpr size_t kPrefixBytes = 8;
constexpr uint8_t kDead = 1;
constexpr size_t kMaxCloseText = 512;

struct Prefix {
  uint32_t bytes;
  RecordKind kind;
  DType dtype = DType::kInvalid;
  uint8_t flags = 0;
  uint8_t rank = 0;
};
static_assert(sizeof(Prefix) == kPrefixBytes);

struct FixedHead {
  uint64_t step;
  uint64_t frame;
  uint64_t iteration;
  uint64_t payload_bytes;
  uint32_t edge;
  uint32_t unused;
};
static_assert(sizeof(FixedHead) == 40);

template <class T>
void Put(char*& out, const T& value) {
  std::memcpy(out, &value, sizeof value);
  out += sizeof value;
}

// False when the bytes end before.
template <class T>
bool Take(std::string_view& bytes, T* value) {
  if (bytes.size() < sizeof(T)) return false;
  std::memcpy(value, bytes.data(), sizeof(T));
  bytes.remove_prefix(sizeof(T));
  return true;
}

template <class T>
void Append(std::string& out, const T& value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

Status Truncated() { return DataLoss("a record of a channel ends too early"); }

Status ParseShape(std::string_view& rest, const Prefix& prefix, TensorHead* head) {
  if (prefix.rank > kMaxRank) {
    return DataLoss("a tensor of rank ", int{prefix.rank}, ": at most ", kMaxRank);
  }
  Dims dims;
  dims.resize(prefix.rank);
  for (int i = 0; i < prefix.rank; ++i) {
    if (!Take(rest, dims.data() + i)) return Truncated();
  }
  Result<Shape> shape = Shape::Make(dims);
  if (!shape.ok()) return DataLoss(shape.status().message());
  head->shape = *std::move(shape);
  return OkStatus();
}

Status CheckPayload(const Record& record) {
  const TensorHead& head = record.head;
  uint64_t want = 0;
  if (!head.dead) {
    if (!IsPlain(head.dtype)) return OkStatus();  // what they say is checked when they are read
    if (__builtin_mul_overflow(static_cast<uint64_t>(head.shape.num_elements()),
                               DTypeSize(head.dtype), &want)) {
      return DataLoss("a tensor larger than the address space");
    }
  }
  if (record.payload_bytes == want) return OkStatus();
  return DataLoss("a tensor ", head.dtype, head.shape, " has ", want, " bytes, not ",
                  record.payload_bytes);
}

Status ParseHead(std::string_view rest, const Prefix& prefix, Record* record) {
  TensorHead& head = record->head;
  FixedHead fixed;
  if (!Take(rest, &fixed)) return Truncated();
  head.step = fixed.step;
  head.edge = fixed.edge;
  head.frame = fixed.frame;
  head.iteration = fixed.iteration;
  record->payload_bytes = fixed.payload_bytes;
  head.dead = (prefix.flags & kDead) != 0;
  head.dtype = prefix.dtype;
  // A dead tensor need not say its type.
  if (!IsValidDType(static_cast<int>(prefix.dtype)) &&
      !(head.dead && prefix.dtype == DType::kInvalid)) {
    return DataLoss("element type ", static_cast<int>(prefix.dtype), " is none");
  }
  RETURN_IF_ERROR(ParseShape(rest, prefix, &head));
  RETURN_IF_ERROR(CheckPayload(*record));
  switch (prefix.kind) {
    case RecordKind::kShared:
      if (!Take(rest, &record->place)) return Truncated();
      break;
    case RecordKind::kTensor:
      if (rest.size() != record->payload_bytes) return Truncated();
      record->payload = rest;
      return OkStatus();
    default:
      break;
  }
  return rest.empty() ? OkStatus() : DataLoss("bytes follow the head of a tensor");
}

Status ParseLentPiece(std::string_view rest, Record* record) {
  if (!Take(rest, &record->place) || !Take(rest, &record->payload_bytes)) return Truncated();
  return rest.empty() ? OkStatus() : DataLoss("bytes follow the place of a lent piece");
}

Status ParseReleases(std::string_view rest, Record* record) {
  record->releases.clear();
  uint64_t loan;
  while (Take(rest, &loan)) record->releases.push_back(loan);
  return rest.empty() ? OkStatus() : Truncated();
}

Status ParseClose(std::string_view rest, Record* record) {
  uint32_t code;
  if (!Take(rest, &code)) return Truncated();
  if (code > static_cast<uint32_t>(Code::kUnauthenticated)) {
    return DataLoss("status code ", code, " is none");
  }
  record->why = code == 0 ? OkStatus() : Status(static_cast<Code>(code), std::string(rest));
  return OkStatus();
}

}  // namespace

size_t EncodeHead(RecordKind kind, const TensorHead& head, uint64_t payload_bytes,
                  const SharedPlace& place, char* out) {
  const int rank = head.shape.rank();
  size_t bytes = kPrefixBytes + sizeof(FixedHead) + 8 * static_cast<size_t>(rank);
  if (kind == RecordKind::kTensor) bytes += payload_bytes;
  if (kind == RecordKind::kShared) bytes += sizeof(SharedPlace);
  char* at = out;
  Put(at, Prefix{.bytes = static_cast<uint32_t>(bytes),
                 .kind = kind,
                 .dtype = head.dtype,
                 .flags = head.dead ? kDead : uint8_t{0},
                 .rank = static_cast<uint8_t>(rank)});
  Put(at, FixedHead{.step = head.step,
                    .frame = head.frame,
                    .iteration = head.iteration,
                    .payload_bytes = payload_bytes,
                    .edge = head.edge,
                    .unused = 0});
  for (int64_t dim : head.shape.dims()) Put(at, dim);
  if (kind == RecordKind::kShared) Put(at, place);
  return static_cast<size_t>(at - out);
}

size_t EncodeControlPrefix(size_t control_bytes, char* out) {
  Put(out, Prefix{.bytes = static_cast<uint32_t>(kPrefixBytes + control_bytes),
                  .kind = RecordKind::kControl});
  return kPrefixBytes;
}

size_t EncodePiecePrefix(size_t piece_bytes, char* out) {
  Put(out, Prefix{.bytes = static_cast<uint32_t>(kPrefixBytes + piece_bytes),
                  .kind = RecordKind::kPiece});
  return kPrefixBytes;
}

std::string EncodeLentPiece(const SharedPlace& place, uint64_t piece_bytes) {
  std::string out;
  Append(out, Prefix{.bytes = static_cast<uint32_t>(kPrefixBytes + sizeof place + 8),
                     .kind = RecordKind::kLentPiece});
  Append(out, place);
  Append(out, piece_bytes);
  return out;
}

std::string EncodeReleases(std::span<const uint64_t> loans) {
  std::string out;
  Append(out, Prefix{.bytes = static_cast<uint32_t>(kPrefixBytes + 8 * loans.size()),
                     .kind = RecordKind::kRelease});
  for (uint64_t loan : loans) Append(out, loan);
  return out;
}

std::string EncodeClose(const Status& why) {
  const std::string_view text = why.message().substr(0, kMaxCloseText);
  std::string out;
  Append(out, Prefix{.bytes = static_cast<uint32_t>(kPrefixBytes + 4 + text.size()),
                     .kind = RecordKind::kClose});
  Append(out, static_cast<uint32_t>(why.code()));
  out += text;
  return out;
}

Result<size_t> RecordLength(std::string_view bytes) {
  Prefix prefix;
  if (!Take(bytes, &prefix)) return size_t{0};
  if (prefix.bytes < kPrefixBytes || prefix.bytes > kMaxRecordBytes) {
    return DataLoss("a record of ", prefix.bytes, " bytes: expected ", kPrefixBytes, " to ",
                    kMaxRecordBytes);
  }
  return size_t{prefix.bytes};
}

Status ParseRecord(std::string_view bytes, Record* record) {
  Prefix prefix;
  std::string_view rest = bytes;
  if (!Take(rest, &prefix) || prefix.bytes != bytes.size()) return Truncated();
  record->kind = prefix.kind;
  switch (prefix.kind) {
    case RecordKind::kControl:
      if (rest.size() > kMaxControlBytes) return DataLoss("a control message of ", rest.size());
      record->control = rest;
      return OkStatus();
    case RecordKind::kTensor:
    case RecordKind::kBulk:
    case RecordKind::kShared:
      return ParseHead(rest, prefix, record);
    case RecordKind::kPiece:
      record->payload_bytes = rest.size();
      record->payload = rest;
      return OkStatus();
    case RecordKind::kLentPiece:
      return ParseLentPiece(rest, record);
    case RecordKind::kRelease:
      return ParseReleases(rest, record);
    case RecordKind::kClose:
      return ParseClose(rest, record);
  }
  return DataLoss("record kind ", static_cast<int>(prefix.kind), " is none");
}

}  // namespace thalweg
