// SPDX-License-Identifier: Apache-2.0
// StrCat: the text of its arguments, one after the other. Light on purpose: every file includes it
// through status.h.
//   StrCat("rank ", 3, ", scale ", 0.5)  ->  "rank 3, scale 0.5"
// Numbers print so that they read back to the same value. Types with their own text give a
// ToString() member.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

namespace thalweg {

void AppendText(std::string& out, std::string_view text);
void AppendText(std::string& out, int64_t value);
void AppendText(std::string& out, uint64_t value);
void AppendText(std::string& out, double value);
void AppendText(std::string& out, float value);

template <class T>
concept HasToString = requires(const T& t) {
  { t.ToString() } -> std::convertible_to<std::string>;
};

template <class T>
void AppendPart(std::string& out, const T& part) {
  if constexpr (std::is_same_v<T, bool>) {
    AppendText(out, std::string_view(part ? "true" : "false"));
  } else if constexpr (std::is_same_v<T, char>) {
    out.push_back(part);
  } else if constexpr (std::is_enum_v<T>) {
    AppendText(out, static_cast<int64_t>(part));
  } else if constexpr (std::is_integral_v<T> && std::is_signed_v<T>) {
    AppendText(out, static_cast<int64_t>(part));
  } else if constexpr (std::is_integral_v<T>) {
    AppendText(out, static_cast<uint64_t>(part));
  } else if constexpr (std::is_floating_point_v<T>) {
    AppendText(out, part);
  } else if constexpr (HasToString<T>) {
    AppendText(out, std::string_view(part.ToString()));
  } else {
    AppendText(out, std::string_view(part));
  }
}

template <class... Parts>
std::string StrCat(const Parts&... parts) {
  std::string out;
  (AppendPart(out, parts), ...);
  return out;
}

}  // namespace thalweg
