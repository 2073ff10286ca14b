// SPDX-License-Identifier: Apache-2.0
// OpDef as the message of the same name, and back: signatures of functions, lists of operations in
// MetaGraphs, what front ends read of the registry.
// Ownership: values; nothing of the message is kept.
// Threads: any, on distinct messages.
// Errors: InvalidArgument that names operation and part.
#pragma once

#include "thalweg/graph/op_def.h"
#include "thalweg/proto/message.h"

namespace thalweg {

// Descriptions, deprecations and type annotations are not kept.
Result<OpDef> OpDefFromProto(const Message& proto);
// `proto` must be empty.
Status OpDefToProto(const OpDef& def, Message* proto);

}  // namespace thalweg
