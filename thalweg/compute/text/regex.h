// SPDX-License-Identifier: Apache-2.0
// Regex: a regular expression in RE2's syntax: time linear in the text, whatever the pattern.
//
//   ASSIGN_OR_RETURN(const Regex regex, Regex::Make("(a+)b"));
//   CHECK(regex.Replaced("aab", "\\1", true) == "aa");
//
// Ownership: a Regex shares its pattern with its copies.
// Threads: a Regex may be used by several at once.
// Errors: InvalidArgument for a bad pattern; Unimplemented where libthalweg_re2.so, which holds
// RE2, is not beside the library.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "thalweg/base/status.h"

struct ThalwegRe2Pattern;

namespace thalweg::compute {

// Whether the component is there.
bool HasRegex();

class Regex {
 public:
  static Result<Regex> Make(std::string_view pattern);

  bool MatchesAll(std::string_view text) const;
  // InvalidArgument when the rewrite names a group that the pattern has not.
  Status CheckRewrite(std::string_view rewrite) const;
  // The first match, or all, replaced. With a bad rewrite the text as it is.
  std::string Replaced(std::string_view text, std::string_view rewrite, bool all) const;
  // As long as that may be, and seldom much longer than it is.
  size_t MostBytes(std::string_view text, std::string_view rewrite, bool all) const;

 private:
  std::shared_ptr<ThalwegRe2Pattern> pattern_;
};

}  // namespace thalweg::compute
