// SPDX-License-Identifier: Apache-2.0
// What a record of a file is, and what is in it, for people and programs.
//
//   ASSIGN_OR_RETURN(std::string json, RecordJson(record, ""));   // as protobuf's JSON
//   ASSIGN_OR_RETURN(std::string text, RecordText(record, "tensorflow.Event"));  // as .pbtxt
//   Use(RecordOutline(record));  // a line for each feature
//
// `type` names a message; empty: Example or SequenceExample, whichever it is.
// Ownership: the text is the caller's.
// Threads: any.
// Errors: InvalidArgument for a type that is not known, for bytes that are no such message, and,
// with no type, for what is neither of the two.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "thalweg/base/status.h"

namespace thalweg {

enum class ExampleKind : uint8_t { kExample, kSequenceExample, kOther };

// By its fields, all of which must be as those messages have them.
ExampleKind KindOfRecord(std::string_view record);

Result<std::string> RecordJson(std::string_view record, std::string_view type);
Result<std::string> RecordText(std::string_view record, std::string_view type);

// One line a feature: name, kind, number of values, the first of them. Of other records their first
// bytes.
std::string RecordOutline(std::string_view record);

}  // namespace thalweg
