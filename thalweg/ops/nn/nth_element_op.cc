// SPDX-License-Identifier: Apache-2.0
// NthElement: the element that would stand at place n if each row were sorted.
#include "thalweg/graph/gradient_math.h"
#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"
#include "thalweg/tensor/integers.h"

namespace thalweg {
namespace {

Status NthElementShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const PartialShape shape, c.InputWithRankAtLeast(0, 1));
  RETURN_IF_ERROR(c.InputWithRank(1, 0).status());
  const Tensor value = c.InputValue(1);
  if (!shape.known_rank()) return OkStatus();
  const int64_t columns = shape.dim(shape.rank() - 1);
  if (!value.empty()) {
    const int64_t n = IntAt(value, 0);
    if (n < 0) return InvalidArgument("n must not be negative, got ", n);
    if (columns >= 0 && columns <= n) {
      return InvalidArgument("input must have more than n = ", n, " columns, got ",
                             shape.ToString());
    }
  }
  Dims dims = shape.dims();
  dims.resize(shape.rank() - 1);
  c.set_output(0, PartialShape(dims));
  return OkStatus();
}

// To every element that equals the result, in equal parts.
Status NthElementGradient(GradientContext& c) {
  GradientMath m(c);
  const Output minus = m.Ints({-1});
  const Output value = m.Op("ExpandDims", {c.output(0), minus});
  const Output grad = m.Op("ExpandDims", {c.grad(0), minus});
  const Output equal =
      m.Op("Cast", {m.Op("Equal", {value, c.input(0)})}, {{"DstT", c.grad(0).dtype()}});
  const Output count = m.Op("ExpandDims", {m.Op("Sum", {equal, minus}), minus});
  c.set_input_grad(0, m.Mul(m.Div(equal, count), grad));
  return m.status();
}

}  // namespace
}  // namespace thalweg

THALWEG_OP(nth_element) {
  registry.Op("NthElement")
      .Shape(NthElementShape)
      .Gradient(NthElementGradient)
      .Doc("The nth smallest (or, reversed, largest) element of each row, counted from 0.");
}
