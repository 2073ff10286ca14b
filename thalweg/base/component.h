// SPDX-License-Identifier: Apache-2.0
// FindComponent: a function of a shared object beside this library, or null where there is none.
// The object is opened once for the process and never closed.
//   const auto entry = reinterpret_cast<Entry>(FindComponent("libthalweg_re2.so", "thalweg_re2"));
#pragma once

#include <string>

namespace thalweg {

void* FindComponent(const std::string& file, const char* symbol);

// What a component calls with a piece of text it has made: `to` is a std::string.
extern "C" void ThalwegAppendText(void* to, const char* text, unsigned long size);

}  // namespace thalweg
