// SPDX-License-Identifier: Apache-2.0
// Classes drawn as negative examples, with the numbers of times they are expected.
#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"

namespace thalweg {
namespace {

Result<PartialShape> TrueClasses(ShapeContext& c) {
  ASSIGN_OR_RETURN(const int64_t num_true, c.Attr<int64_t>("num_true"));
  if (num_true < 1) return InvalidArgument("num_true must be at least 1, got ", num_true);
  ASSIGN_OR_RETURN(const PartialShape classes, c.InputWithRank(0, 2));
  if (!MergeDims(classes.dim(1), num_true).ok()) {
    return InvalidArgument("true_classes must have num_true = ", num_true, " columns, got shape ",
                           classes.ToString());
  }
  return PartialShape{classes.dim(0), num_true};
}

Status SamplerShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const PartialShape classes, TrueClasses(c));
  ASSIGN_OR_RETURN(const int64_t samples, c.Attr<int64_t>("num_sampled"));
  if (samples < 1) return InvalidArgument("num_sampled must be at least 1, got ", samples);
  c.set_output(0, PartialShape{samples});
  c.set_output(1, classes);
  c.set_output(2, PartialShape{samples});
  return OkStatus();
}

Status AccidentalHitsShape(ShapeContext& c) {
  RETURN_IF_ERROR(TrueClasses(c).status());
  RETURN_IF_ERROR(c.InputWithRank(1, 1).status());
  for (int i = 0; i < 3; ++i) c.set_output(i, PartialShape{PartialShape::kUnknownDim});
  return OkStatus();
}

}  // namespace
}  // namespace thalweg

THALWEG_OP(candidate_sampler) {
  struct Row {
    const char* op;
    const char* doc;
  };
  constexpr Row kRows[] = {
      {"AllCandidateSampler", "All classes."},
      {"FixedUnigramCandidateSampler", "Classes drawn with given weights."},
      {"LearnedUnigramCandidateSampler", "Classes drawn as often as they were true before."},
      {"LogUniformCandidateSampler", "Classes drawn with Zipf's distribution."},
      {"ThreadUnsafeUnigramCandidateSampler", "Classes drawn as often as they were true before."},
      {"UniformCandidateSampler", "Classes drawn evenly."},
  };
  for (const Row& row : kRows) {
    registry.Op(row.op)
        .Shape(SamplerShape)
        .NotDifferentiable("random numbers do not depend on the inputs' values")
        .Doc(row.doc);
  }
  registry.Op("ComputeAccidentalHits")
      .Shape(AccidentalHitsShape)
      .NotDifferentiable("its inputs are classes")
      .Doc("Where sampled candidates are true classes.");
}
