// SPDX-License-Identifier: Apache-2.0
// PlacementExplanation: why a node is on its device: a chain of reasons and, where nodes were
// placed by cost or the costs were asked for, what the step would take with it elsewhere.
//
//   PlacementExplanation why{.node = "MatMul 'y'", .device = "/device:CPU:0"};
//   why.reasons.push_back("it asks for no device");
//   std::string text = why.Text();   // for people
//
// Ownership: a value.
// Threads: any; no state.
// Errors: none; `error` says why there is no device.
#pragma once

#include <string>
#include <vector>

namespace thalweg {

// With the node, and all that must be where it is, on one of the devices.
struct PlacementAlternative {
  std::string device;
  bool is_possible = false;
  bool is_chosen = false;
  double step_seconds = 0;   // that the simulated step takes
  double node_seconds = 0;   // of the node itself
  std::string why;           // of these: "3 ms, measured"
  std::string rates;         // what it, and its link to the chosen one, can do: "50 Gop/s, ..."
  double missing_bytes = 0;  // by which devices are too small then
};

struct PlacementExplanation {
  std::string node;  // its operation and name, and where the user made it
  std::string device;
  std::string error;  // where there is no device
  std::vector<std::string> reasons;
  std::string compared;  // what the alternatives are compared by, in words
  std::vector<PlacementAlternative> alternatives;

  std::string Text() const;
};

}  // namespace thalweg
