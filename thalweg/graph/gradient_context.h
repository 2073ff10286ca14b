// SPDX-License-Identifier: Apache-2.0
// GradientContext: what a gradient function of an operation sees. It adds nodes to the same graph
// and says, for each input, the partial derivative of the target (white paper 4.1).
//
//   Status TanhGradient(GradientContext& c) {
//     c.set_input_grad(0, c.b().Op("TanhGrad", {c.output(0), c.grad(0)}));
//     return c.b().status();
//   }
//
// An input whose gradient is not set gets none.
// Ownership: the node and its graph outlive it; what it adds belongs to the graph.
// Threads: one at a time with a graph.
// Errors: InvalidArgument or Unimplemented; the caller adds the node.
#pragma once

#include <vector>

#include "thalweg/graph/graph.h"
#include "thalweg/graph/graph_builder.h"

namespace thalweg {

// A gradient: none, dense, or sparse rows (values[i] belongs to row indices[i] of a tensor of shape
// dense_shape).
struct GradientValue {
  Output values;
  Output indices;      // null: dense
  Output dense_shape;  // of sparse ones; may be null when the shape is not known
  bool present() const { return values.node != nullptr; }
  bool is_sparse() const { return indices.node != nullptr; }
};

class GradientContext {
 public:
  GradientContext(const Node& node, GraphBuilder builder, std::vector<GradientValue> output_grads)
      : node_(node),
        builder_(std::move(builder)),
        output_grads_(std::move(output_grads)),
        input_grads_(static_cast<size_t>(node.num_inputs())) {}

  const Node& node() const { return node_; }
  // Adds nodes under "gradients/NODE_grad/", colocated as the options say.
  GraphBuilder& b() { return builder_; }
  Output input(int i) const { return node_.input(i); }
  Output output(int i) const { return {const_cast<Node*>(&node_), i}; }
  bool has_grad(int i) const { return output_grads_[i].present(); }
  // The incoming gradient of output i as a dense tensor; zeros of the output's shape when there is
  // none.
  Output grad(int i);
  const GradientValue& grad_value(int i) const { return output_grads_[i]; }

  void set_input_grad(int i, Output grad) { input_grads_[i] = {grad, {}, {}}; }
  void set_input_grad(int i, GradientValue grad) { input_grads_[i] = grad; }
  const std::vector<GradientValue>& input_grads() const { return input_grads_; }

 private:
  const Node& node_;
  GraphBuilder builder_;
  std::vector<GradientValue> output_grads_;
  std::vector<GradientValue> input_grads_;
};

// A dense tensor of a sparse gradient (UnsortedSegmentSum); a dense one as it is.
Output Densify(GraphBuilder& b, const GradientValue& gradient);

}  // namespace thalweg
