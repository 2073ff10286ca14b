// SPDX-License-Identifier: Apache-2.0
#include "thalweg/compute/text/numbers.h"

#include <charconv>
#include <limits>

namespace thalweg::compute {
namespace {

// Without white space and a plus sign; empty when there is no number.
std::string_view Trimmed(std::string_view text) {
  text = Stripped(text);
  if (text.empty() || text[0] != '+') return text;
  text.remove_prefix(1);
  return !text.empty() && (text[0] == '-' || text[0] == '+') ? std::string_view() : text;
}

template <class T>
bool ParseInteger(std::string_view text, T* number) {
  text = Trimmed(text);
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, *number);
  return error == std::errc() && rest == end;
}

// The value of a number too large or too small for T: its leading digit and exponent tell which.
template <class T>
T Extreme(std::string_view digits) {
  const size_t exponent = digits.find_first_of("eEpP");
  const bool negative_exponent = exponent != std::string_view::npos &&
                                 exponent + 1 < digits.size() && digits[exponent + 1] == '-';
  const bool is_fraction =
      digits[0] == '.' || (digits[0] == '0' && digits.size() > 1 && digits[1] == '.' &&
                           exponent == std::string_view::npos);
  return negative_exponent || is_fraction ? T(0) : std::numeric_limits<T>::infinity();
}

template <class T>
bool ParseFloating(std::string_view text, T* number) {
  text = Trimmed(text);
  const bool negative = !text.empty() && text[0] == '-';
  if (negative) text.remove_prefix(1);
  if (text.empty() || text[0] == '-') return false;
  auto format = std::chars_format::general;
  if (text.size() > 2 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X')) {
    format = std::chars_format::hex;
    text.remove_prefix(2);
    if (text[0] == '-') return false;
  }
  const char* const end = text.data() + text.size();
  T value = 0;
  const auto [rest, error] = std::from_chars(text.data(), end, value, format);
  if (rest != end || error == std::errc::invalid_argument) return false;
  if (error == std::errc::result_out_of_range) value = Extreme<T>(text);
  *number = negative ? -value : value;
  return true;
}

}  // namespace

std::string_view Stripped(std::string_view text) {
  while (!text.empty() && IsSpace(text.front())) text.remove_prefix(1);
  while (!text.empty() && IsSpace(text.back())) text.remove_suffix(1);
  return text;
}

bool ParseNumber(std::string_view text, float* number) { return ParseFloating(text, number); }
bool ParseNumber(std::string_view text, double* number) { return ParseFloating(text, number); }
bool ParseNumber(std::string_view text, int32_t* number) { return ParseInteger(text, number); }
bool ParseNumber(std::string_view text, int64_t* number) { return ParseInteger(text, number); }
bool ParseNumber(std::string_view text, uint32_t* number) { return ParseInteger(text, number); }
bool ParseNumber(std::string_view text, uint64_t* number) { return ParseInteger(text, number); }

}  // namespace thalweg::compute
