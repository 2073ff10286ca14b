// SPDX-License-Identifier: Apache-2.0
// The table of functions between this library and libthalweg_icu.so, the component that holds ICU:
// letters in two cases, scripts, encodings other than Unicode's own. Plain C on purpose. Private to
// compute/text.
// Ownership: a converter is the caller's, until close; the table is static.
// Threads: any, a converter from one at a time.
// Errors: 0, -1 or null, as each function says; no words.
//   const ThalwegIcuApi* api = thalweg_icu(THALWEG_ICU_VERSION);   // by dlsym
#pragma once

#include <cstddef>
#include <cstdint>

extern "C" {

#define THALWEG_ICU_VERSION 1

typedef void (*ThalwegIcuAppend)(void* to, const char* text, unsigned long size);
// One character that begins at byte `start`; -1 where the bytes are none.
typedef void (*ThalwegIcuCharacter)(void* to, int32_t character, int64_t start);
struct ThalwegIcuConverter;

struct ThalwegIcuApi {
  // UTF-8 text, bad bytes replaced, in capital letters or small ones: the parts of a long one after
  // each other. 0 when there is no memory.
  int (*change_case)(const char* text, size_t size, int upper, ThalwegIcuAppend append, void* to);
  // ICU's number of the script of a character, -1 for what is no character.
  int32_t (*script)(int32_t character);
  // Null for an encoding that ICU does not know.
  ThalwegIcuConverter* (*open)(const char* encoding);
  void (*close)(ThalwegIcuConverter* converter);
  void (*decode)(ThalwegIcuConverter* converter, const char* bytes, size_t size,
                 ThalwegIcuCharacter character, void* to);
};

// Null for a version that the component does not know.
typedef const ThalwegIcuApi* (*ThalwegIcuEntry)(int version);
}
