// SPDX-License-Identifier: Apache-2.0
// ScaledCases: a case (tests/op_cases) with more data: a dimension that several of its constants
// have, alone or with the numbers and attributes that are equal to it; one constant's first or last
// dimension, or a vector of a scalar; its strings; a number that may be a size. Not all of them are
// valid, so there are many.
//
//   for (OwnedMessage& graph_def : ScaledCases(*valid, 1 << 20)) {
//     trials.RunGraph(std::move(graph_def), std::chrono::seconds(1));
//   }
//
// Ownership: none.
// Threads: any.
// Errors: none.
#pragma once

#include <vector>

#include "thalweg/proto/message.h"

namespace thalweg {

// So that the constants take `bytes`, or little more.
std::vector<OwnedMessage> ScaledCases(const Message& graph_def, int64_t bytes);
// What the constants take, with their strings.
int64_t BytesOfConsts(const Message& graph_def);

}  // namespace thalweg
