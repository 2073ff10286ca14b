// SPDX-License-Identifier: Apache-2.0
// Thalweg for C++: graphs, gradients, optimizers and sessions as values, header-only over the C ABI
// (c_api.h).
//
//   tw::Environment env = tw::Environment::Create().OrThrow();
//   tw::Graph g(env);
//   tw::Output x = g.Placeholder("x", tw::kFloat, {-1, 2});
//   tw::Variable w = g.Variable("w", g.Const<float>({1, 2}, {2, 1}));
//   tw::Output y = g.Op("MatMul", {x, w});
//   tw::Session session = tw::Session::Create(g).OrThrow();
//   session.Run({}, {}, {w.initializer}).OrThrow();
//   std::vector<tw::Tensor> out =
//       session.Run({{x, tw::Tensor::Of<float>({3, 4}, {1, 2})}}, {y}).OrThrow();
//
// Errors: functions return Status or Result<T>; OrThrow() turns an error into the exception
// tw::Error. Building is written like an expression: the first error of a Graph sticks, later calls
// do nothing, and Session::Create and Graph::status() report it.
// Ownership: handles are counted or unique as their C handles are; a Graph may go before its
// sessions.
// Threads: as c_api.h says; one thread at a time builds with one tw::Graph object.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "thalweg/c_api.h"
#include "thalweg/tensor.h"

namespace tw {

// ---- environment ----

class Environment {
 public:
  struct Options {
    int threads = -1;  // beside the calling one; -1: one fewer than cores; 0: none
    int cpu_devices = 1;
    int64_t memory_limit = 0;
  };
  static Result<Environment> Create(const Options& options) {
    TwEnvironmentOptions c;
    tw_environment_options_init(&c);
    c.threads = options.threads;
    c.cpu_devices = options.cpu_devices;
    c.memory_limit = options.memory_limit;
    return CreateFrom(c);
  }
  static Result<Environment> Create() { return Create(Options()); }
  // All that the C ABI offers: the host's threads, its log ...
  static Result<Environment> CreateFrom(const TwEnvironmentOptions& options) {
    internal::StatusHolder status;
    TwEnvironment* made = tw_environment_new(&options, status.c);
    if (made == nullptr) return status.Take();
    return Environment(made);
  }
  Status LoadLibrary(const std::string& path) {
    internal::StatusHolder status;
    tw_environment_load_library(c(), path.c_str(), status.c);
    return status.Take();
  }
  TwEnvironment* c() const { return handle_.get(); }

 private:
  explicit Environment(TwEnvironment* adopted) : handle_(adopted, &tw_environment_free) {}
  std::shared_ptr<TwEnvironment> handle_;
};

// ---- graph ----

class Graph;

using Node = TwNode*;

// One output of a node, with the graph it belongs to, so that operators can add nodes.
class Output {
 public:
  Output() = default;
  Output(Graph* graph, TwOutput c) : graph_(graph), c_(c) {}
  Graph* graph() const { return graph_; }
  const TwOutput& c() const { return c_; }
  Node node() const { return c_.node; }
  bool empty() const { return c_.node == nullptr; }
  DataType dtype() const { return static_cast<DataType>(tw_output_dtype(c_) % 100); }
  std::string name() const {
    return empty() ? "" : std::string(tw_node_name(c_.node)) + ":" + std::to_string(c_.index);
  }

