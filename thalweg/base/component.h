// SPDX-License-Identifier: Apache-2.0
// FindComponent: a function of a shared object beside this library, or null where there is none.
// The object is opened once for the process and never closed.
//   const auto entry = reinterpret_cast<Entry>(FindComponent("libthalweg_re2.so", "thalweg_re2"));
//
// Ownership: what it finds is never closed, so the pointer stays good; the component owns no text
// it appends.
// Threads: any.
// Errors: null where the file or the symbol is not there; nothing says which.
#pragma once

#include <string>

namespace thalweg {

void* FindComponent(const std::string& file, const char* symbol);

// What a component calls with a piece of text it has made: `to` is a std::string.
extern "C" void ThalwegAppendText(void* to, const char* text, unsigned long size);

}  // namespace thalweg
