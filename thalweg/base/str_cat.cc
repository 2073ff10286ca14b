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

void AppendText(std::string& out, std::string_view text) { out.append(text); }
void AppendText(std::string& out, int64_t value) { AppendNumber(out, value); }
void AppendText(std::string& out, uint64_t value) { AppendNumber(out, value); }
void AppendText(std::string& out, double value) { AppendNumber(out, value); }
void AppendText(std::string& out, float value) { AppendNumber(out, value); }

}  // namespace thalweg
