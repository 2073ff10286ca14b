// SPDX-License-Identifier: Apache-2.0
// Thalweg for C++: a graph, to which nodes are added like expressions.
// A part of thalweg.h, which programs include.
//
//   tw::Graph g(env);
//   tw::Output x = g.Placeholder("x", tw::kFloat, {-1, 2});
//   tw::Output y = x * x + g.Scalar(1.0f);
//   std::vector<tw::Gradient> dy = g.Gradients({y}, {x});
//
// Ownership: owns its nodes; may go before its sessions.
// Threads: one at a time.
// Errors: the first one sticks (status()); later calls do nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "thalweg/attr.h"
#include "thalweg/c_api.h"
#include "thalweg/environment.h"
#include "thalweg/output.h"
#include "thalweg/tensor.h"

namespace tw {

namespace internal {

// A function's body under construction, which its graph owns, and what it gives.
struct BuiltBody {
  TwGraph* body = nullptr;
  std::vector<TwOutput> results{};
  TwBranch branch() const { return {body, results.data(), static_cast<int32_t>(results.size())}; }
};

}  // namespace internal

class Graph {
 public:
  explicit Graph(const Environment& environment) : environment_(environment) {
    internal::StatusHolder status;
    handle_.reset(tw_graph_new(environment.c(), status.c));
    current_ = handle_.get();
    Note(status.Take());
  }
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  // The first error of all that was built so far.
  const Status& status() const { return status_; }
  const Environment& environment() const { return environment_; }
  // Where nodes are added: while a function is made, its body.
  TwGraph* c() const { return current_; }

  // A node of any operation; inputs are flat, in the schema's order. Null after an error.
  Node AddNode(const std::string& op, const std::vector<Output>& inputs,
               const std::vector<Attr>& attrs = {}, const std::string& name = "",
               const std::vector<Node>& control_inputs = {}) {
    if (!status_.ok()) return nullptr;
    TwNodeBuilder* builder = tw_node_builder_new(c(), op.c_str(), name.c_str());
    for (const Output& input : inputs) tw_node_builder_input(builder, input.c());
    for (Node before : control_inputs) tw_node_builder_control(builder, before);
    if (!device_.empty()) tw_node_builder_device(builder, device_.c_str());
    if (!site_.empty()) tw_node_builder_site(builder, site_.c_str());
    for (const Attr& attr : attrs) attr.Set(builder);
    internal::StatusHolder status;
    Node node = tw_node_builder_finish(builder, status.c);
    Note(status.Take());
    return node;
  }
  // Output 0 of a node of any operation.
  Output Op(const std::string& op, const std::vector<Output>& inputs,
            const std::vector<Attr>& attrs = {}, const std::string& name = "") {
    return {this, {AddNode(op, inputs, attrs, name), 0}};
  }
  // Nodes added from now on ask for this device; "" for none.
  void SetDevice(const std::string& device) { device_ = device; }
  const std::string& device() const { return device_; }
  // Errors of nodes added from now on say that they were made there, "train.cc:41"; "" for nothing.
  void SetSite(const std::string& site) { site_ = site; }
  const std::string& site() const { return site_; }

  Output Placeholder(const std::string& name, DataType dtype, const std::vector<int64_t>& shape) {
    return Op("Placeholder", {}, {{"dtype", dtype}, Attr::Shape("shape", shape)}, name);
  }
  Output Const(const Tensor& value, const std::string& name = "") {
    return Op("Const", {}, {{"dtype", value.dtype()}, {"value", value}}, name);
  }
  template <class T>
  Output Const(std::initializer_list<T> values, const std::vector<int64_t>& shape) {
    return Const(Tensor::Of<T>(values, shape));
  }
  // A vector of strings: the names of files.
  Output Strings(const std::vector<std::string>& texts) {
    return Const(Tensor::Strings(texts, {static_cast<int64_t>(texts.size())}));
  }
  template <class T>
  Output Scalar(T value) {
    return Const(Tensor::Scalar<T>(value));
  }
  // A variable that starts as `initial_value`; run its initializer once.
  tw::Variable Variable(const std::string& name, const Output& initial_value,
                        bool resource = false) {
    tw::Variable variable;
    if (!status_.ok()) return variable;
    TwVariable made = {};
    internal::StatusHolder status;
    tw_graph_add_variable(c(), name.c_str(), initial_value.c(), resource, &made, status.c);
    Note(status.Take());
    return {{this, made.handle}, made.initializer, {this, made.value}};
  }
  // Runs when all of `nodes` have run.
  Node Group(const std::vector<Node>& nodes, const std::string& name = "") {
    return AddNode("NoOp", {}, {}, name, nodes);
  }

  // A function: `build` gets its arguments and gives its results; until it returns, what is added
  // to this graph is added to the function's body. What it reads from outside are its captures.
  // Equal functions are one.
  tw::Function Function(const std::string& name, const std::vector<TensorSpec>& arguments,
                        const std::function<Outputs(const Outputs&)>& build) {
    tw::Function made;
    const internal::BuiltBody built = BuildBody(arguments, build);
    if (!status_.ok()) return made;
    internal::StatusHolder status;
    Result<std::string> defined = internal::TextOf(
        tw_function_define(built.body, name.c_str(), 1, built.results.data(),
                           static_cast<int32_t>(built.results.size()), nullptr, status.c),
        status);
    Note(defined.status());
    if (!defined.ok()) return made;
    made.name = std::move(defined.value());
    for (const TwOutput& result : built.results) {
      made.results.push_back(TensorSpec::Of({this, result}));
    }
    for (int32_t i = 0; i < tw_function_num_captures(built.body); ++i) {
      made.captures.push_back({this, tw_function_capture(built.body, i)});
    }
    return made;
  }

