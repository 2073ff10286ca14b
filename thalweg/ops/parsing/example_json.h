// SPDX-License-Identifier: Apache-2.0
// The JSON form of an Example, as protobuf maps messages to JSON.
//
//   ASSIGN_OR_RETURN(std::string example, ExampleFromJson(
//       R"({"features": {"feature": {"age": {"int64List": {"value": [29, "30"]}}}}})"));
//
// Names of fields are those of the message or their camel case; integers may be texts; NaN and the
// infinities are; bytes are base64 with either alphabet, padded or not. Features keep their order.
// The text is read once and strictly: no comments, single quotes or commas at an end. Nothing nests
// deeper than an Example does, so hostile text takes a few times its own bytes.
// Ownership: the result is a copy.
// Threads: any.
// Errors: InvalidArgument with the line and column of what is no JSON, else with the path of the
// value, what was expected and what was found.
#pragma once

#include <string>
#include <string_view>

#include "thalweg/base/status.h"

namespace thalweg {

Result<std::string> ExampleFromJson(std::string_view json);

}  // namespace thalweg
