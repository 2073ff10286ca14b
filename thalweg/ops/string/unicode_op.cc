// SPDX-License-Identifier: Apache-2.0
#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"

namespace thalweg {
namespace {

// Row splits, then vectors of characters (and their places).
Status DecodeShape(ShapeContext& c) {
  const int64_t n = c.input(0).num_elements();
  c.set_output(0, PartialShape{n < 0 ? PartialShape::kUnknownDim : n + 1});
  for (int i = 1; i < c.num_outputs(); ++i) {
    c.set_output(i, PartialShape{PartialShape::kUnknownDim});
  }
  return OkStatus();
}

Status EncodeShape(ShapeContext& c) {
  RETURN_IF_ERROR(c.InputWithRank(0, 1).status());
  ASSIGN_OR_RETURN(const PartialShape splits, c.InputWithRank(1, 1));
  c.set_output(0, PartialShape{splits.dim(0) > 0 ? splits.dim(0) - 1 : PartialShape::kUnknownDim});
  return OkStatus();
}

}  // namespace
}  // namespace thalweg

THALWEG_OP(unicode) {
  constexpr std::string_view kWhy = "strings have no derivative";
  registry.Op("UnicodeDecode")
      .Shape(DecodeShape)
      .NotDifferentiable(kWhy)
      .Doc("The characters of strings, as rows of numbers.");
  registry.Op("UnicodeDecodeWithOffsets")
      .Shape(DecodeShape)
      .NotDifferentiable(kWhy)
      .Doc("The characters of strings, and the bytes at which they begin.");
  registry.Op("UnicodeEncode")
      .Shape(EncodeShape)
      .NotDifferentiable(kWhy)
      .Doc("Strings made of rows of characters.");
  registry.Op("UnicodeScript")
      .Shape(UnchangedShape)
      .NotDifferentiable(kWhy)
      .Doc("The number of the script that a character belongs to.");
  registry.Op("UnicodeTranscode")
      .Shape(UnchangedShape)
      .NotDifferentiable(kWhy)
      .Doc("Strings in another encoding.");
}