  // The body of a function that is not defined yet, and its results: for what defines several
  // together (control_flow.h). No body after an error.
  internal::BuiltBody BuildBody(const std::vector<TensorSpec>& arguments,
                                const std::function<Outputs(const Outputs&)>& build) {
    internal::BuiltBody built;
    if (!status_.ok()) return built;
    internal::StatusHolder status;
    built.body = tw_function_body_new(c(), status.c);
    Note(status.Take());
    if (built.body == nullptr) return built;
    Keep({built.body, &tw_graph_free});  // outputs of it may be held by the program
    const Inside inside(this, built.body);
    Outputs given;
    for (const TensorSpec& spec : arguments) {
      const std::string argument = "arg_" + std::to_string(given.size());
      given.push_back({this, tw_function_argument(built.body, argument.c_str(), spec.dtype,
                                                  spec.shape.data(), spec.rank(), status.c)});
      Note(status.Take());
    }
    built.results = Unwrap(build(given));
    return built;
  }
  // A node over such bodies, added by `add`, with so many results; none after an error.
  Outputs AddControlFlow(
      size_t num_results, const std::string& name, int64_t parallel_iterations,
      const std::function<void(const TwControlFlowOptions&, TwOutput*, TwStatus*)>& add) {
    std::vector<TwOutput> made(num_results, TwOutput{nullptr, 0});
    if (status_.ok()) {
      TwControlFlowOptions options = {};
      options.struct_size = sizeof(options);
      options.name = name.c_str();
      options.device = device_.c_str();
      options.site = site_.empty() ? nullptr : site_.c_str();
      options.parallel_iterations = parallel_iterations;
      internal::StatusHolder status;
      add(options, made.data(), status.c);
      Note(status.Take());
    }
    Outputs outputs;
    for (const TwOutput& output : made) outputs.push_back({this, output});
    return outputs;
  }

  // The derivative of the sum of `ys` for each of `xs`. An x that ys do not depend on is an error
  // that shows where the path breaks.
  std::vector<Gradient> Gradients(const std::vector<Output>& ys, const std::vector<Output>& xs) {
    std::vector<TwGradient> found(xs.size());
    if (status_.ok()) {
      const std::vector<TwOutput> y = Unwrap(ys), x = Unwrap(xs);
      internal::StatusHolder status;
      tw_graph_gradients(c(), y.data(), static_cast<int32_t>(y.size()), x.data(),
                         static_cast<int32_t>(x.size()), nullptr, found.data(), status.c);
      Note(status.Take());
    }
    std::vector<Gradient> gradients;
    for (const TwGradient& g : found)
      gradients.push_back({{this, g.values}, {this, g.indices}, {this, g.dense_shape}});
    return gradients;
  }

  // A GraphDef message, binary or text, and back.
  Result<std::string> Export(bool text = false) const {
    internal::StatusHolder status;
    return internal::TextOf(tw_graph_export(c(), text, status.c), status);
  }
  Status Import(const std::string& graph_def, bool text = false, const std::string& prefix = "") {
    TwImportOptions options = {};
    options.struct_size = sizeof(options);
    options.prefix = prefix.c_str();
    internal::StatusHolder status;
    tw_graph_import(c(), graph_def.data(), graph_def.size(), text, &options, nullptr, status.c);
    return status.Take();
  }
  // "name" or "name:port".
  Result<Output> Find(const std::string& name) {
    TwOutput found;
    internal::StatusHolder status;
    if (tw_graph_find_output(c(), name.c_str(), &found, status.c) != TW_OK) return status.Take();
    return Output(this, found);
  }

  // Keeps the first error.
  void Note(const Status& status) {
    if (status_.ok()) status_ = status;
  }
  // Adds nodes to a body as long as it lives.
  struct Inside {
    Inside(Graph* graph, TwGraph* body) : graph_(graph), outside_(graph->current_) {
      graph->current_ = body;
    }
    Inside(const Inside&) = delete;
    Inside& operator=(const Inside&) = delete;
    ~Inside() { graph_->current_ = outside_; }
    Graph* graph_;
    TwGraph* outside_;
  };
  // Frees it with the graph.
  void Keep(std::shared_ptr<void> kept) { kept_.push_back(std::move(kept)); }
  static std::vector<TwOutput> Unwrap(const std::vector<Output>& outputs) {
    std::vector<TwOutput> all;
    for (const Output& output : outputs) all.push_back(output.c());
    return all;
  }

 private:
  Environment environment_;
  internal::Handle<TwGraph, &tw_graph_free> handle_;
  std::vector<std::shared_ptr<void>> kept_;
  TwGraph* current_ = nullptr;  // handle_ or the body of a function
  Status status_;
  std::string device_;
  std::string site_;
};

inline Output operator+(const Output& a, const Output& b) { return a.graph()->Op("AddV2", {a, b}); }
inline Output operator-(const Output& a, const Output& b) { return a.graph()->Op("Sub", {a, b}); }
inline Output operator*(const Output& a, const Output& b) { return a.graph()->Op("Mul", {a, b}); }
inline Output operator/(const Output& a, const Output& b) {
  return a.graph()->Op("RealDiv", {a, b});
}
inline Output operator-(const Output& a) { return a.graph()->Op("Neg", {a}); }

}  // namespace tw
