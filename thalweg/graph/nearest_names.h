// SPDX-License-Identifier: Apache-2.0
// NearestNames: the names that a user may have meant, for messages about one that does not exist.
//   NearestNames near("MatMull");
//   near.Add("MatMul");
//   near.Add("Abs");
//   near.ToString() == "; nearest: 'MatMul'";
// Looks at edit distance, ignoring case; a name counts when less than a third of it differs.
// Ownership: copies the names that are near.
// Threads: one at a time.
// Errors: none; empty text where nothing is near.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace thalweg {

class NearestNames {
 public:
  explicit NearestNames(std::string_view wanted);
  void Add(std::string_view candidate);
  // Up to three, nearest first; empty text when nothing is near.
  std::string ToString() const;  // "; nearest: 'MatMul', 'Abs'"
  std::string Listed() const;    // "'MatMul', 'Abs'"

 private:
  static constexpr size_t kKept = 3;
  int Distance(std::string_view candidate, int limit);
  std::string wanted_;
  int limit_;
  std::vector<int> row_;
  std::vector<std::pair<int, std::string>> best_;
};

}  // namespace thalweg
