// SPDX-License-Identifier: Apache-2.0
// What the gradient functions of the TensorArray operations share.
//
// A float called flow goes through all operations on an array and so orders them. The gradient of a
// read is a write into the gradient array, and gives the flow's gradient; the gradient of a write
// is a read of the gradient array, after all that the flow's gradient has come through.
// Ownership: nodes belong to the graph.
// Threads: those of the gradient context: one at a time.
// Errors: stick in the context's builder.
#pragma once

#include <string>
#include <string_view>

#include "thalweg/base/str_cat.h"
#include "thalweg/graph/gradient_context.h"

namespace thalweg {

// "", "V2" or "V3": the operations on one array are all of one version.
inline std::string ArrayVersion(const Node& node) {
  const std::string_view op = node.op_name();
  return op.ends_with("V3") ? "V3" : op.ends_with("V2") ? "V2" : "";
}

// Takes "/NAME_grad", as the gradient of a node of that name is scoped, perhaps numbered, from the
// end of `scope`; false when it does not end so.
inline bool StripGradientScope(std::string_view name, std::string_view& scope) {
  std::string_view rest = scope;
  const size_t digits = rest.find_last_not_of("0123456789");
  if (digits != std::string_view::npos && digits + 1 < rest.size() && rest[digits] == '_' &&
      !rest.ends_with(StrCat(name, "_grad"))) {
    rest = rest.substr(0, digits);
  }
  const std::string own = StrCat(name, "_grad");
  if (!rest.ends_with(own)) return false;
  rest.remove_suffix(own.size());
  if (!rest.empty() && !rest.ends_with('/')) return false;
  if (!rest.empty()) rest.remove_suffix(1);
  scope = rest;
  return true;
}

// The name that the gradient arrays of one call of AddGradients have in common: the scope of its
// nodes, such as "train/gradients_1". Within it the gradients of a node, and of the loops that the
// node is in, have scopes of their own.
inline std::string GradientSource(GradientContext& c) {
  std::string_view scope = c.b().prefix();
  if (scope.ends_with('/')) scope.remove_suffix(1);
  StripGradientScope(c.node().name(), scope);
  bool stripped = true;
  while (stripped) {
    stripped = false;
    // A loop is named by its condition, the longest name that fits.
    for (size_t at = scope.find('/'); at != std::string_view::npos && !stripped;
         at = scope.find('/', at + 1)) {
      const size_t end = scope.rfind("_grad");
      if (end == std::string_view::npos || end <= at) break;
      const std::string name(scope.substr(at + 1, end - at - 1));
      const Node* const loop = c.b().graph().FindNode(name);
      if (loop != nullptr && loop->op_name() == "LoopCond") {
        stripped = StripGradientScope(name, scope);
      }
    }
  }
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