 private:
  Graph* graph_ = nullptr;
  TwOutput c_ = {nullptr, 0};
};

using Outputs = std::vector<Output>;

// What is known of a tensor: its type, and its shape: -1 for a dimension that is not known;
// `ranked` is false where not even their number is.
struct TensorSpec {
  DataType dtype = kFloat;
  std::vector<int64_t> shape{};
  bool ranked = true;
  static TensorSpec Of(const Output& output) {
    TensorSpec spec{output.dtype()};
    const int32_t rank = tw_output_shape(output.c(), nullptr, 0);
    spec.ranked = rank >= 0;
    spec.shape.resize(spec.ranked ? static_cast<size_t>(rank) : 0);
    tw_output_shape(output.c(), spec.shape.data(), rank);
    return spec;
  }
  // -1 for a shape that is not known.
  int32_t rank() const { return ranked ? static_cast<int32_t>(shape.size()) : -1; }
};

// A function of a graph's library (Graph::Function), for an attribute of nodes that call it by
// name. They take the arguments, then what its body reads from outside.
struct Function {
  std::string name{};
  Outputs captures{};
  std::vector<TensorSpec> results{};
};

// A variable's parts; reads as its value where an Output is expected.
struct Variable {
  Output handle;
  Node initializer = nullptr;
  Output value;
  operator Output() const { return value; }  // NOLINT: a variable is used like its value
};

// The value of one attribute.
class Attr {
 public:
  // NOLINTBEGIN(google-explicit-constructor): attributes are written as {"transpose_b", true}
  Attr(const char* name, bool v)
      : set_([n = S(name), v](TwNodeBuilder* b) { tw_node_builder_attr_bool(b, n.c_str(), v); }) {}
  Attr(const char* name, int v) : Attr(name, static_cast<int64_t>(v)) {}
  Attr(const char* name, int64_t v)
      : set_([n = S(name), v](TwNodeBuilder* b) { tw_node_builder_attr_int(b, n.c_str(), v); }) {}
  Attr(const char* name, float v)
      : set_([n = S(name), v](TwNodeBuilder* b) { tw_node_builder_attr_float(b, n.c_str(), v); }) {}
  Attr(const char* name, double v) : Attr(name, static_cast<float>(v)) {}
  Attr(const char* name, DataType v)
      : set_([n = S(name), v](TwNodeBuilder* b) { tw_node_builder_attr_type(b, n.c_str(), v); }) {}
  Attr(const char* name, const char* v) : Attr(name, std::string(v)) {}
  Attr(const char* name, const std::string& v)
      : set_([n = S(name), v](TwNodeBuilder* b) {
          tw_node_builder_attr_string(b, n.c_str(), v.data(), v.size());
        }) {}
  Attr(const char* name, const Tensor& v)
      : set_([n = S(name), v](TwNodeBuilder* b) {
          tw_node_builder_attr_tensor(b, n.c_str(), v.c());
        }) {}
  Attr(const char* name, const std::vector<int64_t>& v)
      : set_([n = S(name), v](TwNodeBuilder* b) {
          tw_node_builder_attr_int_list(b, n.c_str(), v.data(), static_cast<int32_t>(v.size()));
        }) {}
  Attr(const char* name, const std::vector<float>& v)
      : set_([n = S(name), v](TwNodeBuilder* b) {
          tw_node_builder_attr_float_list(b, n.c_str(), v.data(), static_cast<int32_t>(v.size()));
        }) {}
  Attr(const char* name, const std::vector<DataType>& v)
      : set_([n = S(name), v](TwNodeBuilder* b) {
          const std::vector<TwDataType> all(v.begin(), v.end());
          tw_node_builder_attr_type_list(b, n.c_str(), all.data(), static_cast<int32_t>(v.size()));
        }) {}
  Attr(const char* name, const std::vector<std::string>& v)
      : set_([n = S(name), v](TwNodeBuilder* b) {
          std::vector<const char*> texts;
          std::vector<size_t> sizes;
          for (const std::string& text : v)
            texts.push_back(text.data()), sizes.push_back(text.size());
          tw_node_builder_attr_string_list(b, n.c_str(), texts.data(), sizes.data(),
                                           static_cast<int32_t>(v.size()));
        }) {}
  Attr(const char* name, const Function& v)
      : set_([n = S(name), f = v.name](TwNodeBuilder* b) {
          tw_node_builder_attr_function(b, n.c_str(), f.c_str());
        }) {}
  // NOLINTEND
  // The types and the shapes of tensors, as lists.
  static Attr Types(const char* name, const std::vector<TensorSpec>& specs) {
    std::vector<DataType> types;
    for (const TensorSpec& spec : specs) types.push_back(spec.dtype);
    return {name, types};
  }
  static Attr Shapes(const char* name, const std::vector<TensorSpec>& specs) {
    std::vector<int64_t> dims;
    std::vector<int32_t> ranks;
    for (const TensorSpec& spec : specs) {
      ranks.push_back(spec.rank());
      if (spec.ranked) dims.insert(dims.end(), spec.shape.begin(), spec.shape.end());
    }
    return Attr([n = S(name), dims, ranks](TwNodeBuilder* b) {
      tw_node_builder_attr_shape_list(b, n.c_str(), dims.data(), ranks.data(),
                                      static_cast<int32_t>(ranks.size()));
    });
  }
  // A shape; -1 for an unknown dimension.
  static Attr Shape(const char* name, const std::vector<int64_t>& dims) {
    return Attr([n = S(name), dims](TwNodeBuilder* b) {
      tw_node_builder_attr_shape(b, n.c_str(), dims.data(), static_cast<int32_t>(dims.size()));
    });
  }
  void Set(TwNodeBuilder* builder) const { set_(builder); }

