// SPDX-License-Identifier: Apache-2.0
// StrCat: the text of its arguments, one after the other. Light on purpose: every file includes it
// through status.h.
//   StrCat("rank ", 3, ", scale ", 0.5)  ->  "rank 3, scale 0.5"
// Numbers print so that they read back to the same value. Types with their own text give a
// ToString() member, or, beside the type, a function TextOf whose text outlives the call.
// Ownership: the text is the caller's; a TextPart points at its argument and lives no longer.
// Threads: any; no state.
// Errors: none but std::bad_alloc.
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <type_traits>

namespace thalweg {

template <class T>
concept HasToString = requires(const T& t) {
  { t.ToString() } -> std::convertible_to<std::string>;
};

template <class T>
concept HasTextOf = requires(const T& t) {
  { TextOf(t) } -> std::convertible_to<std::string_view>;
};

// One argument, as the one function sees it that writes all kinds: what a call costs to compile is
// an array of these. Holds no text of its own.
class TextPart {
 public:
  template <class T>
  explicit TextPart(const T& part) {
    if constexpr (HasTextOf<T>) {
      text_ = TextOf(part);
    } else if constexpr (std::is_same_v<T, bool>) {
      text_ = part ? "true" : "false";
    } else if constexpr (std::is_same_v<T, char>) {
      text_ = std::string_view(&part, 1);
    } else if constexpr (std::is_enum_v<T> || (std::is_integral_v<T> && std::is_signed_v<T>)) {
      kind_ = kSigned;
      signed_ = static_cast<int64_t>(part);
    } else if constexpr (std::is_integral_v<T>) {
      kind_ = kUnsigned;
      unsigned_ = static_cast<uint64_t>(part);
    } else if constexpr (std::is_same_v<T, float>) {
      kind_ = kFloat;
      float_ = part;
    } else if constexpr (std::is_same_v<T, double>) {
      kind_ = kDouble;
      double_ = part;
    } else if constexpr (HasToString<T>) {
      kind_ = kObject;
      object_ = {&part, [](const void* object) -> std::string {
                   return static_cast<const T*>(object)->ToString();
                 }};
    } else {
      text_ = std::string_view(part);
    }
  }
  void AppendTo(std::string& out) const;

 private:
  struct Object {
    const void* object;
    std::string (*text)(const void* object);
  };
  enum Kind : uint8_t { kText, kSigned, kUnsigned, kFloat, kDouble, kObject };

  Kind kind_ = kText;
  union {
    std::string_view text_{};
    int64_t signed_;
    uint64_t unsigned_;
    float float_;
    double double_;
    Object object_;
  };
};

std::string CatParts(std::initializer_list<TextPart> parts);

template <class T>
void AppendPart(std::string& out, const T& part) {
  TextPart(part).AppendTo(out);
}

template <class... Parts>
std::string StrCat(const Parts&... parts) {
  return CatParts({TextPart(parts)...});
}

}  // namespace thalweg
