// SPDX-License-Identifier: Apache-2.0
// Thalweg for C++: optimizers, which add one step of training to a graph.
// A part of thalweg.h, which programs include.
//
//   tw::Optimizer adam = tw::Optimizer::Adam(0.001);
//   tw::Node step = adam.Minimize(loss, {w});
//   session.Run({}, {}, adam.Initializers()).OrThrow();
//
// Ownership: unique; what it adds is the graph's.
// Threads: one at a time.
// Errors: stick to the graph.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "thalweg/c_api.h"
#include "thalweg/graph.h"

namespace tw {

// An optimizer by its name ("GradientDescent", "Momentum", "Adagrad", "Adadelta", "RMSProp", "Adam"
// ...) with TensorFlow's hyper-parameters.
class Optimizer {
 public:
  explicit Optimizer(const std::string& kind,
                     const std::vector<std::pair<std::string, double>>& numbers = {})
      : handle_(tw_optimizer_new(kind.c_str(), nullptr)) {
    for (const auto& [name, value] : numbers) tw_optimizer_set_number(c(), name.c_str(), value);
  }
  static Optimizer GradientDescent(double rate) {
    return Optimizer("GradientDescent", {{"learning_rate", rate}});
  }
  static Optimizer Momentum(double rate, double momentum, bool nesterov = false) {
    Optimizer made("Momentum", {{"learning_rate", rate}, {"momentum", momentum}});
    tw_optimizer_set_flags(made.c(), 0, nesterov);
    return made;
  }
  static Optimizer Adagrad(double rate) { return Optimizer("Adagrad", {{"learning_rate", rate}}); }
  static Optimizer Adadelta(double rate = 0.001) {
    return Optimizer("Adadelta", {{"learning_rate", rate}});
  }
  static Optimizer RMSProp(double rate) { return Optimizer("RMSProp", {{"learning_rate", rate}}); }
  static Optimizer Adam(double rate = 0.001) {
    return Optimizer("Adam", {{"learning_rate", rate}});
  }

  // A hyper-parameter that the graph computes (a learning-rate schedule).
  void Set(const std::string& parameter, const Output& value) {
    tw_optimizer_set_tensor(c(), parameter.c_str(), value.c());
  }
  // One node that makes one step of training when it runs. Errors stick to the graph.
  Node Minimize(const Output& loss, const std::vector<Variable>& variables) {
    Graph* graph = loss.graph();
    std::vector<TwOutput> handles;
    for (const Variable& v : variables) handles.push_back(v.handle.c());
    std::vector<TwGradient> gradients(handles.size());
    const auto n = static_cast<int32_t>(handles.size());
    Node step = nullptr;
    if (!graph->status().ok()) return step;
    internal::StatusHolder status;
    if (tw_optimizer_compute_gradients(c(), graph->c(), loss.c(), handles.data(), n, nullptr,
                                       gradients.data(), status.c) == TW_OK) {
      tw_optimizer_apply_gradients(c(), graph->c(), gradients.data(), handles.data(), n,
                                   TwOutput{nullptr, 0}, nullptr, &step, status.c);
    }
    graph->Note(status.Take());
    return step;
  }
  // Initializers of the variables that Minimize made (slots, powers).
  std::vector<Node> Initializers() const {
    std::vector<Node> nodes;
    for (int32_t i = 0; i < tw_optimizer_num_created(c()); ++i) {
      TwVariable variable;
      TwOutput primary;
      const char* slot;
      tw_optimizer_created(c(), i, &variable, &primary, &slot);
      nodes.push_back(variable.initializer);
    }
    return nodes;
  }
  TwOptimizer* c() const { return handle_.get(); }

 private:
  internal::Handle<TwOptimizer, &tw_optimizer_free> handle_;
};

}  // namespace tw
