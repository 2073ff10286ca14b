// SPDX-License-Identifier: Apache-2.0
// IsUtf8: whether bytes are well-formed UTF-8 (no overlong forms, no surrogates, nothing beyond
// U+10FFFF).
// Ownership: keeps nothing of the bytes.
// Threads: any; no state.
// Errors: none; false or 0 for what is not UTF-8.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace thalweg {

bool IsUtf8(std::string_view bytes);
// Size of the well-formed character at the start of bytes; 0 when there is none.
size_t Utf8CharSize(std::string_view bytes);
// Appends the character; false when there is no such code point.
bool AppendUtf8(std::string& out, uint32_t code_point);

}  // namespace thalweg
