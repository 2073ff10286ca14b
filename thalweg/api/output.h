// SPDX-License-Identifier: Apache-2.0
// Thalweg for C++: what a graph's nodes give, and what is known of it.
// A part of thalweg.h, which programs include.
//
//   tw::Output y = g.Op("Neg", {x});
//   tw::TensorSpec spec = tw::TensorSpec::Of(y);
//
// Ownership: an Output is valid as long as its graph.
// Threads: as its graph.
// Errors: none.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "thalweg/c_api.h"
#include "thalweg/tensor.h"

namespace tw {

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

// A gradient as AddGradients gives it: dense, sparse rows (indices not empty), or none (values
// empty).
struct Gradient {
  Output values, indices, dense_shape;
  bool empty() const { return values.empty(); }
};

}  // namespace tw
