// SPDX-License-Identifier: Apache-2.0
#include "thalweg/io/deflate.h"

#include <algorithm>

#include "thalweg/io/find_zlib.h"

namespace thalweg {
namespace {

constexpr size_t kDeflateBytes = size_t{1} << 16;

}  // namespace

Result<Deflater> Deflater::Make(Compression kind) {
  if (kind == Compression::kNone) return Deflater(nullptr, StreamPtr(nullptr, nullptr));
  ASSIGN_OR_RETURN(const ThalwegZlibApi* const api, FindZlib());
  StreamPtr stream(api->open_deflate(kind == Compression::kGzip ? 1 : 0), api->close_deflate);
  if (stream == nullptr) return ResourceExhausted("no memory for a stream of zlib");
  return Deflater(api, std::move(stream));
}

Status Deflater::Run(std::string_view bytes, bool is_last, std::string* out) {
  if (stream_ == nullptr) {
    out->append(bytes);
    return OkStatus();
  }
  char buffer[kDeflateBytes];
  while (true) {
    const char* in = bytes.data();
    const auto given = static_cast<unsigned>(std::min(bytes.size(), kDeflateBytes));
    unsigned in_left = given, out_left = sizeof(buffer);
    char* to = buffer;
    const ThalwegZlibResult result =
        api_->deflate(stream_.get(), is_last ? 1 : 0, &in, &in_left, &to, &out_left);
    if (result == kThalwegZlibError) return Internal("zlib does not compress");
    out->append(buffer, to);
    bytes.remove_prefix(given - in_left);
    // A full buffer may hide that there is more.
    if (is_last ? result == kThalwegZlibEnd : bytes.empty() && out_left > 0) return OkStatus();
  }
}

}  // namespace thalweg
