// SPDX-License-Identifier: Apache-2.0
// Record: one message of a channel between processes, as bytes.
//
//   char prefix[8];
//   EncodeControlPrefix(bytes.size(), prefix);                 // the message follows
//   ASSIGN_OR_RETURN(const size_t length, RecordLength(received));
//   RETURN_IF_ERROR(ParseRecord(received.substr(0, length), &record));
//
// Little-endian, no padding needed: a prefix of 8 bytes (length of all, kind, element type, flags,
// rank), then, by kind,
// - control: the message
// - tensor: head (40 bytes, dimensions), then its bytes
// - bulk: head; its bytes come elsewhere: on the bulk connection, or as pieces
// - piece: bytes of the tensor whose bulk record came last, the next ones (no bulk connection)
// - lent piece: piece and offset where the next of these bytes are, number of the loan, how many
// - shared: head, then piece and offset where the bytes are, and the number of the loan
// - release: numbers of loans that are over
// - close: code, then the text
//
// Ownership: a record as read is views into the bytes that it was read from.
// Threads: any.
// Errors: a malformed record is DataLoss that says how. Nothing here trusts a length.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "thalweg/base/status.h"
#include "thalweg/cluster/transport/channel.h"

namespace thalweg {

enum class RecordKind : uint8_t {
  kControl = 1,
  kTensor = 2,
  kBulk = 3,
  kShared = 4,
  kRelease = 5,
  kClose = 6,
  kPiece = 7,
  kLentPiece = 8,
};

// Tensors of more bytes do not travel inside records.
inline constexpr size_t kMaxRecordPayload = size_t{64} << 10;
inline constexpr size_t kMaxHeadBytes = 8 + 40 + 8 * kMaxRank + 24;
inline constexpr size_t kMaxRecordBytes = kMaxHeadBytes + kMaxRecordPayload;
inline constexpr size_t kMaxReleases = 64;  // in one record

// Where a shared tensor lies in its sender's arena.
// `loan`: with kHasty the reader copies the bytes and gives them back at once: the sender's memory
// runs short.
struct SharedPlace {
  static constexpr uint64_t kHasty = uint64_t{1} << 63;
  uint64_t piece = 0;
  uint64_t offset = 0;
  uint64_t loan = 0;
};

// A record as read; views into the bytes that it was read from.
struct Record {
  RecordKind kind = RecordKind::kControl;
  std::string_view control;        // control
  TensorHead head;                 // tensor, bulk, shared
  uint64_t payload_bytes = 0;      // the same, piece, lent piece
  std::string_view payload;        // tensor, piece
  SharedPlace place;               // shared, lent piece
  std::vector<uint64_t> releases;  // release
  Status why;                      // close
};

// The bytes of a tensor head (with the prefix, whose length includes `payload_bytes` for kTensor).
// `out` has kMaxHeadBytes; returns how many it took.
size_t EncodeHead(RecordKind kind, const TensorHead& head, uint64_t payload_bytes,
                  const SharedPlace& place, char* out);
size_t EncodeControlPrefix(size_t control_bytes, char* out);  // 8 bytes
size_t EncodePiecePrefix(size_t piece_bytes, char* out);      // 8 bytes
std::string EncodeLentPiece(const SharedPlace& place, uint64_t piece_bytes);
std::string EncodeReleases(std::span<const uint64_t> loans);
std::string EncodeClose(const Status& why);

// The length of the first record of `bytes`; 0 where fewer than 8 are there.
Result<size_t> RecordLength(std::string_view bytes);
// `bytes` is one whole record.
Status ParseRecord(std::string_view bytes, Record* record);

}  // namespace thalweg
