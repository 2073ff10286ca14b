// SPDX-License-Identifier: Apache-2.0
// OpCase: one declaration of what an operation computes; Run() derives the tests from it.
//
//   OpCase("Sub")
//       .Elementwise([](auto a, auto b) { return a - b; })      // naive, double (or complex)
//       .Try({In({7, 31}), In({31})})                           // shapes: broadcast, odd, ...
//       .Try({In({0, 3}), In({3})})                             // ... empty, scalar
//       .Bad({In({2}), In({3})}, {}, Code::kInvalidArgument, "broadcast")
//       .Run();
//
// For every Try and every registered kernel (or each of Types()): values against the reference;
// every other machine against the first (bit by bit where only the order of shards differs); inputs
// taken against inputs pinned; pinned inputs unchanged; guard bytes; inferred shapes with known,
// unknown and value-fed inputs; the graph through GraphDef; numeric against registered gradients.
// Bad runs once through inference with constants, once through the kernel with unknown shapes.
//
// A failure prints one line "REPRO: ..."; the flag --only=N runs part N alone, --perf prints times.
// A case whose outputs are all zero, or equal to an input, in every Try is untrusted and fails,
// unless Trivial says why. Variables: a reference or resource input is given as the In of the value
// before; the values after come behind the outputs in the reference's `out`.
// Ownership: owns what it was told; the registries outlive Run.
// Threads: the test's.
// Errors: fail the test, each with a line that repeats it.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "thalweg/graph/graph.h"
#include "thalweg/testing/op_values.h"
#include "thalweg/testing/registries.h"

namespace thalweg {

// What a reference sees: inputs as numbers, attributes; it fills `out`.
template <class V>
struct RefCall {
  std::vector<Array<V>> in;
  std::vector<Array<V>> out;
  const Node* node = nullptr;

  template <class T>
  T Attr(std::string_view name) const {
    return node->Attr<T>(name).value();
  }
  DType in_type(int i) const { return node->input_type(i); }
};

class OpCase {
 public:
  using Complex = std::complex<double>;
  explicit OpCase(std::string op) : op_(std::move(op)) {}

  // F takes RefCall<double>&, or auto& to serve complex types too.
  template <class F>
  OpCase& Reference(F f) {
    if constexpr (std::is_invocable_v<F, RefCall<double>&>) real_ = f;
    if constexpr (std::is_invocable_v<F, RefCall<Complex>&>) complex_ = f;
    return *this;
  }
  // F takes one or two doubles, or autos to serve complex types too; the inputs broadcast.
  template <class F>
  OpCase& Elementwise(F f);

  // One set of inputs and attributes. Attributes that are types fix them for this Try.
  OpCase& Try(std::vector<In> inputs, AttrMap attrs = {});
  // The error that this must give, when the node is made or when it runs. `message_part` is of both
  // runs; where inference and kernel have words of their own, `known` is of the run with constants,
  // `unknown` of the one with unknown shapes.
  OpCase& Bad(std::vector<In> inputs, AttrMap attrs, Code code, const std::string& message_part) {
    return Bad(std::move(inputs), std::move(attrs), code, message_part, message_part);
  }
  OpCase& Bad(std::vector<In> inputs, AttrMap attrs, Code code, std::string known,
              std::string unknown);

  // One combination of type attributes to try instead of those of the registered kernels.
  OpCase& Types(std::map<std::string, DType> types);
  // Kernels with this type in an attribute are not tried; `why` is for the reader.
  OpCase& Skip(DType dtype, std::string_view why);
  OpCase& Tolerance(DType dtype, double tolerance);
  // Only these inputs are differentiated (default: all that have floating type).
  OpCase& GradInputs(std::vector<int> inputs);
  // Only these outputs get a gradient (default: all of floating type).
  OpCase& GradOutputs(std::vector<int> outputs);
  // Step of the numeric gradient and tolerance; defaults 1e-5 and 1e-5 (for double kernels).
  OpCase& GradStep(double step, double tolerance);
  // The registered gradient is tested otherwise, or cannot be by differences.
  OpCase& NoGradient(std::string_view why);
  // Inference cannot know output shapes even from constants.
  OpCase& ShapesFromValues(std::string_view why);
  // Outputs of zero, or equal to an input, are what the operation is about.
  OpCase& Trivial(std::string_view why);

  // Adds a gtest failure for everything that is wrong.
  void Run(const TestRegistries& registries = AllRegistries());

 private:
  friend class OpCaseRun;
  struct Attempt {
    std::vector<In> inputs;
    AttrMap attrs;
    Code code = Code::kOk;
    std::string known, unknown;  // parts of messages
  };

  std::string op_;
  std::function<void(RefCall<double>&)> real_;
  std::function<void(RefCall<Complex>&)> complex_;
  std::vector<Attempt> tries_;
  std::vector<Attempt> bad_;
  std::vector<std::map<std::string, DType>> types_;
  std::vector<DType> skipped_;
  std::map<DType, double> tolerance_;
  std::vector<int> grad_inputs_;
  std::vector<int> grad_outputs_;
  double grad_step_ = 1e-5;
  double grad_tolerance_ = 1e-5;
  bool no_gradient_ = false;
  bool shapes_from_values_ = false;
  bool trivial_ = false;
};

// Runs one operation on the given tensors and returns its outputs: for literal examples.
//   EXPECT_EQ((*RunOp("Add", {Tensor::Scalar("a"), Tensor::Scalar("b")}))[0].scalar<std::string>(),
//             "ab");
Result<std::vector<Tensor>> RunOp(std::string_view op, const std::vector<Tensor>& inputs,
                                  AttrMap attrs = {});

template <class F>
OpCase& OpCase::Elementwise(F f) {
  if constexpr (std::is_invocable_v<F, double>) {
    Reference([f]<class V>(RefCall<V> & r) requires std::is_invocable_v<F, V> {
      r.out = {Array<V>(r.in[0].shape)};
      for (int64_t i = 0; i < r.in[0].size(); ++i) r.out[0][i] = f(r.in[0][i]);
    });
  } else {
    Reference([f]<class V>(RefCall<V> & r) requires std::is_invocable_v<F, V, V> {
      r.out = {Array<V>(BroadcastShape(r.in[0].shape, r.in[1].shape))};
      ForEachIndex(r.out[0].shape, [&](const std::vector<int64_t>& at) {
        r.out[0].At(at) = f(r.in[0].At(at), r.in[1].At(at));
      });
    });
  }
  return *this;
}

}  // namespace thalweg
