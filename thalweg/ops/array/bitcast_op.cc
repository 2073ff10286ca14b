// SPDX-License-Identifier: Apache-2.0
#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"

namespace thalweg {
namespace {

Status BitcastShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const DType from, c.Attr<DType>("T"));
  ASSIGN_OR_RETURN(const DType to, c.Attr<DType>("type"));
  const PartialShape& x = c.input(0);
  if (!x.known_rank()) return OkStatus();
  const auto from_size = static_cast<int64_t>(DTypeSize(from));
  const auto to_size = static_cast<int64_t>(DTypeSize(to));
  Dims dims = x.dims();
  if (from_size > to_size) {
    dims.push_back(from_size / to_size);
  } else if (from_size < to_size) {
    const int last = dims.size() - 1;
    if (last < 0 || (dims[last] >= 0 && dims[last] != to_size / from_size)) {
      return InvalidArgument("Cannot bitcast from ", static_cast<int>(from), " to ",
                             static_cast<int>(to), " due to shape. ", last < 0 ? 0 : dims[last],
                             " does not match ", to_size / from_size, ": from ", from, x, " to ",
                             to);
    }
    dims.resize(last);
  }
  ASSIGN_OR_RETURN(PartialShape shape, PartialShape::Make(dims));
  c.set_output(0, std::move(shape));
  return OkStatus();
}

}  // namespace
}  // namespace thalweg

THALWEG_OP(bitcast) {
  registry.Op("Bitcast")
      .Shape(BitcastShape)
      .NotDifferentiable("the bits of a number are not a smooth function of it")
      .Doc("The same bytes as elements of another type.");
}
