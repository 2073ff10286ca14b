// SPDX-License-Identifier: Apache-2.0
#include "thalweg/api/handles.h"
#include "thalweg/training/optimizer_kinds.h"

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

// `set` on the configuration; nothing where there is none to set or memory runs out.
template <class Set>
void Configure(TwOptimizer* optimizer, const char* parameter, const Set& set) {
  if (optimizer == nullptr || parameter == nullptr) return;
  Guard(nullptr, [&] {
    set(optimizer->config);
    return OkStatus();
  });
}

// Row i of `rows`, or null where there is none.
template <class Row>
const Row* RowOf(const std::vector<Row>& rows, int32_t i) {
  return i >= 0 && static_cast<size_t>(i) < rows.size() ? &rows[static_cast<size_t>(i)] : nullptr;
}

// Row i of a list of kind number `kind`.
template <class Row>
const Row* RowOfKind(int32_t kind, std::vector<Row> OptimizerKind::*rows, int32_t i) {
  const OptimizerKind* found = RowOf(OptimizerKinds(), kind);
  return found == nullptr ? nullptr : RowOf(found->*rows, i);
}

}  // namespace

extern "C" {

TwCode tw_graph_add_variable(TwGraph* graph, const char* name, TwOutput initial_value,
                             int32_t use_resource, TwVariable* variable, TwStatus* status) {
  return Guard(status, [&]() -> Status {
    RETURN_IF_ERROR(RequireAll({{"graph", graph}, {"name", name}, {"variable", variable}}));
    RETURN_IF_ERROR(RequireNoBody(graph, "variables"));
    ASSIGN_OR_RETURN(const Output initial, UnwrapOutput(initial_value, "the initial value"));
    ASSIGN_OR_RETURN(const VariableNodes nodes, AddVariable(GraphBuilder(graph->graph.get()), name,
                                                            initial, use_resource != 0));
    *variable = Wrap(nodes);
    return OkStatus();
  });
}

TwOptimizer* tw_optimizer_new(const char* kind, const char* name) {
  return Quietly<TwOptimizer*>(nullptr, [&] {
    auto optimizer = std::make_unique<TwOptimizer>();
    optimizer->config.kind = kind == nullptr ? "" : kind;
    optimizer->config.name = name == nullptr ? "" : name;
    return optimizer.release();
  });
}
void tw_optimizer_free(TwOptimizer* optimizer) { delete optimizer; }
void tw_optimizer_set_number(TwOptimizer* optimizer, const char* parameter, double value) {
  Configure(optimizer, parameter,
            [&](OptimizerConfig& config) { config.numbers[parameter] = value; });
}
void tw_optimizer_set_tensor(TwOptimizer* optimizer, const char* parameter, TwOutput value) {
  Configure(optimizer, parameter,
            [&](OptimizerConfig& config) { config.tensors[parameter] = Unwrap(value); });
}
void tw_optimizer_set_flags(TwOptimizer* optimizer, int32_t use_locking, int32_t use_nesterov) {
  Configure(optimizer, "", [&](OptimizerConfig& config) {
    config.use_locking = use_locking != 0;
    config.use_nesterov = use_nesterov != 0;
  });
}
void tw_optimizer_set_site(TwOptimizer* optimizer, const char* site) {
  if (optimizer == nullptr) return;
  Guard(nullptr, [&] {
    optimizer->site = site == nullptr ? "" : site;
    return OkStatus();
  });
}

TwCode tw_optimizer_compute_gradients(TwOptimizer* optimizer, TwGraph* graph, TwOutput loss,
                                      const TwOutput* variables, int32_t n,
                                      const TwGradientOptions* options, TwGradient* gradients,
                                      TwStatus* status) {
  return Guard(status, [&]() -> Status {
    RETURN_IF_ERROR(RequireAll({{"optimizer", optimizer}, {"graph", graph}}));
    RETURN_IF_ERROR(CheckArray(gradients, n, "gradient"));
    ASSIGN_OR_RETURN(Optimizer * made, Made(optimizer));
    ASSIGN_OR_RETURN(const std::vector<Output> handles, UnwrapAll(variables, n, "variable"));
    ASSIGN_OR_RETURN(const Output target, UnwrapOutput(loss, "the loss"));
    ASSIGN_OR_RETURN(GradientOptions wanted, UnwrapOptions(*graph->graph, options, 1));
    if (wanted.site == 0) wanted.site = graph->graph->InternSite(optimizer->site);
    ASSIGN_OR_RETURN(const std::vector<GradientAndVariable> result,
                     made->ComputeGradients(graph->graph.get(), target, handles, wanted));
    for (size_t i = 0; i < result.size(); ++i) gradients[i] = Wrap(result[i].gradient);
    return OkStatus();
  });
}

TwCode tw_optimizer_apply_gradients(TwOptimizer* optimizer, TwGraph* graph,
                                    const TwGradient* gradients, const TwOutput* variables,
                                    int32_t n, TwOutput global_step, const char* name,
                                    TwNode** step, TwStatus* status) {
  return Guard(status, [&]() -> Status {
    RETURN_IF_ERROR(RequireAll({{"optimizer", optimizer}, {"graph", graph}, {"step", step}}));
    RETURN_IF_ERROR(RequireNoBody(graph, "variables"));
    RETURN_IF_ERROR(CheckArray(gradients, n, "gradient"));
    ASSIGN_OR_RETURN(Optimizer * made, Made(optimizer));
    ASSIGN_OR_RETURN(const std::vector<Output> handles, UnwrapAll(variables, n, "variable"));
    std::vector<GradientAndVariable> pairs;
    for (int32_t i = 0; i < n; ++i) {
      ASSIGN_OR_RETURN(GradientValue gradient, UnwrapGradient(gradients[i]));
      pairs.push_back({gradient, handles[static_cast<size_t>(i)]});
    }
    ASSIGN_OR_RETURN(const Output counter, OptionalOutput(global_step, "the global step"));
    made->set_site(graph->graph->InternSite(optimizer->site));
    ASSIGN_OR_RETURN(Node * done, made->ApplyGradients(graph->graph.get(), pairs, counter,
                                                       name == nullptr ? "" : name));
    *step = Wrap(done);
    return OkStatus();
  });
}

int32_t tw_optimizer_num_created(const TwOptimizer* optimizer) {
  if (optimizer == nullptr || !optimizer->optimizer) return 0;
  return static_cast<int32_t>(optimizer->optimizer->created().size());
}

void tw_optimizer_created(const TwOptimizer* optimizer, int32_t i, TwVariable* variable,
                          TwOutput* primary, const char** slot) {
  *variable = {};
  *primary = {};
  *slot = "";
  if (i < 0 || i >= tw_optimizer_num_created(optimizer)) return;
  const SlotVariable& made = optimizer->optimizer->created()[static_cast<size_t>(i)];
  *variable = Wrap(made.nodes);
  *primary = Wrap(made.primary);
  *slot = made.slot.c_str();
}

const char* tw_optimizer_kind(int32_t kind, const char** operation, int32_t* has_nesterov) {
  return Quietly<const char*>(nullptr, [&]() -> const char* {
    const OptimizerKind* row = RowOf(OptimizerKinds(), kind);
    if (row == nullptr) return nullptr;
    *operation = row->op.data();
    *has_nesterov = row->has_nesterov ? 1 : 0;
    return row->kind.data();
  });
}

const char* tw_optimizer_kind_argument(int32_t kind, int32_t i) {
  return Quietly<const char*>(nullptr, [&] {
    const std::string_view* row = RowOfKind(kind, &OptimizerKind::arguments, i);
    return row == nullptr ? nullptr : row->data();
  });
}

const char* tw_optimizer_kind_slot(int32_t kind, int32_t i, const char** initial) {
  return Quietly<const char*>(nullptr, [&]() -> const char* {
    const SlotKind* row = RowOfKind(kind, &OptimizerKind::slots, i);
    if (row == nullptr) return nullptr;
    *initial = row->initial.data();
    return row->name.data();
  });
}

const char* tw_optimizer_kind_number(int32_t kind, int32_t i, double* default_value) {
  return Quietly<const char*>(nullptr, [&]() -> const char* {
    const HyperParameter* row = RowOfKind(kind, &OptimizerKind::numbers, i);
    if (row == nullptr) return nullptr;
    *default_value = row->default_value;
    return row->name.data();
  });
}

}  // extern "C"
