// SPDX-License-Identifier: Apache-2.0
#include "thalweg/graph/gradient_context.h"
#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"

namespace thalweg {
namespace {

// updates must be indices + params[1:], or a scalar.
Status CheckUpdates(ShapeContext& c, const PartialShape& params) {
  const PartialShape& indices = c.input(1);
  const PartialShape& updates = c.input(2);
  if (!params.known_rank()) return OkStatus();
  if (params.rank() == 0) return InvalidArgument("params must be at least 1-D, got a scalar");
  if (!indices.known_rank() || (updates.known_rank() && updates.rank() == 0)) return OkStatus();
  Dims dims = indices.dims();
  for (int i = 1; i < params.rank(); ++i) dims.push_back(params.dim(i));
  ASSIGN_OR_RETURN(const PartialShape expected, PartialShape::Make(dims));
  return Explained(updates.MergeWith(expected).status(),
                   "updates must have the shape of indices + params[1:], or be a scalar");
}

Status ScatterShape(ShapeContext& c) {
  RETURN_IF_ERROR(CheckUpdates(c, c.input(0)));
  return UnchangedShape(c);
}

Status ResourceScatterShape(ShapeContext& c) {
  RETURN_IF_ERROR(c.InputWithRank(0, 0).status());
  const HandleShape* handle = c.input_handle_shape(0);
  return handle == nullptr ? OkStatus() : CheckUpdates(c, handle->shape);
}

// What indices of several dimensions name is looked at when it runs.
Status NdShape(ShapeContext& c) { return UnchangedShape(c); }

Status ResourceNdShape(ShapeContext& c) {
  RETURN_IF_ERROR(c.InputWithRank(0, 0).status());
  return c.InputWithRankAtLeast(1, 1).status();
}

}  // namespace
}  // namespace thalweg

THALWEG_OP(scatter) {
  constexpr std::string_view kWhy = "it changes a variable";
  for (const char* name : {"ScatterUpdate", "ScatterAdd", "ScatterSub", "ScatterMul", "ScatterDiv",
                           "ScatterMin", "ScatterMax"}) {
    const std::string what = std::string(name).substr(7);
    registry.Op(name)
        .Shape(ScatterShape)
        .NotDifferentiable(kWhy)
        .Doc(StrCat(what, " applied to the rows of a variable that indices name, in their order."));
    registry.Op(StrCat("Resource", name))
        .Shape(ResourceScatterShape)
        .NotDifferentiable(kWhy)
        .Doc(StrCat(what, " applied to the rows of a variable that indices name, in their order."));
  }
  for (const char* name :
       {"ScatterNdUpdate", "ScatterNdAdd", "ScatterNdSub", "ScatterNdMin", "ScatterNdMax"}) {
    const std::string doc =
        StrCat(std::string(name).substr(9),
               " applied to the elements or slices of a variable that indices name.");
    registry.Op(name).Shape(NdShape).NotDifferentiable(kWhy).Doc(doc);
    registry.Op(StrCat("Resource", name)).Shape(ResourceNdShape).NotDifferentiable(kWhy).Doc(doc);
  }
}
