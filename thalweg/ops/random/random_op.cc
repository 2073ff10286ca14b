// SPDX-License-Identifier: Apache-2.0
#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"
#include "thalweg/tensor/integers.h"

namespace thalweg {
namespace {

constexpr std::string_view kWhyRandom = "random numbers do not depend on the inputs' values";

Status RandomShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(PartialShape shape, c.ShapeArgument(0));
  c.set_output(0, std::move(shape));
  return OkStatus();
}

Status RandomIntShape(ShapeContext& c) {
  RETURN_IF_ERROR(c.InputWithRank(1, 0).status());
  RETURN_IF_ERROR(c.InputWithRank(2, 0).status());
  return RandomShape(c);
}

Status MultinomialShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const PartialShape logits, c.InputWithRank(0, 2));
  RETURN_IF_ERROR(c.InputWithRank(1, 0).status());
  const Tensor samples = c.InputValue(1);
  const int64_t columns = samples.empty() ? PartialShape::kUnknownDim : IntAt(samples, 0);
  if (!samples.empty() && columns < 0) {
    return InvalidArgument("num_samples should be nonnegative, got ", columns);
  }
  c.set_output(0, PartialShape{logits.dim(0), columns});
  return OkStatus();
}

}  // namespace
}  // namespace thalweg

THALWEG_OP(random) {
  registry.Op("RandomUniform")
      .Shape(RandomShape)
      .NotDifferentiable(kWhyRandom)
      .Doc("Numbers drawn evenly from [0, 1).");
  registry.Op("RandomStandardNormal")
      .Shape(RandomShape)
      .NotDifferentiable(kWhyRandom)
      .Doc("Normal numbers of mean 0 and deviation 1.");
  registry.Op("TruncatedNormal")
      .Shape(RandomShape)
      .NotDifferentiable(kWhyRandom)
      .Doc(
          "Normal numbers of mean 0 and deviation 1, drawn again until below 2 in absolute value.");
  registry.Op("RandomUniformInt")
      .Shape(RandomIntShape)
      .NotDifferentiable(kWhyRandom)
      .Doc("Integers drawn evenly from [minval, maxval).");
  registry.Op("RandomShuffle")
      .Shape(UnchangedShape)
      .NotDifferentiable("which row goes where is not kept")
      .Doc("The rows of a tensor in random order.");
  registry.Op("Multinomial")
      .Shape(MultinomialShape)
      .NotDifferentiable(kWhyRandom)
      .Doc("Class numbers drawn with the probabilities that each row of logits gives.");
}
