// SPDX-License-Identifier: Apache-2.0
#include "thalweg/session/function_gradients.h"

#include "thalweg/autodiff/gradients.h"

namespace thalweg {

Result<std::vector<Output>> FunctionGradients(Graph* graph, const std::vector<Output>& ys,
                                              const std::vector<Output>& xs,
                                              const std::vector<Output>& grad_ys, const Node* at,
                                              WorkBudget* work) {
  GradientOptions options;
  options.at = at;
  options.work = work;
  if (at != nullptr) {
    options.scope = at->name();
    options.site = at->site();
  }
  options.grad_ys = grad_ys;
  options.allow_unconnected = true;
  ASSIGN_OR_RETURN(const std::vector<GradientValue> found, AddGradients(graph, ys, xs, options));
  GraphBuilder b(graph);
  std::vector<Output> dense;
  for (const GradientValue& value : found) {
    dense.push_back(value.present() ? Densify(b, value) : Output());
  }
  RETURN_IF_ERROR(b.status());
  return dense;
}

}  // namespace thalweg
