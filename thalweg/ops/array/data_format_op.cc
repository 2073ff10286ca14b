// SPDX-License-Identifier: Apache-2.0
#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"

namespace thalweg {
namespace {

Status VecPermuteShape(ShapeContext& c) {
  const int rank = c.input(0).rank();
  if (rank == 0 || rank > 2) {
    return InvalidArgument("input must be a vector or 2D tensor, but got shape ", c.input(0));
  }
  return UnchangedShape(c);
}

}  // namespace
}  // namespace thalweg

THALWEG_OP(data_format) {
  constexpr std::string_view kWhy = "its output are integers";
  registry.Op("DataFormatDimMap")
      .Shape(UnchangedShape)
      .NotDifferentiable(kWhy)
      .Doc("Numbers of dimensions in one data format as those in another.");
  registry.Op("DataFormatVecPermute")
      .Shape(VecPermuteShape)
      .NotDifferentiable(kWhy)
      .Doc("A vector with an entry for each dimension, in the order of another data format.");
}
