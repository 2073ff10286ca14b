// SPDX-License-Identifier: Apache-2.0
#include "thalweg/api/handles.h"
#include "thalweg/autodiff/gradients.h"

using namespace thalweg;       // NOLINT: the file is glue for this namespace
using namespace thalweg::api;  // NOLINT

namespace thalweg::api {

GradientOptions UnwrapOptions(const TwGradientOptions* options, size_t num_ys) {
  const TwGradientOptions given = CopyOptions(options, TwGradientOptions{});
  GradientOptions unwrapped;
  if (given.grad_ys != nullptr) {
    for (size_t i = 0; i < num_ys; ++i) unwrapped.grad_ys.push_back(Unwrap(given.grad_ys[i]));
  }
  for (int32_t i = 0; i < given.num_stop_gradients; ++i) {
    unwrapped.stop_gradients.push_back(Unwrap(given.stop_gradients[i]));
  }
  unwrapped.allow_unconnected = given.allow_unconnected != 0;
  unwrapped.colocate = given.colocate != 0;
  if (given.scope != nullptr) unwrapped.scope = given.scope;
  return unwrapped;
}

}  // namespace thalweg::api

extern "C" TwCode tw_graph_gradients(TwGraph* graph, const TwOutput* ys, int32_t num_ys,
                                     const TwOutput* xs, int32_t num_xs,
                                     const TwGradientOptions* options, TwGradient* gradients,
                                     TwStatus* status) {
  return Guard(status, [&]() -> Status {
    ASSIGN_OR_RETURN(const std::vector<Output> y, UnwrapAll(ys, num_ys, "y"));
    ASSIGN_OR_RETURN(const std::vector<Output> x, UnwrapAll(xs, num_xs, "x"));
    ASSIGN_OR_RETURN(const std::vector<GradientValue> result,
                     AddGradients(graph->graph.get(), y, x, UnwrapOptions(options, y.size())));
    for (size_t i = 0; i < result.size(); ++i) {
      gradients[i] = Wrap(result[i]);
    }
    return OkStatus();
  });
}
