// SPDX-License-Identifier: Apache-2.0
// Numbers out of text, whatever the locale: white space around them, a sign, decimal or (for
// floating types) hexadecimal digits, "inf", "nan".
//   float x;
//   bool read = ParseNumber(" 1.5\n", &x);  // true, x is 1.5
//
// Ownership: Stripped points into its text.
// Threads: any; no state.
// Errors: none; false for what is no such number.
#pragma once

#include <cstdint>
#include <string_view>

namespace thalweg::compute {

// False when the text is anything else, or does not fit into an integer type. Floating numbers that
// do not fit become infinity or zero.
bool ParseNumber(std::string_view text, float* number);
bool ParseNumber(std::string_view text, double* number);
bool ParseNumber(std::string_view text, int32_t* number);
bool ParseNumber(std::string_view text, int64_t* number);
bool ParseNumber(std::string_view text, uint32_t* number);
bool ParseNumber(std::string_view text, uint64_t* number);

// The text without white space at both ends.
std::string_view Stripped(std::string_view text);
// As isspace in the C locale.
inline bool IsSpace(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

}  // namespace thalweg::compute
