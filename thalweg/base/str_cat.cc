// SPDX-License-Identifier: Apache-2.0
#include "thalweg/base/str_cat.h"

#include <charconv>

namespace thalweg {
namespace {

template <class T>
void AppendNumber(std::string& out, T value) {
  char buffer[40];
  auto [end, error] = std::to_chars(buffer, buffer + sizeof(buffer), value);
  if (error == std::errc()) out.append(buffer, end);
}

}  // namespace

void TextPart::AppendTo(std::string& out) const {
  switch (kind_) {
    case kText:
      out.append(text_);
      return;
    case kSigned:
      return AppendNumber(out, signed_);
    case kUnsigned:
      return AppendNumber(out, unsigned_);
    case kFloat:
      return AppendNumber(out, float_);
    case kDouble:
      return AppendNumber(out, double_);
    case kObject:
      out.append(object_.text(object_.object));
      return;
  }
}

std::string CatParts(std::initializer_list<TextPart> parts) {
  std::string out;
  for (const TextPart& part : parts) part.AppendTo(out);
  return out;
}

}  // namespace thalweg
