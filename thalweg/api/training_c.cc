// SPDX-License-Identifier: Apache-2.0
#include "thalweg/api/handles.h"

using namespace thalweg;       // NOLINT: the file is glue for this namespace
using namespace thalweg::api;  // NOLINT

namespace {

Result<Optimizer*> Made(TwOptimizer* optimizer) {
  if (!optimizer->optimizer) {
    ASSIGN_OR_RETURN(Optimizer made, Optimizer::Create(optimizer->config));
    optimizer->optimizer.emplace(std::move(made));
  }
  return &*optimizer->optimizer;
}

}  // namespace

extern "C" {

TwCode tw_graph_add_variable(TwGraph* graph, const char* name, TwOutput initial_value,
                             int32_t use_resource, TwVariable* variable, TwStatus* status) {
  return Guard(status, [&]() -> Status {
    ASSIGN_OR_RETURN(const VariableNodes nodes,
                     AddVariable(GraphBuilder(graph->graph.get()), name, Unwrap(initial_value),
                                 use_resource != 0));
    *variable = Wrap(nodes);
    return OkStatus();
  });
}

TwOptimizer* tw_optimizer_new(const char* kind, const char* name) {
  auto optimizer = std::make_unique<TwOptimizer>();
  optimizer->config.kind = kind;
  optimizer->config.name = name == nullptr ? "" : name;
  return optimizer.release();
}
void tw_optimizer_free(TwOptimizer* optimizer) { delete optimizer; }
void tw_optimizer_set_number(TwOptimizer* optimizer, const char* parameter, double value) {
  optimizer->config.numbers[parameter] = value;
}
void tw_optimizer_set_tensor(TwOptimizer* optimizer, const char* parameter, TwOutput value) {
  optimizer->config.tensors[parameter] = Unwrap(value);
}
void tw_optimizer_set_flags(TwOptimizer* optimizer, int32_t use_locking, int32_t use_nesterov) {
  optimizer->config.use_locking = use_locking != 0;
  optimizer->config.use_nesterov = use_nesterov != 0;
}

TwCode tw_optimizer_compute_gradients(TwOptimizer* optimizer, TwGraph* graph, TwOutput loss,
                                      const TwOutput* variables, int32_t n,
                                      const TwGradientOptions* options, TwGradient* gradients,
                                      TwStatus* status) {
  return Guard(status, [&]() -> Status {
    ASSIGN_OR_RETURN(Optimizer * made, Made(optimizer));
    ASSIGN_OR_RETURN(const std::vector<Output> handles, UnwrapAll(variables, n, "variable"));
    ASSIGN_OR_RETURN(const std::vector<Output> losses, UnwrapAll(&loss, 1, "loss"));
    ASSIGN_OR_RETURN(const std::vector<GradientAndVariable> result,
                     made->ComputeGradients(graph->graph.get(), losses.front(), handles,
                                            UnwrapOptions(options, 1)));
    for (size_t i = 0; i < result.size(); ++i) gradients[i] = Wrap(result[i].gradient);
    return OkStatus();
  });
}

TwCode tw_optimizer_apply_gradients(TwOptimizer* optimizer, TwGraph* graph,
                                    const TwGradient* gradients, const TwOutput* variables,
                                    int32_t n, TwOutput global_step, const char* name,
                                    TwNode** step, TwStatus* status) {
  return Guard(status, [&]() -> Status {
    ASSIGN_OR_RETURN(Optimizer * made, Made(optimizer));
    std::vector<GradientAndVariable> pairs;
    for (int32_t i = 0; i < n; ++i) {
      const TwGradient& g = gradients[i];
      pairs.push_back(
          {{Unwrap(g.values), Unwrap(g.indices), Unwrap(g.dense_shape)}, Unwrap(variables[i])});
    }
    ASSIGN_OR_RETURN(Node * done,
                     made->ApplyGradients(graph->graph.get(), pairs, Unwrap(global_step),
                                          name == nullptr ? "" : name));
    *step = Wrap(done);
    return OkStatus();
  });
}

int32_t tw_optimizer_num_created(const TwOptimizer* optimizer) {
  return optimizer->optimizer ? static_cast<int32_t>(optimizer->optimizer->created().size()) : 0;
}

void tw_optimizer_created(const TwOptimizer* optimizer, int32_t i, TwVariable* variable,
                          TwOutput* primary, const char** slot) {
  const SlotVariable& made = optimizer->optimizer->created()[static_cast<size_t>(i)];
  *variable = Wrap(made.nodes);
  *primary = Wrap(made.primary);
  *slot = made.slot.c_str();
}

}  // extern "C"
