// SPDX-License-Identifier: Apache-2.0
// BatchMatMul: products of matrices, one per index of the leading dimensions; V2 and V3 broadcast
// these.
#include "thalweg/graph/gradient_math.h"
#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"

namespace thalweg {
namespace {

PartialShape LeadingDims(const PartialShape& shape) {
  Dims dims = shape.dims();
  dims.resize(shape.rank() - 2);
  return PartialShape(dims);
}

Status BatchMatMulShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const PartialShape x, c.InputWithRankAtLeast(0, 2));
  ASSIGN_OR_RETURN(const PartialShape y, c.InputWithRankAtLeast(1, 2));
  if (!x.known_rank() || !y.known_rank()) return OkStatus();
  ASSIGN_OR_RETURN(const bool adj_x, c.Attr<bool>("adj_x"));
  ASSIGN_OR_RETURN(const bool adj_y, c.Attr<bool>("adj_y"));
  const int rx = x.rank(), ry = y.rank();
  const Result<int64_t> inner =
      MergeDims(x.dim(adj_x ? rx - 2 : rx - 1), y.dim(adj_y ? ry - 1 : ry - 2));
  RETURN_IF_ERROR(Explained(inner.status(), "inner dimensions differ: x is ", x,
                            adj_x ? " transposed" : "", ", y is ", y, adj_y ? " transposed" : ""));
  const bool broadcasts = c.node().op_name() != "BatchMatMul";
  Result<PartialShape> leading = broadcasts ? BroadcastShapes(LeadingDims(x), LeadingDims(y))
                                            : LeadingDims(x).MergeWith(LeadingDims(y));
  RETURN_IF_ERROR(Explained(leading.status(), "the leading dimensions disagree"));
  if (!leading->known_rank()) return OkStatus();
  Dims dims = leading->dims();
  dims.push_back(x.dim(adj_x ? rx - 1 : rx - 2));
  dims.push_back(y.dim(adj_y ? ry - 2 : ry - 1));
  c.set_output(0, PartialShape(dims));
  return OkStatus();
}

// The leading dimensions of `x` as an int32 vector.
Output LeadingShape(GradientMath& m, Output x) {
  return m.Op("StridedSlice", {m.Shape(x), m.Ints({0}), m.Ints({-2}), m.Ints({1})});
}

Status BatchMatMulGradient(GradientContext& c) {
  GradientMath m(c);
  ASSIGN_OR_RETURN(const bool ax, c.node().Attr<bool>("adj_x"));
  ASSIGN_OR_RETURN(const bool ay, c.node().Attr<bool>("adj_y"));
  const Output x = c.input(0), y = c.input(1), grad = c.grad(0);
  const std::string& op = c.node().op_name();
  const auto product = [&](Output a, Output b, bool adj_a, bool adj_b) {
    AttrMap attrs = {{"adj_x", adj_a}, {"adj_y", adj_b}};
    if (op == "BatchMatMulV3") attrs.Set("Tout", c.node().output_type(0));
    return m.Op(op, {a, b}, std::move(attrs));
  };
  const Output grad_x = ax ? product(y, grad, ay, true) : product(grad, y, false, !ay);
  const Output grad_y = ay ? product(grad, x, true, ax) : product(x, grad, !ax, false);
  if (op == "BatchMatMul" || !m.status().ok()) {
    c.set_input_grad(0, grad_x);
    c.set_input_grad(1, grad_y);
    return m.status();
  }
  Node* axes = c.b().OpNode("BroadcastGradientArgs", {LeadingShape(m, x), LeadingShape(m, y)});
  c.set_input_grad(0, m.Op("Reshape", {m.Op("Sum", {grad_x, {axes, 0}}), m.Shape(x)}));
  c.set_input_grad(1, m.Op("Reshape", {m.Op("Sum", {grad_y, {axes, 1}}), m.Shape(y)}));
  return m.status();
}

}  // namespace
}  // namespace thalweg

THALWEG_OP(batch_matmul) {
  for (const char* op : {"BatchMatMul", "BatchMatMulV2", "BatchMatMulV3"}) {
    registry.Op(op)
        .Shape(BatchMatMulShape)
        .Gradient(BatchMatMulGradient)
        .Doc("Products of the matrices in the last two dimensions, each adjoint on demand.");
  }
}
