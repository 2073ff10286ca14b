// SPDX-License-Identifier: Apache-2.0
#include <zlib.h>

#include <new>

#include "thalweg/io/zlib_api.h"

namespace {

z_stream* Of(ThalwegInflate* stream) { return reinterpret_cast<z_stream*>(stream); }

ThalwegInflate* Open(int gzip) {
  auto* const stream = new (std::nothrow) z_stream();
  if (stream == nullptr) return nullptr;
  constexpr int kGzip = 16;  // added to the window's bits
  if (inflateInit2(stream, MAX_WBITS + (gzip != 0 ? kGzip : 0)) == Z_OK) {
    return reinterpret_cast<ThalwegInflate*>(stream);
  }
  delete stream;
  return nullptr;
}

void Close(ThalwegInflate* stream) {
  inflateEnd(Of(stream));
  delete Of(stream);
}

ThalwegInflateResult Run(ThalwegInflate* stream, const char** in, unsigned* in_left, char** out,
                         unsigned* out_left, const char** why) {
  z_stream* const z = Of(stream);
  z->next_in = reinterpret_cast<Bytef*>(const_cast<char*>(*in));
  z->avail_in = *in_left;
  z->next_out = reinterpret_cast<Bytef*>(*out);
  z->avail_out = *out_left;
  const int result = inflate(z, Z_NO_FLUSH);
  *in = reinterpret_cast<const char*>(z->next_in);
  *in_left = z->avail_in;
  *out = reinterpret_cast<char*>(z->next_out);
  *out_left = z->avail_out;
  if (result == Z_STREAM_END) return kThalwegInflateEnd;
  if (result == Z_OK || result == Z_BUF_ERROR) return kThalwegInflateMore;
  *why = z->msg != nullptr ? z->msg : zError(result);
  return kThalwegInflateError;
}

void Reset(ThalwegInflate* stream) { inflateReset(Of(stream)); }

}  // namespace

extern "C" __attribute__((visibility("default"))) const ThalwegZlibApi* thalweg_zlib(int version) {
  static const ThalwegZlibApi api = {Open, Close, Run, Reset};
  return version == THALWEG_ZLIB_VERSION ? &api : nullptr;
}
