// SPDX-License-Identifier: Apache-2.0
// IsotonicRegression: the closest row that never rises.
#include "thalweg/graph/gradient_math.h"
#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"

namespace thalweg {
namespace {

Status IsotonicShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const PartialShape shape, c.InputWithRankAtLeast(0, 1));
  c.set_output(0, shape);
  c.set_output(1, shape);
  return OkStatus();
}

// A segment's output is the mean of its inputs, so each input gets the mean of the gradients there.
Status IsotonicGradient(GradientContext& c) {
  GradientMath m(c);
  const Output x = c.input(0), grad = c.grad(0), minus = m.Ints({-1}), zero = m.Ints({0});
  const Output shape = m.Shape(x);
  const Output last = m.Op("StridedSlice", {shape, minus, zero, m.Ints({1})},
                           {{"end_mask", 1}, {"shrink_axis_mask", 1}});
  const Output columns = m.Op("Maximum", {last, m.Number(last, 1)});  // a step of 0 is none
  const Output total = m.Op("Prod", {shape, zero});
  const Output begins = m.Op("Range", {m.Number(last, 0), total, columns});
  const Output rows = m.Op("Reshape", {c.output(1), m.Op("Pack", {m.Op("Size", {begins}), last})});
  const Output flat = m.Op("Reshape", {m.Add(rows, m.Op("ExpandDims", {begins, minus})), minus});
  const Output flat_grad = m.Op("Reshape", {grad, minus});
  const Output ones = m.Op("OnesLike", {flat_grad});
  const Output sum = m.Op("UnsortedSegmentSum", {flat_grad, flat, total});
  const Output count = m.Op("UnsortedSegmentSum", {ones, flat, total});
  const Output mean = m.Div(sum, m.Op("Maximum", {count, m.Number(count, 1)}));
  const Output each = m.Op("GatherV2", {mean, flat, m.Number(last, 0)});
  c.set_input_grad(0, m.Op("Reshape", {each, shape}));
  return m.status();
}

}  // namespace
}  // namespace thalweg

THALWEG_OP(isotonic_regression) {
  registry.Op("IsotonicRegression")
      .Shape(IsotonicShape)
      .Gradient(IsotonicGradient)
      .Doc("The row that never rises and is closest to each row, and which places share a value.");
}
