// SPDX-License-Identifier: Apache-2.0
// The schemas of the instruction set as bytes linked into the library: made by tools/gen_ops.py,
// read one at a time. Sorted by name.
// Ownership: names point into the table, which is static; an OpDef is the caller's.
// Threads: any.
// Errors: none; nothing for an operation that is not there.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "thalweg/graph/op_def.h"

namespace thalweg {

extern const uint32_t kOpCount;
extern const uint32_t kOpOffsets[];  // one more than there are operations
extern const char kOpRecords[];

std::string_view OpTableName(uint32_t index);
// Absent when the instruction set has no such operation.
std::optional<OpDef> ReadOpTable(std::string_view name);

}  // namespace thalweg
