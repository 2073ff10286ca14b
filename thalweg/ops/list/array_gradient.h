// SPDX-License-Identifier: Apache-2.0
// What the gradient functions of the TensorArray operations share.
//
// A float called flow goes through all operations on an array and so orders them. The gradient of a
// read is a write into the gradient array, and gives the flow's gradient; the gradient of a write
// is a read of the gradient array, after all that the flow's gradient has come through.
#pragma once

#include <string>
#include <string_view>

#include "thalweg/graph/gradient_context.h"

namespace thalweg {

// "", "V2" or "V3": the operations on one array are all of one version.
inline std::string ArrayVersion(const Node& node) {
  const std::string_view op = node.op_name();
  return op.ends_with("V3") ? "V3" : op.ends_with("V2") ? "V2" : "";
}

// The name that the gradient arrays of one call of AddGradients have in common: what its nodes'
// names begin with, such as "train/gradients_1".
inline std::string GradientSource(GradientContext& c) {
  std::string_view scope = c.b().prefix();
  if (scope.ends_with('/')) scope.remove_suffix(1);
  // Loops and conditionals add scopes of their own within that of the call.
  size_t begin = 0, found = std::string_view::npos;
  while (begin < scope.size()) {
    const size_t end = std::min(scope.find('/', begin), scope.size());
    if (scope.substr(begin, end - begin).starts_with("gradients")) found = end;
    begin = end + 1;
  }
  if (found != std::string_view::npos) return std::string(scope.substr(0, found));
  const std::string own = StrCat(c.node().name(), "_grad");
  const size_t at = scope.find(own);
  if (at != std::string_view::npos) scope = scope.substr(0, at);
  return std::string(scope);
}

struct GradientArray {
  Output handle;
  Output flow;  // there once the array is
};

// The gradient array of the one that input 0 of the differentiated node names.
inline GradientArray GradientArrayOf(GradientContext& c, const Output& flow) {
  GraphBuilder& b = c.b();
  Node* const made = b.OpNode(StrCat("TensorArrayGrad", ArrayVersion(c.node())), {c.input(0), flow},
                              {{"source", GradientSource(c)}});
  if (made == nullptr) return {};
  return {{made, 0}, b.WithControls({made}).Op("Identity", {flow}, {}, "gradient_flow")};
}

}  // namespace thalweg
