// SPDX-License-Identifier: Apache-2.0
// AddTimeOption: an option of the command whose value is a time with its unit, as 10us, 1.5ms or
// 2min.
//
//   CLI::App verb;
//   int64_t timeout = 60'000'000'000;  // nanoseconds
//   AddTimeOption(verb, "--timeout", &timeout, "How long to wait (60s)");
//
// Ownership: `nanos` outlives the parser's work.
// Threads: the main one.
// Errors: the parser's for what is no time.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>

namespace cli {

// "1.25 ms".
std::string TimeText(int64_t nanos);

// Of `least` to `most` nanoseconds.
constexpr int64_t kLongestTime = 3'000'000'000'000'000'000;  // a hundred years, nearly
CLI::Option* AddTimeOption(CLI::App& verb, const std::string& name, int64_t* nanos,
                           const std::string& does, int64_t least = 0, int64_t most = kLongestTime);

}  // namespace cli