 private:
  using S = std::string;
  explicit Attr(std::function<void(TwNodeBuilder*)> set) : set_(std::move(set)) {}
  std::function<void(TwNodeBuilder*)> set_;
};

// A gradient as AddGradients gives it: dense, sparse rows (indices not empty), or none (values
// empty).
struct Gradient {
  Output values, indices, dense_shape;
  bool empty() const { return values.empty(); }
};

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

// ---- training ----

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

// ---- session ----

using Feeds = std::vector<std::pair<Output, Tensor>>;

// A prepared run: no lookup, no planning. Several threads may run one at once.
class Callable {
 public:
  explicit Callable(TwCallable* adopted, size_t num_fetches)
      : handle_(adopted), num_fetches_(num_fetches) {}
  // values[i] feeds the i-th feed that the callable was made with.
  Result<std::vector<Tensor>> Run(const std::vector<Tensor>& values) const {
    std::vector<TwTensor*> in;
    for (const Tensor& value : values) in.push_back(value.c());
    std::vector<TwTensor*> out(num_fetches_);
    internal::StatusHolder status;
    if (tw_callable_run(handle_.get(), nullptr, in.data(), out.data(), nullptr, status.c) !=
        TW_OK) {
      return status.Take();
    }
    return std::vector<Tensor>(out.begin(), out.end());
  }
  TwCallable* c() const { return handle_.get(); }

 private:
  internal::Handle<TwCallable, &tw_callable_free> handle_;
  size_t num_fetches_;
};

class Session {
 public:
  // The graph's first error, if building it failed. Nodes added later are seen too.
  static Result<Session> Create(const Graph& graph, const TwSessionOptions* options = nullptr) {
    if (!graph.status().ok()) return graph.status();
    internal::StatusHolder status;
    TwSession* made = tw_session_new(graph.environment().c(), graph.c(), options, status.c);
    if (made == nullptr) return status.Take();
    return Session(made);
  }
  // Values of `fetches` with the fed edges replaced; `targets` only run.
  Result<std::vector<Tensor>> Run(const Feeds& feeds, const std::vector<Output>& fetches,
                                  const std::vector<Node>& targets = {}) {
    std::vector<TwOutput> fed;
    std::vector<TwTensor*> values;
    for (const auto& [edge, value] : feeds) {
      fed.push_back(edge.c());
      values.push_back(value.c());
    }
    const std::vector<TwOutput> fetched = Graph::Unwrap(fetches);
    std::vector<TwTensor*> out(fetched.size());
    internal::StatusHolder status;
    if (tw_session_run(c(), nullptr, fed.data(), values.data(), static_cast<int32_t>(fed.size()),
                       fetched.data(), static_cast<int32_t>(fetched.size()), targets.data(),
                       static_cast<int32_t>(targets.size()), out.data(), nullptr,
                       status.c) != TW_OK) {
      return status.Take();
    }
    return std::vector<Tensor>(out.begin(), out.end());
  }
  Result<Callable> MakeCallable(const std::vector<Output>& feeds,
                                const std::vector<Output>& fetches,
                                const std::vector<Node>& targets = {}) {
    const std::vector<TwOutput> fed = Graph::Unwrap(feeds), fetched = Graph::Unwrap(fetches);
    internal::StatusHolder status;
    TwCallable* made =
        tw_session_make_callable(c(), fed.data(), static_cast<int32_t>(fed.size()), fetched.data(),
                                 static_cast<int32_t>(fetched.size()), targets.data(),
                                 static_cast<int32_t>(targets.size()), status.c);
    if (made == nullptr) return status.Take();
    return Callable(made, fetched.size());
  }
  // Cancels what runs and returns when it has ended.
  Status Close() {
    internal::StatusHolder status;
    tw_session_close(c(), status.c);
    return status.Take();
  }
  TwSession* c() const { return handle_.get(); }

