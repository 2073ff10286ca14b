// SPDX-License-Identifier: Apache-2.0
#include "thalweg/compute/text/regex.h"

#include <algorithm>

#include "thalweg/base/component.h"
#include "thalweg/compute/text/re2_api.h"

namespace thalweg::compute {
namespace {

// Open or not for the whole process, whoever asks.
const ThalwegRe2Api* Api() {
  static const ThalwegRe2Api* const api = []() -> const ThalwegRe2Api* {
    const auto entry =
        reinterpret_cast<ThalwegRe2Entry>(FindComponent("libthalweg_re2.so", "thalweg_re2"));
    return entry == nullptr ? nullptr : entry(THALWEG_RE2_VERSION);
  }();
  return api;
}

}  // namespace

bool HasRegex() { return Api() != nullptr; }

Result<Regex> Regex::Make(std::string_view pattern) {
  const ThalwegRe2Api* const api = Api();
  if (api == nullptr) {
    return Unimplemented("regular expressions need libthalweg_re2.so (and RE2) beside the library");
  }
  std::string why;
  Regex regex;
  regex.pattern_.reset(api->compile(pattern.data(), pattern.size(), ThalwegAppendText, &why),
                       [api](ThalwegRe2Pattern* made) {
                         if (made != nullptr) api->free(made);
                       });
  if (regex.pattern_ != nullptr) return regex;
  return InvalidArgument("Invalid pattern: ", pattern, ", error: ", why);
}

bool Regex::MatchesAll(std::string_view text) const {
  return Api()->full_match(pattern_.get(), text.data(), text.size()) != 0;
}

Status Regex::CheckRewrite(std::string_view rewrite) const {
  std::string why;
  if (Api()->check_rewrite(pattern_.get(), rewrite.data(), rewrite.size(), ThalwegAppendText,
                           &why) != 0) {
    return OkStatus();
  }
  return InvalidArgument("Invalid rewrite: ", rewrite, ", error: ", why);
}

size_t Regex::MostBytes(std::string_view text, std::string_view rewrite, bool all) const {
  // What a group matches lies in the text, and groups of two matches lie apart.
  const auto groups = static_cast<size_t>(std::ranges::count(rewrite, '\\'));
  const auto bytes = [&](size_t matches) {
    return text.size() * (groups + 1) + matches * rewrite.size();
  };
  constexpr size_t kFew = size_t{1} << 16;
  const size_t most_matches = all ? text.size() + 1 : 1;
  if (bytes(most_matches) <= kFew || !all) return bytes(most_matches);
  return bytes(Replaced(text, "+", true).size() - Replaced(text, "", true).size());
}

std::string Regex::Replaced(std::string_view text, std::string_view rewrite, bool all) const {
  std::string changed;
  Api()->replace(pattern_.get(), text.data(), text.size(), rewrite.data(), rewrite.size(), all,
                 ThalwegAppendText, &changed);
  return changed;
}

}  // namespace thalweg::compute
