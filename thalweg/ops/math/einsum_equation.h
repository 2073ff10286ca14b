// SPDX-License-Identifier: Apache-2.0
// EinsumEquation: "ij,...jk->...ik" read into labels.
//
//   ASSIGN_OR_RETURN(const EinsumEquation equation, EinsumEquation::Parse("ij,jk->ik"));
//   ASSIGN_OR_RETURN(const EinsumLabels labels, equation.Expand({2, 2}));  // ranks of the inputs
//
// A label is any one character but the dot; kEllipsis stands for "...", the dimensions that
// broadcast.
// Ownership: a value.
// Threads: const members from any.
// Errors: InvalidArgument, with TensorFlow's words where users look for them.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "thalweg/base/status.h"

namespace thalweg {

// One label per dimension. Those of an ellipsis are kBroadcast + 0, 1, ... counted from the last.
struct EinsumLabels {
  static constexpr int kBroadcast = 256;
  std::vector<std::vector<int>> inputs;
  std::vector<int> output;
};

struct EinsumEquation {
  static constexpr char kEllipsis = '.';
  std::vector<std::string> inputs;
  std::string output;

  static Result<EinsumEquation> Parse(std::string_view text) {
    const size_t arrow = text.find("->");
    if (arrow == text.npos || text.find("->", arrow + 2) != text.npos) {
      return InvalidArgument("Expecting exactly one '->' in einsum equation: ", text);
    }
    EinsumEquation made;
    std::string_view left = text.substr(0, arrow);
    for (;;) {
      const size_t comma = left.find(',');
      ASSIGN_OR_RETURN(std::string labels, Labels(left.substr(0, comma), text));
      made.inputs.push_back(std::move(labels));
      if (comma == left.npos) break;
      left.remove_prefix(comma + 1);
    }
    if (made.inputs.size() > 2) {
      return InvalidArgument("Expecting 1 or 2 input subscripts in equation '", text,
                             "' but got: ", made.inputs.size());
    }
    ASSIGN_OR_RETURN(made.output, Labels(text.substr(arrow + 2), text));
    for (const char label : made.output) {
      const bool known =
          std::any_of(made.inputs.begin(), made.inputs.end(),
                      [&](const std::string& input) { return input.find(label) != input.npos; });
      if (label != kEllipsis && !known) {
        return InvalidArgument("label '", std::string(1, label),
                               "' of the output is in no input of '", text, "'");
      }
    }
    return made;
  }

  // "a...b" for labels with an ellipsis between them.
  static std::string Text(const std::string& labels) {
    std::string text;
    for (const char label : labels) text += label == kEllipsis ? "..." : std::string(1, label);
    return text;
  }

  // The labels of every dimension.
  Result<EinsumLabels> Expand(const std::vector<int>& ranks) const {
    if (ranks.size() != inputs.size()) {
      return InvalidArgument("Expected ", inputs.size(), " inputs but got: ", ranks.size());
    }
    EinsumLabels made;
    int most = 0;
    for (size_t i = 0; i < inputs.size(); ++i) {
      const bool dots = inputs[i].find(kEllipsis) != std::string::npos;
      const int named = static_cast<int>(inputs[i].size()) - (dots ? 1 : 0);
      if (dots ? ranks[i] < named : ranks[i] != named) {
        return InvalidArgument("Expected input ", i, " to have rank ", dots ? "at least " : "",
                               named, " but got: ", ranks[i]);
      }
      most = std::max(most, ranks[i] - named);
      made.inputs.push_back(Spread(inputs[i], ranks[i] - named));
    }
    if (most > 0 && output.find(kEllipsis) == std::string::npos) {
      return InvalidArgument("Output contains ", most,
                             " broadcasting dimension(s) but no ellipsis "
                             "(...) was found in the output subscripts.");
    }
    made.output = Spread(output, most);
    return made;
  }

 private:
  // Without commas; "..." as kEllipsis.
  static Result<std::string> Labels(std::string_view part, std::string_view text) {
    std::string labels;
    while (!part.empty()) {
      const bool dots = part.substr(0, 3) == "...";
      const bool twice = dots && labels.find(kEllipsis) != std::string::npos;
      if ((part.front() == kEllipsis && !dots) || twice || part.front() == ',') {
        return InvalidArgument("einsum equation '", text,
                               "': subscripts are labels and at most one "
                               "ellipsis (...), got '",
                               part, "'");
      }
      labels += part.front();
      part.remove_prefix(dots ? 3 : 1);
    }
    return labels;
  }

  static std::vector<int> Spread(const std::string& labels, int broadcast) {
    std::vector<int> spread;
    for (const char label : labels) {
      if (label != kEllipsis) {
        spread.push_back(static_cast<unsigned char>(label));
        continue;
      }
      for (int k = broadcast - 1; k >= 0; --k) spread.push_back(EinsumLabels::kBroadcast + k);
    }
    return spread;
  }
};

}  // namespace thalweg
