// SPDX-License-Identifier: Apache-2.0
#include "thalweg/graph/gradient_math.h"
#include "thalweg/graph/op_registry.h"
#include "thalweg/ops/sparse/sparse_shape.h"
#include "thalweg/tensor/integers.h"

namespace thalweg {
namespace {

Status ReduceShape(ShapeContext& c) {
  RETURN_IF_ERROR(CheckSparse(c, 0));
  ASSIGN_OR_RETURN(const bool keep, c.Attr<bool>("keep_dims"));
  const PartialShape shape = c.InputAsShape(2);
  const Tensor axes = c.InputValue(3);
  if (!shape.known_rank() || axes.empty()) return OkStatus();
  std::vector<bool> reduced(static_cast<size_t>(shape.rank()));
  for (int64_t i = 0; i < axes.num_elements(); ++i) {
    ASSIGN_OR_RETURN(const int axis, NormalizeAxis(IntAt(axes, i), shape.rank(), "reduction axis"));
    reduced[static_cast<size_t>(axis)] = true;
  }
  Dims dims;
  for (int d = 0; d < shape.rank(); ++d) {
    if (!reduced[static_cast<size_t>(d)]) dims.push_back(shape.dim(d));
    if (reduced[static_cast<size_t>(d)] && keep) dims.push_back(1);
  }
  c.set_output(0, PartialShape(dims));
  return OkStatus();
}

Status ReduceSparseShape(ShapeContext& c) {
  RETURN_IF_ERROR(CheckSparse(c, 0));
  SetSparseShapes(c, 0, PartialShape::kUnknownDim);
  return OkStatus();
}

// Each value gets the gradient of the element that it went into: that of the sum with its reduced
// dimensions kept, at the value's place with those coordinates zero.
Status ReduceSumGradient(GradientContext& c) {
  if (!c.has_grad(0)) return OkStatus();
  GradientMath m(c);
  const auto number = [&](int32_t value) { return c.b().Const(Tensor::Scalar(value)); };
  const Output rank = m.Op("Size", {c.input(2)});
  const Output given = m.Op("Reshape", {c.input(3), m.Ints({-1})});
  const Output no_marks = m.Op("Fill", {m.Op("ExpandDims", {rank, number(0)}), number(0)});
  const Output positive =
      m.Op("FloorMod", {m.Add(given, rank), m.Op("Maximum", {rank, number(1)})});
  const Output marks =
      m.Op("TensorScatterUpdate",
           {no_marks, m.Op("ExpandDims", {positive, number(1)}), m.Op("OnesLike", {positive})});
  const Output keep = m.Op("Cast", {m.Sub(number(1), marks)}, {{"DstT", DType::kInt64}});
  // A kept dimension has its size, a reduced one 1.
  const Output one = c.b().Const(Tensor::Scalar(int64_t{1}));
  const Output shape = m.Add(m.Mul(keep, m.Sub(c.input(2), one)), one);
  const Output grad = m.Op("Reshape", {c.grad(0), shape});
  const Output places = m.Mul(c.input(0), keep);
  c.set_input_grad(1, m.Op("GatherNd", {grad, places}));
  return m.status();
}

Status SoftmaxShape(ShapeContext& c) {
  RETURN_IF_ERROR(CheckSparse(c, 0));
  ASSIGN_OR_RETURN(const PartialShape values, c.InputWithRank(1, 1));
  c.set_output(0, values);
  return OkStatus();
}

// y * (g - sum of g * y over the row).
Status SoftmaxGradient(GradientContext& c) {
  GradientMath m(c);
  const Output weighted = m.Mul(c.grad(0), c.output(0));
  const Output last = m.Ints({-1});
  const Output sums = m.Neg(
      m.Op("SparseReduceSum", {c.input(0), weighted, c.input(2), last}, {{"keep_dims", true}}));
  const Output spread = m.Op("SparseDenseCwiseAdd", {c.input(0), c.grad(0), c.input(2), sums});
  c.set_input_grad(1, m.Mul(c.output(0), spread));
  return m.status();
}

}  // namespace
}  // namespace thalweg

THALWEG_OP(sparse_reduce) {
  constexpr std::string_view kWhy = "TensorFlow has no gradient of it either";
  registry.Op("SparseReduceSum")
      .Shape(ReduceShape)
      .Gradient(ReduceSumGradient)
      .Doc("The sums of a sparse tensor over some dimensions, as a dense tensor.");
  registry.Op("SparseReduceSumSparse")
      .Shape(ReduceSparseShape)
      .NotDifferentiable(kWhy)
      .Doc("The sums of a sparse tensor over some dimensions, as a sparse tensor.");
  registry.Op("SparseReduceMax")
      .Shape(ReduceShape)
      .NotDifferentiable(kWhy)
      .Doc("The largest values of a sparse tensor over some dimensions, as a dense tensor.");
  registry.Op("SparseReduceMaxSparse")
      .Shape(ReduceSparseShape)
      .NotDifferentiable(kWhy)
      .Doc("The largest values of a sparse tensor over some dimensions, as a sparse tensor.");
  registry.Op("SparseSoftmax")
      .Shape(SoftmaxShape)
      .Gradient(SoftmaxGradient)
      .Doc("Softmax over the present values of each row of the last dimension.");
}
