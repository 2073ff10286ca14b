// SPDX-License-Identifier: Apache-2.0
// ReasonsOf: why operations are left out of a test: lines "WHY: OPERATION ..." of a file beside the
// cases.
//
//   // By operation:
//   const std::map<std::string, std::string> without = ReasonsOf("tests/op_cases", "without.txt");
//
// Ownership: none.
// Threads: the test's.
// Errors: failures of the test.
#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <sstream>
#include <string>

namespace thalweg {

inline std::map<std::string, std::string> ReasonsOf(const std::string& folder,
                                                    const std::string& file) {
  std::map<std::string, std::string> reasons;
  std::ifstream lines(folder + "/" + file);
  EXPECT_TRUE(lines.good()) << file;
  for (std::string line; std::getline(lines, line);) {
    if (line.empty() || line[0] == '#') continue;
    const size_t colon = line.find(": ");
    EXPECT_NE(colon, line.npos) << file << ": expected WHY: OPERATION ..., found " << line;
    std::istringstream ops(line.substr(colon + 1));
    for (std::string op; ops >> op;) {
      EXPECT_TRUE(reasons.emplace(op, line.substr(0, colon)).second) << file << ": twice: " << op;
    }
  }
  return reasons;
}

}  // namespace thalweg
