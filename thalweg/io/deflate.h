// SPDX-License-Identifier: Apache-2.0
// Deflater: what zlib or gzip makes of bytes that come piece by piece; inflate.h reads it.
//
//   ASSIGN_OR_RETURN(Deflater deflater, Deflater::Make(Compression::kGzip));
//   RETURN_IF_ERROR(deflater.Add("some bytes", &compressed));   // appends what is ready
//   RETURN_IF_ERROR(deflater.Finish(&compressed));              // and the rest
//
// With kNone it makes the bytes themselves. The effort is zlib's default one.
// Ownership: owns its stream; `out` is the caller's.
// Threads: one.
// Errors: Unimplemented without libthalweg_zlib.so; ResourceExhausted without memory.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "thalweg/base/status.h"
#include "thalweg/io/inflate.h"
#include "thalweg/io/zlib_api.h"

namespace thalweg {

class Deflater {
 public:
  static Result<Deflater> Make(Compression kind);

  Status Add(std::string_view bytes, std::string* out) { return Run(bytes, false, out); }
  // Nothing is added after it.
  Status Finish(std::string* out) { return Run("", true, out); }

 private:
  using StreamPtr = std::unique_ptr<ThalwegDeflate, void (*)(ThalwegDeflate*)>;
  Deflater(const ThalwegZlibApi* api, StreamPtr stream) : api_(api), stream_(std::move(stream)) {}
  Status Run(std::string_view bytes, bool is_last, std::string* out);

  const ThalwegZlibApi* api_;
  StreamPtr stream_;  // null: nothing is compressed
};

}  // namespace thalweg
