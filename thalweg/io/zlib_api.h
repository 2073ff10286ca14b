// SPDX-License-Identifier: Apache-2.0
// The table of functions between this library and libthalweg_zlib.so, the component that holds
// zlib. Plain C on purpose: the two are built apart and share no symbols. Private to io/.
//   const ThalwegZlibApi* api = thalweg_zlib(THALWEG_ZLIB_VERSION);   // by dlsym
// Ownership: a stream is the caller's, until close; the table is static.
// Threads: any, one stream from one at a time.
// Errors: null or kThalwegZlibError; `why` is a text of the component's, good until the stream is
// closed.
#pragma once

extern "C" {

#define THALWEG_ZLIB_VERSION 2

struct ThalwegInflate;
struct ThalwegDeflate;
enum ThalwegZlibResult { kThalwegZlibMore, kThalwegZlibEnd, kThalwegZlibError };

struct ThalwegZlibApi {
  // Null without memory. gzip: 1 for gzip's header, 0 for zlib's.
  ThalwegInflate* (*open)(int gzip);
  void (*close)(ThalwegInflate* stream);
  // Takes from *in and gives to *out, both of which move on; what is wrong goes to *why.
  enum ThalwegZlibResult (*run)(ThalwegInflate* stream, const char** in, unsigned* in_left,
                                char** out, unsigned* out_left, const char** why);
  // Ready for another stream of the same kind.
  void (*reset)(ThalwegInflate* stream);
  // As open, close and run. last: 1 where nothing follows *in; then it is called until the end.
  ThalwegDeflate* (*open_deflate)(int gzip);
  void (*close_deflate)(ThalwegDeflate* stream);
  enum ThalwegZlibResult (*deflate)(ThalwegDeflate* stream, int last, const char** in,
                                    unsigned* in_left, char** out, unsigned* out_left);
};

// Null for a version that the component does not know.
typedef const ThalwegZlibApi* (*ThalwegZlibEntry)(int version);
}
