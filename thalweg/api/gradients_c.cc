// SPDX-License-Identifier: Apache-2.0
#include "thalweg/api/handles.h"
#include "thalweg/autodiff/gradients.h"

using namespace thalweg;       // NOLINT: the file is glue for this namespace
using namespace thalweg::api;  // NOLINT

namespace thalweg::api {
namespace {

Result<GradientStep> UnwrapStep(const TwGradientStep& given) {
  GradientStep step;
  ASSIGN_OR_RETURN(step.inputs, UnwrapAll(given.inputs, given.num_inputs, "input of a step"));
  ASSIGN_OR_RETURN(step.outputs, UnwrapAll(given.outputs, given.num_outputs, "output of a step"));
  if (given.function == nullptr) return InvalidArgument("a step of gradients has no function");
  const size_t count = step.inputs.size();
  step.function = [function = given.function, argument = given.argument, count](
                      const auto& incoming,
                      const auto& place) -> Result<std::vector<GradientValue>> {
    std::vector<TwGradient> grads;
    for (const GradientValue& value : incoming) grads.push_back(Wrap(value));
    std::vector<TwGradient> made(count);
    const auto* const here = reinterpret_cast<const TwGradientPlace*>(&place);
    const TwCode code = function(argument, here, grads.data(), made.data());
    if (code != TW_OK) return Status(static_cast<Code>(code), "a gradient function failed");
    std::vector<GradientValue> values;
    for (const TwGradient& gradient : made) {
      ASSIGN_OR_RETURN(GradientValue value, UnwrapGradient(gradient));
      values.push_back(value);
    }
    return values;
  };
  return step;
}

}  // namespace

Result<Output> OptionalOutput(TwOutput output, const char* what) {
  return output.node == nullptr ? Output() : UnwrapOutput(output, what);
}

Result<GradientValue> UnwrapGradient(const TwGradient& given) {
  GradientValue gradient;
  ASSIGN_OR_RETURN(gradient.values, OptionalOutput(given.values, "a gradient"));
  ASSIGN_OR_RETURN(gradient.indices, OptionalOutput(given.indices, "the indices of a gradient"));
  ASSIGN_OR_RETURN(gradient.dense_shape,
                   OptionalOutput(given.dense_shape, "the shape of a gradient"));
  return gradient;
}

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
  unwrapped.within = reinterpret_cast<const GradientPlace*>(given.within);
  RETURN_IF_ERROR(CheckArray(given.steps, given.num_steps, "step"));
  for (int32_t i = 0; i < given.num_steps; ++i) {
    ASSIGN_OR_RETURN(GradientStep step, UnwrapStep(given.steps[i]));
    unwrapped.steps.push_back(std::move(step));
  }
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
