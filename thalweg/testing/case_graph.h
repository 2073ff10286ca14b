// SPDX-License-Identifier: Apache-2.0
// The constants and attributes of a case (tests/op_cases), read and written anew in its message.
//
//   for (Message* node : ConstsOf(*graph_def)) {
//     const Tensor value = ValueOf(*node);
//     SetValue(*node, Reshaped(value, Shape{1000}), *graph_def);
//   }
//
// Ownership: pointers are into the message.
// Threads: any, on distinct messages.
// Errors: what cannot be read is an empty tensor, what cannot be written is not there.
#pragma once

#include <string_view>
#include <vector>

#include "thalweg/graph/attr_value.h"
#include "thalweg/proto/message.h"

namespace thalweg {

std::vector<Message*> NodesOf(Message& graph_def);
std::vector<Message*> ConstsOf(Message& graph_def);
void SetAttr(Message& node, std::string_view name, const AttrValue& value);
Tensor ValueOf(const Message& node);
// What stands between a constant and its readers says no shape any more: it is not this that is to
// refuse the change.
void SetValue(Message& node, const Tensor& value, Message& graph_def);
// Elements of `from`, over and over.
Tensor Reshaped(const Tensor& from, const Shape& shape);

}  // namespace thalweg
