// SPDX-License-Identifier: Apache-2.0
#include <zlib.h>

#include <new>

#include "thalweg/io/zlib_api.h"

namespace {

constexpr int kGzip = 16;  // added to the window's bits

z_stream* Of(ThalwegInflate* stream) { return reinterpret_cast<z_stream*>(stream); }
z_stream* Of(ThalwegDeflate* stream) { return reinterpret_cast<z_stream*>(stream); }

void Put(z_stream* z, const char* in, unsigned in_left, char* out, unsigned out_left) {
  z->next_in = reinterpret_cast<Bytef*>(const_cast<char*>(in));
  z->avail_in = in_left;
  z->next_out = reinterpret_cast<Bytef*>(out);
  z->avail_out = out_left;
}

ThalwegZlibResult Taken(const z_stream* z, int result, const char** in, unsigned* in_left,
                        char** out, unsigned* out_left) {
  *in = reinterpret_cast<const char*>(z->next_in);
  *in_left = z->avail_in;
  *out = reinterpret_cast<char*>(z->next_out);
  *out_left = z->avail_out;
  if (result == Z_STREAM_END) return kThalwegZlibEnd;
  return result == Z_OK || result == Z_BUF_ERROR ? kThalwegZlibMore : kThalwegZlibError;
}

ThalwegInflate* Open(int gzip) {
  auto* const stream = new (std::nothrow) z_stream();
  if (stream == nullptr) return nullptr;
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

ThalwegZlibResult Run(ThalwegInflate* stream, const char** in, unsigned* in_left, char** out,
                      unsigned* out_left, const char** why) {
  z_stream* const z = Of(stream);
  Put(z, *in, *in_left, *out, *out_left);
  const int code = inflate(z, Z_NO_FLUSH);
  const ThalwegZlibResult result = Taken(z, code, in, in_left, out, out_left);
  if (result == kThalwegZlibError) *why = z->msg != nullptr ? z->msg : zError(code);
  return result;
}

void Reset(ThalwegInflate* stream) { inflateReset(Of(stream)); }

ThalwegDeflate* OpenDeflate(int gzip) {
  auto* const stream = new (std::nothrow) z_stream();
  if (stream == nullptr) return nullptr;
  constexpr int kMemory = 8;  // zlib's default
  if (deflateInit2(stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, MAX_WBITS + (gzip != 0 ? kGzip : 0),
                   kMemory, Z_DEFAULT_STRATEGY) == Z_OK) {
    return reinterpret_cast<ThalwegDeflate*>(stream);
  }
  delete stream;
  return nullptr;
}

void CloseDeflate(ThalwegDeflate* stream) {
  deflateEnd(Of(stream));
  delete Of(stream);
}

ThalwegZlibResult Deflate(ThalwegDeflate* stream, int last, const char** in, unsigned* in_left,
                          char** out, unsigned* out_left) {
  z_stream* const z = Of(stream);
  Put(z, *in, *in_left, *out, *out_left);
  return Taken(z, deflate(z, last != 0 ? Z_FINISH : Z_NO_FLUSH), in, in_left, out, out_left);
}

}  // namespace

extern "C" __attribute__((visibility("default"))) const ThalwegZlibApi* thalweg_zlib(int version) {
  static const ThalwegZlibApi api = {Open, Close, Run, Reset, OpenDeflate, CloseDeflate, Deflate};
  return version == THALWEG_ZLIB_VERSION ? &api : nullptr;
}
