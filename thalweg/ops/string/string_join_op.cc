// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"
#include "thalweg/tensor/integers.h"

namespace thalweg {
namespace {

// Scalars go with anything; all else has one shape.
Status StringJoinShape(ShapeContext& c) {
  bool all_scalar = true, unknown = false;
  PartialShape shape;
  for (int i = 0; i < c.num_inputs(); ++i) {
    if (!c.input(i).known_rank()) unknown = true;
    if (c.input(i).rank() == 0) continue;
    all_scalar = false;
    ASSIGN_OR_RETURN(shape, shape.MergeWith(c.input(i)));
  }
  if (all_scalar) shape = Shape();
  if (!all_scalar && unknown && !shape.known_rank()) shape = PartialShape();
  c.set_output(0, shape);
  return OkStatus();
}

// The dimensions that are not reduced; of size one with keep_dims.
Status ReduceJoinShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const bool keep, c.Attr<bool>("keep_dims"));
  const PartialShape& input = c.input(0);
  const Tensor axes = c.InputValue(1);
  if (!input.known_rank()) return OkStatus();
  if (axes.empty()) {
    if (keep) c.set_output(0, PartialShape::OfRank(input.rank()));
    return OkStatus();
  }
  std::vector<bool> reduced(static_cast<size_t>(input.rank()), false);
  for (int64_t i = 0; i < axes.num_elements(); ++i) {
    ASSIGN_OR_RETURN(const int axis,
                     NormalizeAxis(IntAt(axes, i), input.rank(), "reduction dimension"));
    reduced[static_cast<size_t>(axis)] = true;
  }
  Dims dims;
  for (int d = 0; d < input.rank(); ++d) {
    if (!reduced[static_cast<size_t>(d)]) dims.push_back(input.dim(d));
    if (reduced[static_cast<size_t>(d)] && keep) dims.push_back(1);
  }
  c.set_output(0, PartialShape(dims));
  return OkStatus();
}

Status SegmentJoinShape(ShapeContext& c) {
  RETURN_IF_ERROR(c.InputWithRank(2, 0).status());
  const PartialShape& ids = c.input(1);
  ASSIGN_OR_RETURN(const PartialShape input, MergePrefix(c.input(0), ids));
  if (!input.known_rank() || !ids.known_rank()) return OkStatus();
  Dims dims;
  const Tensor count = c.InputValue(2);
  dims.push_back(count.empty() || IntAt(count, 0) < 0 ? PartialShape::kUnknownDim
                                                      : IntAt(count, 0));
  for (int d = ids.rank(); d < input.rank(); ++d) dims.push_back(input.dim(d));
  c.set_output(0, PartialShape(dims));
  return OkStatus();
}

}  // namespace
}  // namespace thalweg

THALWEG_OP(string_join) {
  constexpr std::string_view kWhy = "strings have no derivative";
  registry.Op("StringJoin")
      .Shape(StringJoinShape)
      .NotDifferentiable(kWhy)
      .Doc("The strings of several tensors, one after the other, with a separator between.");
  registry.Op("ReduceJoin")
      .Shape(ReduceJoinShape)
      .NotDifferentiable(kWhy)
      .Doc("Joins strings along dimensions, in the order in which they are given.");
  registry.Op("UnsortedSegmentJoin")
      .Shape(SegmentJoinShape)
      .NotDifferentiable(kWhy)
      .Doc("Joins the strings of each segment.");
}
