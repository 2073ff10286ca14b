// SPDX-License-Identifier: Apache-2.0
// What rides in the messages of GetStatus: bytes under a number that TensorFlow's tasks do not
// know, and skip.
//
//   RETURN_IF_ERROR(AddStatusField(20262, bytes, &message));
//   bool whole = true;
//   std::string_view found = FindStatusField(message, 20262, &whole);
//
// Ownership: adds to the caller's message; what is found is a view of it.
// Threads: any, on distinct messages.
// Errors: those of a message that cannot take more; `whole` is false where the fields that it has
// are malformed.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "thalweg/proto/message.h"
#include "thalweg/proto/wire.h"
#include "thalweg/proto/wire_fields.h"

namespace thalweg {

inline std::string_view FindStatusField(const Message& message, uint32_t number, bool* whole) {
  std::string_view found;
  *whole = VisitWireFields(message.unknown_fields(),
                           [&](uint32_t field, uint64_t, std::string_view text) {
                             if (field == number) found = text;
                           });
  return found;
}

inline Status AddStatusField(uint32_t number, std::string_view bytes, Message* message) {
  std::string field;
  AddWireText(number, bytes, &field);
  return MergeFromBytes(*message, field);
}

}  // namespace thalweg