 private:
  explicit Session(TwSession* adopted) : handle_(adopted) {}
  internal::Handle<TwSession, &tw_session_free> handle_;
};

// What a checkpoint calls a variable. Parts of one tensor have its name, and say where they are:
// {"table", part, "10 4 0,5:0,4"} is the first half of one of shape [10, 4].
struct SavedVariable {
  std::string name;
  Variable variable;
  std::string slice{};
};

struct SaverOptions {
  int max_to_keep = 5;            // the newest, 0: all
  int keep_best = 0;              // besides them, of those saved with a metric
  bool best_is_greatest = false;  // else the best metric is the least
  // Whether Save returns when it has the values, all of one moment, and a thread writes them. What
  // goes wrong there is the error of the next Save or Wait.
  bool in_background = false;
  double patience_seconds = 600;  // of Save and the destructor with what is still written
};

// In what a checkpoint differs from what a Saver restores of it.
struct CheckpointDifference {
  TwDifferenceKind kind;
  std::string name;
  std::string in_checkpoint;  // shape or type there; "" where it is missing
  std::string in_graph;
};

// Saves variables to checkpoints and restores them; keeps the newest few.
class Saver {
 public:
  static Result<Saver> Create(Graph& graph, const std::vector<SavedVariable>& variables,
                              int max_to_keep = 5) {
    SaverOptions options;
    options.max_to_keep = max_to_keep;
    return Create(graph, variables, options);
  }
  static Result<Saver> Create(Graph& graph, const std::vector<SavedVariable>& variables,
                              const SaverOptions& wanted) {
    std::vector<const char*> names, slices;
    std::vector<TwOutput> handles;
    for (const SavedVariable& saved : variables) {
      names.push_back(saved.name.c_str());
      slices.push_back(saved.slice.c_str());
      handles.push_back(saved.variable.handle.c());
    }
    if (!graph.status().ok()) return graph.status();
    TwSaverOptions options{};
    options.struct_size = sizeof(TwSaverOptions);
    options.max_to_keep = wanted.max_to_keep;
    options.keep_checkpoint_every_n_hours = 10000.0;
    options.keep_best = wanted.keep_best;
    options.best_is_greatest = wanted.best_is_greatest ? 1 : 0;
    options.in_background = wanted.in_background ? 1 : 0;
    options.patience_seconds = wanted.patience_seconds;
    options.variable_slices = slices.data();
    internal::StatusHolder status;
    TwSaver* made = tw_saver_new(graph.c(), names.data(), handles.data(),
                                 static_cast<int32_t>(handles.size()), &options, status.c);
    if (made == nullptr) return status.Take();
    return Saver(made);
  }
  // Writes PATH-STEP (PATH for a negative step) and returns its name. `metric`: how good the model
  // is, for keep_best.
  Result<std::string> Save(const Session& session, const std::string& path, int64_t step = -1,
                           std::optional<double> metric = std::nullopt) {
    TwSaveRequest request{};
    request.struct_size = sizeof(TwSaveRequest);
    request.path = path.c_str();
    request.global_step = step;
    request.metric = metric ? &*metric : nullptr;
    internal::StatusHolder status;
    return internal::TextOf(tw_saver_save_request(handle_.get(), session.c(), &request, status.c),
                            status);
  }
  Status Restore(const Session& session, const std::string& path) {
    internal::StatusHolder status;
    tw_saver_restore(handle_.get(), session.c(), path.c_str(), status.c);
    return status.Take();
  }
  // Restores what fits, and leaves the rest as it is; tells all that differs.
  Result<std::vector<CheckpointDifference>> RestorePart(const Session& session,
                                                        const std::string& path) {
    return Compare(session.c(), path);
  }
  // The same without restoring.
  Result<std::vector<CheckpointDifference>> Compare(const std::string& path) {
    return Compare(nullptr, path);
  }
  // Returns when nothing is written in the background any more; a negative time: the patience.
  Status Wait(double seconds = -1) {
    internal::StatusHolder status;
    tw_saver_wait(handle_.get(), seconds, status.c);
    return status.Take();
  }

 private:
  Result<std::vector<CheckpointDifference>> Compare(TwSession* session, const std::string& path) {
    internal::StatusHolder status;
    const internal::Handle<TwDifferences, &tw_differences_free> found(
        tw_saver_compare(handle_.get(), session, path.c_str(), status.c));
    if (found == nullptr) return status.Take();
    std::vector<CheckpointDifference> all;
    for (int32_t i = 0; i < tw_differences_count(found.get()); ++i) {
      TwDifference one{};
      tw_differences_at(found.get(), i, &one, status.c);
      all.push_back({one.kind, one.name, one.in_checkpoint, one.in_graph});
    }
    return all;
  }
  explicit Saver(TwSaver* adopted) : handle_(adopted) {}
  internal::Handle<TwSaver, &tw_saver_free> handle_;
};

}  // namespace tw
