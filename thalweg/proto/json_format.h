// SPDX-License-Identifier: Apache-2.0
// The JSON form of messages, as protobuf writes it: one line, names in lowerCamelCase, 64-bit
// integers as text, bytes in base64, values of an enum by name, what is not set left out.
//
//   ASSIGN_OR_RETURN(OwnedMessage example, ParseMessage(pb::Example::Descriptor(), bytes));
//   ASSIGN_OR_RETURN(std::string json, PrintJson(*example));
//
// google.protobuf.Any and the wrapper types are written by their fields; unknown fields have no
// JSON form and are left out.
// Ownership: the text is the caller's; nothing of the message is kept.
// Threads: any, on distinct messages.
// Errors: ResourceExhausted beyond 2 GiB of text; InvalidArgument for messages nested too deep.
#pragma once

#include <string>

#include "thalweg/base/status.h"
#include "thalweg/proto/message.h"

namespace thalweg {

Result<std::string> PrintJson(const Message& message);

}  // namespace thalweg
