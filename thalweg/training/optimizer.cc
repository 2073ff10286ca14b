// SPDX-License-Identifier: Apache-2.0
#include "thalweg/training/optimizer.h"

#include <algorithm>

#include "thalweg/training/optimizer_kinds.h"

namespace thalweg {

// What one ApplyGradients shares between variables: constants of hyper-parameters, by type.
struct Optimizer::Step {
  Graph* graph;
  GraphBuilder b;
  std::map<std::pair<std::string, DType>, Output> scalars;
};

namespace {

const OptimizerKind* FindKind(std::string_view kind) {
  for (const OptimizerKind& row : OptimizerKinds()) {
    if (row.kind == kind) return &row;
  }
  return nullptr;
}

bool HasNumber(const OptimizerKind& kind, std::string_view name) {
  return std::any_of(kind.numbers.begin(), kind.numbers.end(),
                     [&](const auto& row) { return row.name == name; });
}

std::string NumberNames(const OptimizerKind& kind) {
  std::string names;
  for (const HyperParameter& row : kind.numbers)
    names += StrCat(names.empty() ? "" : ", ", row.name);
  return names;
}

// The slot that an argument of the table means, or -1.
int SlotIndex(const OptimizerKind& kind, std::string_view argument) {
  constexpr std::string_view kSuffix = "_slot";
  if (!argument.ends_with(kSuffix)) return -1;
  argument.remove_suffix(kSuffix.size());
  for (size_t i = 0; i < kind.slots.size(); ++i) {
    if (kind.slots[i].name == argument) return static_cast<int>(i);
  }
  return -1;
}

// One row per distinct index, summed: row updates must not meet the same row twice.
void SumDuplicateRows(GraphBuilder& b, Output& values, Output& indices) {
  Node* unique = b.OpNode("Unique", {indices});
  if (unique == nullptr) return;
  const Output distinct{unique, 0};
  const Output shape = b.Op("Shape", {distinct});
  const Output count = b.Op("StridedSlice",
                            {shape, b.Const(std::vector<int32_t>{0}),
                             b.Const(std::vector<int32_t>{1}), b.Const(std::vector<int32_t>{1})},
                            {{"shrink_axis_mask", 1}});
  values = b.Op("UnsortedSegmentSum", {values, {unique, 1}, count});
  indices = distinct;
}

}  // namespace

Result<Optimizer> Optimizer::Create(OptimizerConfig config) {
  const OptimizerKind* kind = FindKind(config.kind);
  if (kind == nullptr) {
    std::string known;
    for (const OptimizerKind& row : OptimizerKinds())
      known += StrCat(known.empty() ? "" : ", ", row.kind);
    return InvalidArgument("no optimizer '", config.kind, "'; there are ", known);
  }
  for (const auto& [name, value] : config.numbers) {
    if (!HasNumber(*kind, name)) {
      return InvalidArgument(config.kind, " has no hyper-parameter '", name, "'; it has ",
                             NumberNames(*kind));
    }
  }
  for (const auto& [name, tensor] : config.tensors) {
    if (!HasNumber(*kind, name)) {
      return InvalidArgument(config.kind, " has no hyper-parameter '", name, "'; it has ",
                             NumberNames(*kind));
    }
    if (tensor.node == nullptr)
      return InvalidArgument("hyper-parameter '", name, "' is an empty output");
  }
  if (config.use_nesterov && !kind->has_nesterov)
    return InvalidArgument(config.kind, " has no Nesterov form");
  if (config.name.empty()) config.name = kind->name;
  return Optimizer(std::move(config), kind);
}

double Optimizer::Number(std::string_view name) const {
  if (const auto it = config_.numbers.find(std::string(name)); it != config_.numbers.end())
    return it->second;
  for (const HyperParameter& row : kind_->numbers) {
    if (row.name == name) return row.default_value;
  }
  return name == "1" ? 1.0 : 0.0;
}

Result<std::vector<GradientAndVariable>> Optimizer::ComputeGradients(
    Graph* graph, Output loss, const std::vector<Output>& variables,
    GradientOptions options) const {
  if (variables.empty()) return InvalidArgument("no variables to optimize");
  for (const Output& variable : variables) {
    RETURN_IF_ERROR(VariableOf(variable).status());
  }
  options.allow_unconnected = true;
  ASSIGN_OR_RETURN(std::vector<GradientValue> gradients,
                   AddGradients(graph, {loss}, variables, options));
  std::vector<GradientAndVariable> result;
  for (size_t i = 0; i < variables.size(); ++i) result.push_back({gradients[i], variables[i]});
  return result;
}

Result<const SlotVariable*> Optimizer::Slot(Graph* graph, const VariableNodes& primary, int slot) {
  const SlotKind& row = kind_->slots[static_cast<size_t>(slot)];
  for (const SlotVariable& made : created_) {
    if (made.primary == primary.handle && made.slot == row.name) return &made;
  }
  const PartialShape shape = primary.shape();
  if (!shape.IsFullyDefined()) {
    return InvalidArgument("slot '", row.name, "' of variable '", primary.handle,
                           "' needs a fully defined shape, got ", shape);
  }
  GraphBuilder b = GraphBuilder(graph).WithSite(site_).ColocatedWith(*primary.handle.node);
  const std::string name =
      graph->UniqueName(StrCat(primary.handle.node->name(), "/", config_.name));
  const std::vector<int64_t> sizes(shape.dims().begin(), shape.dims().end());
  const Output initial = b.Op(
      "Fill",
      {b.Const(sizes, StrCat(name, "/Initializer/shape")),
       b.ScalarConst(primary.dtype(), Number(row.initial), StrCat(name, "/Initializer/value"))},
      {}, StrCat(name, "/Initializer/fill"));
  RETURN_IF_ERROR(b.status());
  ASSIGN_OR_RETURN(VariableNodes nodes, AddVariable(b, name, initial, primary.is_resource()));
  created_.push_back({std::string(row.name), primary.handle, nodes});
  return &created_.back();
}

Result<const SlotVariable*> Optimizer::Power(Graph* graph, std::string_view name, double initial,
                                             const VariableNodes& like) {
  for (const SlotVariable& made : created_) {
    if (made.primary.node == nullptr && made.slot == name) return &made;
  }
  GraphBuilder b = GraphBuilder(graph).WithSite(site_).ColocatedWith(*like.handle.node);
  const std::string unique = graph->UniqueName(name);
  const Output value = b.ScalarConst(like.dtype(), initial, StrCat(unique, "/initial_value"));
  RETURN_IF_ERROR(b.status());
  ASSIGN_OR_RETURN(VariableNodes nodes, AddVariable(b, unique, value, like.is_resource()));
  created_.push_back({std::string(name), {}, nodes});
  return &created_.back();
}

Result<Output> Optimizer::Argument(Step& step, const VariableNodes& variable, std::string_view name,
                                   Output gradient) {
  if (name == "var") return variable.handle;
  if (name == "grad") return gradient;
  if (const int slot = SlotIndex(*kind_, name); slot >= 0) {
    ASSIGN_OR_RETURN(const SlotVariable* made, Slot(step.graph, variable, slot));
    return made->nodes.handle;
  }
  Output power;
  if (name == "beta1_power" || name == "beta2_power") {
    ASSIGN_OR_RETURN(const SlotVariable* made,
                     Power(step.graph, name, Number(name.substr(0, 5)), variable));
    if (made->nodes.dtype() == variable.dtype()) return made->nodes.value;
    power = made->nodes.value;  // of the type of the first variable
  }
  const auto key = std::make_pair(std::string(name), variable.dtype());
  if (const auto it = step.scalars.find(key); it != step.scalars.end()) return it->second;
  Output scalar;
  if (power.node != nullptr) {
    scalar = step.b.Op("Cast", {power}, {{"DstT", key.second}}, name);
  } else if (const auto it = config_.tensors.find(key.first); it != config_.tensors.end()) {
    scalar = it->second;
    if (scalar.dtype() != key.second)
      scalar = step.b.Op("Cast", {scalar}, {{"DstT", key.second}}, name);
  } else {
    scalar = step.b.ScalarConst(key.second, Number(name), name);
  }
  step.scalars.emplace(key, scalar);
  return scalar;
}

Result<Node*> Optimizer::ApplyDense(Step& step, const VariableNodes& variable, Output gradient) {
  return ApplyByRow(step, variable,
                    StrCat(variable.is_resource() ? "ResourceApply" : "Apply", kind_->op), gradient,
                    {});
}

// `indices` null: the dense form.
Result<Node*> Optimizer::ApplyByRow(Step& step, const VariableNodes& variable,
                                    const std::string& op, Output gradient, Output indices) {
  std::vector<Output> inputs;
  for (std::string_view name : kind_->arguments) {
    ASSIGN_OR_RETURN(const Output input, Argument(step, variable, name, gradient));
    inputs.push_back(input);
    if (name == "grad" && indices.node != nullptr) inputs.push_back(indices);
  }
  AttrMap attrs = {{"use_locking", config_.use_locking}};
  if (config_.use_nesterov) attrs.Set("use_nesterov", true);
  GraphBuilder b = step.b.ColocatedWith(*variable.handle.node);
  const std::string name = StrCat("update_", variable.handle.node->name(), "/", op);
  Node* node = b.OpNode(op, std::move(inputs), std::move(attrs), name);
  RETURN_IF_ERROR(b.status());
  return node;
}

Result<Node*> Optimizer::ApplySparse(Step& step, const VariableNodes& variable,
                                     const GradientValue& gradient) {
  GraphBuilder b = step.b.Scope(StrCat("update_", variable.handle.node->name()))
                       .ColocatedWith(*variable.handle.node);
  const bool resource = variable.is_resource();
  if (kind_->kind == "GradientDescent") {
    ASSIGN_OR_RETURN(const Output rate, Argument(step, variable, "learning_rate", {}));
    const Output delta = b.Op("Mul", {gradient.values, rate});
    AttrMap attrs;
    if (!resource) attrs.Set("use_locking", config_.use_locking);
    Node* node = b.OpNode(resource ? "ResourceScatterSub" : "ScatterSub",
                          {variable.handle, gradient.indices, delta}, std::move(attrs));
    RETURN_IF_ERROR(b.status());
    return node;
  }
  GradientValue rows = gradient;
  SumDuplicateRows(b, rows.values, rows.indices);
  RETURN_IF_ERROR(b.status());
  if (kind_->kind == "Adam") return ApplyAdamSparse(step, variable, rows);
  return ApplyByRow(step, variable,
                    StrCat(resource ? "ResourceSparseApply" : "SparseApply", kind_->op),
                    rows.values, rows.indices);
}

// Both moments decay everywhere and take in the rows that the gradient names; the step of the
// variable is dense.
Result<Node*> Optimizer::ApplyAdamSparse(Step& step, const VariableNodes& variable,
                                         const GradientValue& rows) {
  GraphBuilder b = step.b.Scope(StrCat("update_", variable.handle.node->name()))
                       .ColocatedWith(*variable.handle.node);
  const bool resource = variable.is_resource();
  std::map<std::string_view, Output> in;
  for (std::string_view name : kind_->arguments) {
    ASSIGN_OR_RETURN(in[name], Argument(step, variable, name, rows.values));
  }
  const Output one = b.ScalarConst(variable.dtype(), 1.0, "one");
  const auto decay_and_add = [&](Output moment, Output decay, Output update) {
    const Output scaled = b.Op("Mul", {update, b.Op("Sub", {one, decay})});
    if (!resource) {
      const Output decayed = b.Op("Assign", {moment, b.Op("Mul", {moment, decay})});
      return b.Op("ScatterAdd", {decayed.node == nullptr ? moment : decayed, rows.indices, scaled});
    }
    const Output read = b.Op("ReadVariableOp", {moment}, {{"dtype", variable.dtype()}});
    Node* assigned = b.OpNode("AssignVariableOp", {moment, b.Op("Mul", {read, decay})});
    if (assigned == nullptr) return Output();
    Node* added =
        b.WithControls({assigned}).OpNode("ResourceScatterAdd", {moment, rows.indices, scaled});
    if (added == nullptr) return Output();
    return b.WithControls({added}).Op("ReadVariableOp", {moment}, {{"dtype", variable.dtype()}});
  };
  const Output m = decay_and_add(in["m_slot"], in["beta1"], rows.values);
  const Output v = decay_and_add(in["v_slot"], in["beta2"], b.Op("Square", {rows.values}));
  const Output correction = b.Op("RealDiv", {b.Op("Sqrt", {b.Op("Sub", {one, in["beta2_power"]})}),
                                             b.Op("Sub", {one, in["beta1_power"]})});
  const Output rate = b.Op("Mul", {in["learning_rate"], correction});
  const Output delta =
      b.Op("RealDiv", {b.Op("Mul", {rate, m}), b.Op("AddV2", {b.Op("Sqrt", {v}), in["epsilon"]})});
  Node* node = b.OpNode(resource ? "AssignSubVariableOp" : "AssignSub", {variable.handle, delta});
  RETURN_IF_ERROR(b.status());
  return node;
}

// Adam's powers advance when every update has read them.
Result<std::vector<Node*>> Optimizer::UpdatePowers(Step& step, const std::vector<Node*>& updates) {
  std::vector<Node*> nodes;
  for (const SlotVariable& power : created_) {
    if (power.primary.node != nullptr) continue;
    GraphBuilder b = step.b.ColocatedWith(*power.nodes.handle.node).WithControls(updates);
    ASSIGN_OR_RETURN(const Output beta,
                     Argument(step, power.nodes, std::string_view(power.slot).substr(0, 5), {}));
    const Output next = b.Op("Mul", {power.nodes.value, beta});
    Node* assign = power.nodes.is_resource()
                       ? b.OpNode("AssignVariableOp", {power.nodes.handle, next})
                       : b.OpNode("Assign", {power.nodes.handle, next},
                                  {{"use_locking", config_.use_locking}});
    RETURN_IF_ERROR(b.status());
    nodes.push_back(assign);
  }
  return nodes;
}

Result<Node*> Optimizer::ApplyGradients(Graph* graph,
                                        const std::vector<GradientAndVariable>& gradients,
                                        Output global_step, std::string_view name) {
  const GraphBuilder root = GraphBuilder(graph).WithSite(site_);
  Step step{graph, root.Scope(name.empty() ? config_.name : std::string(name)), {}};
  std::vector<Node*> updates;
  for (const auto& [gradient, handle] : gradients) {
    if (!gradient.present()) continue;
    ASSIGN_OR_RETURN(const VariableNodes variable, VariableOf(handle));
    if (gradient.values.dtype() != variable.dtype()) {
      return InvalidArgument("the gradient of variable '", handle, "' has type ",
                             gradient.values.dtype(), ", expected ", variable.dtype());
    }
    // In the order of the table, by which they are named.
    for (size_t i = 0; i < kind_->slots.size(); ++i) {
      RETURN_IF_ERROR(Slot(graph, variable, static_cast<int>(i)).status());
    }
    ASSIGN_OR_RETURN(Node * update, gradient.is_sparse()
                                        ? ApplySparse(step, variable, gradient)
                                        : ApplyDense(step, variable, gradient.values));
    updates.push_back(update);
  }
  if (updates.empty()) {
    return InvalidArgument("none of the ", gradients.size(),
                           " variables has a gradient: the loss does not depend on them");
  }
  ASSIGN_OR_RETURN(const std::vector<Node*> powers, UpdatePowers(step, updates));
  updates.insert(updates.end(), powers.begin(), powers.end());
  if (global_step.node == nullptr) {
    Node* done = step.b.Group(updates, "step");
    RETURN_IF_ERROR(step.b.status());
    return done;
  }
  ASSIGN_OR_RETURN(const VariableNodes counter, VariableOf(global_step));
  GraphBuilder b =
      step.b.ColocatedWith(*global_step.node).WithControls({step.b.Group(updates, "update")});
  const Output one = b.ScalarConst(counter.dtype(), 1.0, "value");
  Node* done = b.OpNode(counter.is_resource() ? "AssignAddVariableOp" : "AssignAdd",
                        {global_step, one}, {}, "step");
  RETURN_IF_ERROR(b.status());
  return done;
}

}  // namespace thalweg
