// SPDX-License-Identifier: Apache-2.0
// What packing and unpacking of recordings agree on (packed_recording.h says how it stands there).
// Private to them.
//
// Ownership: none.
// Threads: any; no state.
// Errors: none.
#pragma once

#include <cstdint>
#include <string_view>

#include "thalweg/trace/record_shape.h"

namespace thalweg {

// No message and no text of one begins so.
inline constexpr std::string_view kPackedMagic = "TWTRACE1";

// Texts are told by their number, in the order in which they first come, and whether the name of
// the node stands before them. How they are written:
inline constexpr uint64_t kSameText = 0;      // as the last node of this name had there
inline constexpr uint64_t kNewText = 1;       // the next one
inline constexpr uint64_t kNewTextNamed = 2;  // the same, behind the name
inline constexpr uint64_t kKnownText = 3;  // more than that: twice the number, and one for a name
// Of names:
inline constexpr uint64_t kNoName = 0;
inline constexpr uint64_t kNewName = 1;
inline constexpr uint64_t kKnownName = 2;  // more than that: the number

// An empty one takes one byte there, and many in memory. Nodes with more of them stay as they are.
inline constexpr size_t kMostTexts = size_t{1} << 23;

// Of fields with larger numbers, which are our own, each text is another one.
inline constexpr uint32_t kLastSharedField = 1000;

// Where values are guessed from: nothing where the last record of the name had another shape, or is
// not kept.
inline const RecordHistory::Record* LastOfShape(const RecordHistory::Record& last,
                                                uint32_t number) {
  return last.shape == number && !last.values.empty() ? &last : nullptr;
}

}  // namespace thalweg
