// SPDX-License-Identifier: Apache-2.0
// The text form of messages (.pbtxt), as protobuf reads and writes it.
//
//   ASSIGN_OR_RETURN(OwnedMessage graph,
//                    ParseText(pb::GraphDef::Descriptor(), "node { name: 'a' op: 'NoOp' }"));
//   ASSIGN_OR_RETURN(std::string text, PrintText(*graph));
//
// Reading: enum names and numbers, decimal, hexadecimal and octal integers, inf and nan, adjacent
// and escaped strings, lists such as [1, 2], `{}` and `<>`, `,` and `;` between fields, # comments.
// A field or enum name that the table does not have is an error, so is a second value of a singular
// field or of a oneof. `string` fields must be UTF-8. google.protobuf.Any is read and written by
// its two fields; extensions and the form [type/name] { ... } are refused.
// Writing: fields by number, map entries by key, two blanks a level, numbers so that they read back
// to the same bits (but for the payload of a NaN). Unknown fields have no text form and are left
// out.
// Ownership: a message owns all it has read; nothing of `text` is kept.
// Threads: any, on distinct messages.
// Errors: InvalidArgument, "LINE:COLUMN: PATH: what was expected, what was found";
// ResourceExhausted beyond 2 GiB of text.
#pragma once

#include <string>
#include <string_view>

#include "thalweg/base/status.h"
#include "thalweg/proto/message.h"

namespace thalweg {

Result<OwnedMessage> ParseText(const MessageDescriptor& type, std::string_view text);
Result<std::string> PrintText(const Message& message);

}  // namespace thalweg
