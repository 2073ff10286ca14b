// SPDX-License-Identifier: Apache-2.0
// Optimizer: adds the nodes of one training step's update to a graph (papers B2.1: an optimizer is
// graph, not engine).
//
//   ASSIGN_OR_RETURN(Optimizer opt, Optimizer::Create({.kind = "Adam",
//                                                      .numbers = {{"learning_rate", 1e-3}}}));
//   ASSIGN_OR_RETURN(std::vector<GradientAndVariable> gv,
//                    opt.ComputeGradients(&graph, loss, {w, b}));
//   ASSIGN_OR_RETURN(Node* step, opt.ApplyGradients(&graph, gv, global_step, "train"));
//
// State of the optimizer (slots, powers) is made on first use as variables of the graph, named as
// TensorFlow's front end names them ("w/Adam", "w/Adam_1", "beta1_power"), initialized by
// created()[i].initializer. Sparse gradients stay sparse: only the rows they name are written.
// Ownership: nodes belong to the graph, which outlives it; it remembers those it made.
// Threads: one thread at a time.
// Errors: InvalidArgument for an unknown kind or number, a variable or gradient that does not fit;
// those of AddGradients and AddNode.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "thalweg/autodiff/gradients.h"
#include "thalweg/base/status.h"
#include "thalweg/graph/graph.h"
#include "thalweg/training/variable_nodes.h"

namespace thalweg {

struct OptimizerConfig {
  // GradientDescent, Momentum, Adagrad, Adadelta, RMSProp, CenteredRMSProp, Adam, Ftrl,
  // FtrlV2, ProximalGradientDescent or ProximalAdagrad.
  std::string kind;
  std::string name;  // of slots; "": TensorFlow's name for the kind
  // Hyper-parameters by TensorFlow's names ("learning_rate", "momentum", "beta1" ...); the rest
  // keep its defaults.
  std::map<std::string, double> numbers;
  // Scalars computed by the graph (a learning-rate schedule); they count over `numbers`.
  std::map<std::string, Output> tensors;
  bool use_locking = false;
  bool use_nesterov = false;
};

struct GradientAndVariable {
  GradientValue gradient;  // absent: the variable is left alone
  Output variable;         // handle
};

// A variable that an optimizer made: `slot` ("m", "v" ...) of `primary`, or of no variable
// ("beta1_power").
struct SlotVariable {
  std::string slot;
  Output primary;
  VariableNodes nodes;
};

struct OptimizerKind;

class Optimizer {
 public:
  // InvalidArgument for an unknown kind or hyper-parameter; the message lists those there are.
  static Result<Optimizer> Create(OptimizerConfig config);

  // Gradients of `loss` for each variable (handles), absent where the loss does not depend on one.
  Result<std::vector<GradientAndVariable>> ComputeGradients(Graph* graph, Output loss,
                                                            const std::vector<Output>& variables,
                                                            GradientOptions options = {}) const;
  // One node that has run when every variable is updated and `global_step` (may be null) is one
  // higher.
  Result<Node*> ApplyGradients(Graph* graph, const std::vector<GradientAndVariable>& gradients,
                               Output global_step, std::string_view name);
  // Slots and powers made so far, in order.
  const std::vector<SlotVariable>& created() const { return created_; }
  const OptimizerConfig& config() const { return config_; }
  // Where the nodes of the next ApplyGradients come from: Graph::InternSite.
  void set_site(uint32_t site) { site_ = site; }

 private:
  Optimizer(OptimizerConfig config, const OptimizerKind* kind)
      : config_(std::move(config)), kind_(kind) {}
  struct Step;  // one ApplyGradients
  Result<const SlotVariable*> Slot(Graph* graph, const VariableNodes& primary, int slot);
  Result<const SlotVariable*> Power(Graph* graph, std::string_view name, double initial,
                                    const VariableNodes& like);
  double Number(std::string_view name) const;
  Result<Node*> ApplyDense(Step& step, const VariableNodes& variable, Output gradient);
  Result<Node*> ApplySparse(Step& step, const VariableNodes& variable,
                            const GradientValue& gradient);
  Result<Node*> ApplyAdamSparse(Step& step, const VariableNodes& variable,
                                const GradientValue& gradient);
  Result<Node*> ApplyByRow(Step& step, const VariableNodes& variable, const std::string& op,
                           Output gradient, Output indices);
  Result<Output> Argument(Step& step, const VariableNodes& variable, std::string_view name,
                          Output gradient);
  Result<std::vector<Node*>> UpdatePowers(Step& step, const std::vector<Node*>& updates);

  OptimizerConfig config_;
  const OptimizerKind* kind_;
  std::vector<SlotVariable> created_;
  uint32_t site_ = 0;
};

}  // namespace thalweg
