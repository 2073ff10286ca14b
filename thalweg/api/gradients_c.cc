// SPDX-License-Identifier: Apache-2.0
#include "thalweg/api/handles.h"
#include "thalweg/autodiff/gradients.h"

using namespace thalweg;       // NOLINT: the file is glue for this namespace
using namespace thalweg::api;  // NOLINT

namespace thalweg::api {

Result<GradientOptions> UnwrapOptions(Graph& graph, const TwGradientOptions* options,
                                      size_t num_ys) {
  const TwGradientOptions given = CopyOptions(options, TwGradientOptions{});
  GradientOptions unwrapped;
  for (size_t i = 0; i < num_ys && given.grad_ys != nullptr; ++i) {
    Output grad;
    if (given.grad_ys[i].node != nullptr) {
      ASSIGN_OR_RETURN(grad, UnwrapOutput(given.grad_ys[i], "the incoming gradient of a y"));
    }
    unwrapped.grad_ys.push_back(grad);
  }
  ASSIGN_OR_RETURN(unwrapped.stop_gradients,
                   UnwrapAll(given.stop_gradients, given.num_stop_gradients, "stop gradient"));
  unwrapped.allow_unconnected = given.allow_unconnected != 0;
  unwrapped.colocate = given.colocate != 0;
  if (given.scope != nullptr) unwrapped.scope = given.scope;
  if (given.site != nullptr) unwrapped.site = graph.InternSite(given.site);
  return unwrapped;
}

}  // namespace thalweg::api

extern "C" TwCode tw_graph_gradients(TwGraph* graph, const TwOutput* ys, int32_t num_ys,
                                     const TwOutput* xs, int32_t num_xs,
                                     const TwGradientOptions* options, TwGradient* gradients,
                                     TwStatus* status) {
  return Guard(status, [&]() -> Status {
    RETURN_IF_ERROR(RequireAll({{"graph", graph}}));
    RETURN_IF_ERROR(CheckArray(gradients, num_xs, "gradient"));
    ASSIGN_OR_RETURN(const std::vector<Output> y, UnwrapAll(ys, num_ys, "y"));
    ASSIGN_OR_RETURN(const std::vector<Output> x, UnwrapAll(xs, num_xs, "x"));
    ASSIGN_OR_RETURN(const GradientOptions wanted, UnwrapOptions(*graph->graph, options, y.size()));
    ASSIGN_OR_RETURN(const std::vector<GradientValue> result,
                     AddGradients(graph->graph.get(), y, x, wanted));
    for (size_t i = 0; i < result.size(); ++i) {
      gradients[i] = Wrap(result[i]);
    }
    return OkStatus();
  });
}
