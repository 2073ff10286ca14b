// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "thalweg/graph/gradient_context.h"
#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"
#include "thalweg/tensor/axis.h"
#include "thalweg/tensor/integers.h"

namespace thalweg {
namespace {

// The product of the known dimensions; -1 when it overflows. `unknown` counts the others.
int64_t KnownProduct(const PartialShape& shape, int* unknown) {
  int64_t product = 1;
  *unknown = 0;
  for (int64_t dim : shape.dims()) {
    if (dim < 0) {
      ++*unknown;
    } else if (__builtin_mul_overflow(product, dim, &product)) {
      return -1;
    }
  }
  return product;
}

// What the shape argument says, its one unknown dimension filled in from the number of elements.
Status ReshapeShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(PartialShape shape, c.ShapeArgument(1));
  const Tensor value = c.InputValue(1);
  const int64_t size = c.input(0).num_elements();
  if (shape.known_rank() && size >= 0) {
    int unknown = 0;
    const int64_t known = KnownProduct(shape, &unknown);
    const bool certain = unknown == 0 || !value.empty();
    if (certain && unknown <= 1 && known >= 0) {
      const bool fits = unknown == 0 ? known == size : known > 0 ? size % known == 0 : size == 0;
      if (!fits) {
        if (unknown > 0 && known > 0) {
          return InvalidArgument("Dimension size must be evenly divisible by ", known, " but is ",
                                 size);
        }
        return InvalidArgument("Cannot reshape a tensor with ", size, " elements to shape ", shape,
                               " (", known, " elements)");
      }
    }
    if (unknown == 1 && known > 0 && size % known == 0) {
      for (int i = 0; i < shape.rank(); ++i) {
        if (shape.dim(i) < 0) shape.set_dim(i, size / known);
      }
    }
  }
  c.set_output(0, std::move(shape));
  return OkStatus();
}

// The ends of the range pass.
Status QuantizedReshapeShape(ShapeContext& c) {
  for (int i = 2; i < 4; ++i) {
    if (c.input(i).IsFullyDefined() && c.input(i).num_elements() != 1) {
      return InvalidArgument(i == 2 ? "input_min" : "input_max",
                             " must be a scalar or a vector of 1 element, got shape ", c.input(i));
    }
    c.set_output(i - 1, PartialShape::OfRank(0));
  }
  return ReshapeShape(c);
}

Status ExpandDimsShape(ShapeContext& c) {
  const PartialShape& input = c.input(0);
  const Tensor dim = c.InputValue(1);
  if (!input.known_rank()) return OkStatus();
  if (dim.empty()) {
    c.set_output(0, PartialShape::OfRank(input.rank() + 1));
    return OkStatus();
  }
  if (dim.num_elements() != 1) {
    return InvalidArgument("dim must be a scalar, got shape ", dim.shape());
  }
  const int64_t given = IntAt(dim, 0);
  const std::optional<int> axis = AxisFromFront(given, input.rank() + 1);
  if (!axis.has_value()) {
    return InvalidArgument("dim ", given, " not in the interval [", -input.rank() - 1, ", ",
                           input.rank(), "].");
  }
  Dims dims = input.dims();
  dims.insert(*axis, 1);
  ASSIGN_OR_RETURN(PartialShape shape, PartialShape::Make(dims));
  c.set_output(0, std::move(shape));
  return OkStatus();
}

Status SqueezeShape(ShapeContext& c) {
  const PartialShape& input = c.input(0);
  ASSIGN_OR_RETURN(const std::vector<int64_t> squeeze,
                   c.Attr<std::vector<int64_t>>("squeeze_dims"));
  if (!input.known_rank()) return OkStatus();
  std::vector<bool> drop(static_cast<size_t>(input.rank()), squeeze.empty());
  for (const int64_t& dim : squeeze) {
    const std::optional<int> found = AxisFromFront(dim, input.rank());
    if (!found.has_value()) {
      return InvalidArgument("squeeze_dims[", &dim - squeeze.data(), "] not in [", -input.rank(),
                             ",", input.rank(), "). It is ", dim);
    }
    const int axis = *found;
    if (input.dim(axis) > 1 || input.dim(axis) == 0) {
      return InvalidArgument("Can not squeeze dim[", axis, "], expected a dimension of 1, got ",
                             input.dim(axis));
    }
    drop[static_cast<size_t>(axis)] = true;
  }
  Dims dims;
  for (int i = 0; i < input.rank(); ++i) {
    // Without a list, a dimension of unknown size may stay or go.
    if (squeeze.empty() && input.dim(i) < 0) return OkStatus();
    const bool dropped = drop[static_cast<size_t>(i)] && (!squeeze.empty() || input.dim(i) == 1);
    if (!dropped) dims.push_back(input.dim(i));
  }
  c.set_output(0, PartialShape(std::move(dims)));
  return OkStatus();
}

// The gradient in the shape of input 0.
Status ReshapeBack(GradientContext& c) {
  if (!c.has_grad(0)) return OkStatus();
  c.set_input_grad(0, c.b().Op("Reshape", {c.grad(0), c.b().Op("Shape", {c.input(0)})}));
  return c.b().status();
}

}  // namespace
}  // namespace thalweg

THALWEG_OP(reshape) {
  registry.Op("QuantizedReshape")
      .Shape(QuantizedReshapeShape)
      .NotDifferentiable("levels are integers")
      .Doc("The same levels under another shape, and their range.");
  registry.Op("Reshape")
      .Shape(ReshapeShape)
      .Gradient(ReshapeBack)
      .Doc("The same elements in another shape; one dimension may be -1.");
  registry.Op("ExpandDims")
      .Shape(ExpandDimsShape)
      .Gradient(ReshapeBack)
      .Doc("The same elements with a dimension of size 1 put in.");
  registry.Op("Squeeze")
      .Shape(SqueezeShape)
      .Gradient(ReshapeBack)
      .Doc("The same elements without dimensions of size 1.");
}
