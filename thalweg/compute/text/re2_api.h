// SPDX-License-Identifier: Apache-2.0
// The table of functions between this library and libthalweg_re2.so, the component that holds RE2.
// Plain C on purpose: the two are built apart and share no symbols. Private to compute/text.
//   const ThalwegRe2Api* api = thalweg_re2(THALWEG_RE2_VERSION);   // by dlsym
// Text that a function makes goes to append(to, text, size).
// Ownership: a pattern is the caller's, until free; the table is static.
// Threads: any, one pattern from several at once.
// Errors: null or 0, with words by `append` to `why`.
#pragma once

#include <cstddef>

extern "C" {

#define THALWEG_RE2_VERSION 1

typedef void (*ThalwegAppend)(void* to, const char* text, unsigned long size);
struct ThalwegRe2Pattern;

struct ThalwegRe2Api {
  // Null for a bad pattern, and why.
  ThalwegRe2Pattern* (*compile)(const char* pattern, size_t size, ThalwegAppend append, void* why);
  void (*free)(ThalwegRe2Pattern* pattern);
  // 1 when the whole text matches.
  int (*full_match)(const ThalwegRe2Pattern* pattern, const char* text, size_t size);
  // 1 when \0 to \9 in the rewrite are groups of the pattern; else why.
  int (*check_rewrite)(const ThalwegRe2Pattern* pattern, const char* rewrite, size_t size,
                       ThalwegAppend append, void* why);
  // The text with the first match, or all, replaced.
  void (*replace)(const ThalwegRe2Pattern* pattern, const char* text, size_t size,
                  const char* rewrite, size_t rewrite_size, int all, ThalwegAppend append,
                  void* to);
};

// Null for a version that the component does not know.
typedef const ThalwegRe2Api* (*ThalwegRe2Entry)(int version);
}
