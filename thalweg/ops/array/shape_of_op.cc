// SPDX-License-Identifier: Apache-2.0
#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"

namespace thalweg {
namespace {

// Vectors as long as the inputs' ranks.
Status ShapesShape(ShapeContext& c) {
  for (int i = 0; i < c.num_outputs(); ++i) {
    const int rank = c.input(i).rank();
    c.set_output(i, PartialShape{rank < 0 ? PartialShape::kUnknownDim : rank});
  }
  return OkStatus();
}

}  // namespace
}  // namespace thalweg

THALWEG_OP(shape_of) {
  constexpr std::string_view kWhy = "a shape does not depend on the values";
  registry.Op("Shape")
      .Shape(ShapesShape)
      .NotDifferentiable(kWhy)
      .Doc("The dimensions of a tensor, as a vector.");
  registry.Op("ShapeN")
      .Shape(ShapesShape)
      .NotDifferentiable(kWhy)
      .Doc("The dimensions of each tensor, as vectors.");
  registry.Op("Size")
      .Shape(ScalarShape)
      .NotDifferentiable(kWhy)
      .Doc("The number of elements of a tensor.");
  registry.Op("Rank")
      .Shape(ScalarShape)
      .NotDifferentiable(kWhy)
      .Doc("The number of dimensions of a tensor.");
}
