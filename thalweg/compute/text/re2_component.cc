// SPDX-License-Identifier: Apache-2.0
#include <re2/re2.h>

#include <new>
#include <string>

#include "thalweg/compute/text/re2_api.h"

namespace {

re2::StringPiece Piece(const char* text, size_t size) { return {text, size}; }
const RE2& Of(const ThalwegRe2Pattern* pattern) { return *reinterpret_cast<const RE2*>(pattern); }

ThalwegRe2Pattern* Compile(const char* pattern, size_t size, ThalwegAppend append, void* why) {
  RE2::Options options;
  options.set_log_errors(false);
  auto* made = new (std::nothrow) RE2(Piece(pattern, size), options);
  if (made == nullptr || made->ok()) return reinterpret_cast<ThalwegRe2Pattern*>(made);
  append(why, made->error().data(), made->error().size());
  delete made;
  return nullptr;
}

void Free(ThalwegRe2Pattern* pattern) { delete reinterpret_cast<RE2*>(pattern); }

int FullMatch(const ThalwegRe2Pattern* pattern, const char* text, size_t size) {
  return RE2::FullMatch(Piece(text, size), Of(pattern));
}

int CheckRewrite(const ThalwegRe2Pattern* pattern, const char* rewrite, size_t size,
                 ThalwegAppend append, void* why) {
  std::string error;
  if (Of(pattern).CheckRewriteString(Piece(rewrite, size), &error)) return 1;
  append(why, error.data(), error.size());
  return 0;
}

void Replace(const ThalwegRe2Pattern* pattern, const char* text, size_t size, const char* rewrite,
             size_t rewrite_size, int all, ThalwegAppend append, void* to) {
  std::string changed(text, size);
  const re2::StringPiece with = Piece(rewrite, rewrite_size);
  if (all != 0) {
    RE2::GlobalReplace(&changed, Of(pattern), with);
  } else {
    RE2::Replace(&changed, Of(pattern), with);
  }
  append(to, changed.data(), changed.size());
}

}  // namespace

extern "C" __attribute__((visibility("default"))) const ThalwegRe2Api* thalweg_re2(int version) {
  static const ThalwegRe2Api api = {Compile, Free, FullMatch, CheckRewrite, Replace};
  return version == THALWEG_RE2_VERSION ? &api : nullptr;
}
