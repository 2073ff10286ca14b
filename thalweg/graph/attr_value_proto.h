// SPDX-License-Identifier: Apache-2.0
// AttrValue as the message of the same name, and back.
//   ASSIGN_OR_RETURN(AttrValue v, AttrValueFromProto(message));
// Ownership: the value owns what it has read; with `borrow` (tensor_proto.h) the message points
// into it.
// Threads: any, distinct messages.
// Errors: InvalidArgument for a message without a value, a list of several kinds, a type that does
// not exist, functions nested too deep; those of tensor_proto.h.
#pragma once

#include "thalweg/graph/attr_value.h"
#include "thalweg/tensor/tensor_proto.h"

namespace thalweg {

Result<AttrValue> AttrValueFromProto(const Message& proto, const TensorReadOptions& options = {});
// `proto` must be empty.
Status AttrValueToProto(const AttrValue& value, Message* proto,
                        const TensorWriteOptions& options = {});

// "int", "list(type)": the names of kinds in OpDef messages.
std::string_view AttrKindWireName(AttrValue::Kind kind);
Result<AttrValue::Kind> ParseAttrKind(std::string_view wire_name);

}  // namespace thalweg
