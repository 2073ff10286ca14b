// SPDX-License-Identifier: Apache-2.0
// ReadFile, WriteFile and MatchingFiles.
#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"

namespace thalweg {
namespace {

Status ContentsShape(ShapeContext& c) {
  RETURN_IF_ERROR(c.InputWithRank(0, 0).status());
  return ScalarShape(c);
}

Status NothingShape(ShapeContext& c) {
  RETURN_IF_ERROR(c.InputWithRank(0, 0).status());
  return c.InputWithRank(1, 0).status();
}

Status NamesShape(ShapeContext& c) {
  RETURN_IF_ERROR(Explained(CheckRankAtMost(c.input(0).rank(), 1), "of the patterns"));
  c.set_output(0, PartialShape::OfRank(1));
  return OkStatus();
}

constexpr const char* kFileText = "text has no derivative";

}  // namespace
}  // namespace thalweg

THALWEG_OP(whole_file) {
  registry.Op("MatchingFiles")
      .Shape(NamesShape)
      .NotDifferentiable(kFileText)
      .Doc("The names of the files that match patterns, sorted.");
  registry.Op("ReadFile")
      .Shape(ContentsShape)
      .NotDifferentiable(kFileText)
      .Doc("What a file contains.");
  registry.Op("WriteFile")
      .Shape(NothingShape)
      .NotDifferentiable(kFileText)
      .Doc("Writes a file, and makes the directories that it lies in.");
}
