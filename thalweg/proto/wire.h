// SPDX-License-Identifier: Apache-2.0
// The binary form of messages: what protobuf reads and writes.
//
//   ASSIGN_OR_RETURN(OwnedMessage graph,
//                    ParseMessage(pb::GraphDef::Descriptor(), std::move(file_contents)));
//   ASSIGN_OR_RETURN(std::string bytes, Serialize(*graph));
//
// Reading: packed and unpacked lists are both accepted; the last of several singular values wins,
// messages merge; fields that the table does not list, or that come with another wire type, are
// kept and written back after the known ones, byte for byte (groups too). Enum numbers without a
// name are kept. A `string` that is not UTF-8 is refused, as protobuf does (proto2 types and
// `bytes` take anything).
// Writing: fields by number, map entries by key: equal messages without unknown fields give equal
// bytes.
// Ownership: see the three ways to parse.
// Threads: any, on distinct messages.
// Errors: InvalidArgument with byte offset and field path for malformed or too deeply nested input;
// ResourceExhausted for input or output of more than 2 GiB (unless more is asked for), or when the
// tree would need more than `max_memory`.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "thalweg/base/status.h"
#include "thalweg/proto/message.h"

namespace thalweg {

// What protobuf can hold in one message.
inline constexpr size_t kMaxMessageBytes = (size_t{1} << 31) - 1;
// Messages inside messages; map entries do not count. Protobuf's own readers have the same limit.
inline constexpr int kMaxMessageDepth = 100;

struct ParseOptions {
  // The caller's bytes outlive the message, so that strings may point into them.
  bool borrow = false;
  size_t max_bytes = kMaxMessageBytes;
  // For the tree, beside the bytes themselves. Two bytes of input can ask for half a kilobyte of
  // message.
  size_t max_memory = size_t{8} << 30;
};

// Copies the bytes (once, as a whole), or borrows them.
Result<OwnedMessage> ParseMessage(const MessageDescriptor& type, std::string_view bytes,
                                  const ParseOptions& options = {});
// Takes the bytes over: nothing is copied.
Result<OwnedMessage> ParseMessage(const MessageDescriptor& type, std::string&& bytes,
                                  const ParseOptions& options = {});
Result<OwnedMessage> ParseMessage(const MessageDescriptor& type, const char* bytes) = delete;
// Adds what the bytes hold to the message. After an error it holds a part of them.
Status MergeFromBytes(Message& message, std::string_view bytes, const ParseOptions& options = {});

// More than `max_bytes` only this library's own readers take.
Result<std::string> Serialize(const Message& message, size_t max_bytes = kMaxMessageBytes);
// Appends; `out` is unchanged after an error.
Status AppendSerialized(const Message& message, std::string& out);
Result<size_t> SerializedSize(const Message& message);

}  // namespace thalweg
