// SPDX-License-Identifier: Apache-2.0
// The table of functions between this library and libthalweg_zlib.so, the component that holds zlib.
// Plain C on purpose: the two are built apart and share no symbols. Private to io/.
//   const ThalwegZlibApi* api = thalweg_zlib(THALWEG_ZLIB_VERSION);   // by dlsym
// Threads: any, one stream from one at a time.
#pragma once

extern "C" {

#define THALWEG_ZLIB_VERSION 1

struct ThalwegInflate;
enum ThalwegInflateResult { kThalwegInflateMore, kThalwegInflateEnd, kThalwegInflateError };

struct ThalwegZlibApi {
  // Null without memory. gzip: 1 for gzip's header, 0 for zlib's.
  ThalwegInflate* (*open)(int gzip);
  void (*close)(ThalwegInflate* stream);
  // Takes from *in and gives to *out, both of which move on; what is wrong goes to *why.
  enum ThalwegInflateResult (*run)(ThalwegInflate* stream, const char** in, unsigned* in_left,
                                   char** out, unsigned* out_left, const char** why);
  // Ready for another stream of the same kind.
  void (*reset)(ThalwegInflate* stream);
};

// Null for a version that the component does not know.
typedef const ThalwegZlibApi* (*ThalwegZlibEntry)(int version);
}
