// SPDX-License-Identifier: Apache-2.0
#include "thalweg/graph/op_registry.h"
#include "thalweg/ops/random/seed_shape.h"
#include "thalweg/tensor/integers.h"

namespace thalweg {
namespace {

Status FillShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(PartialShape shape, c.ShapeArgument(0));
  c.set_output(0, std::move(shape));
  return OkStatus();
}

Status StatelessShape(ShapeContext& c) {
  RETURN_IF_ERROR(CheckSeed(c, 1));
  return FillShape(c);
}

Status StatelessUniformIntShape(ShapeContext& c) {
  for (int limit : {2, 3}) RETURN_IF_ERROR(c.InputWithRank(limit, 0).status());
  return StatelessShape(c);
}

Status KeyedShape(ShapeContext& c) {
  RETURN_IF_ERROR(CheckKey(c));
  return FillShape(c);
}

Status KeyedShuffleShape(ShapeContext& c) {
  RETURN_IF_ERROR(CheckKey(c));
  c.set_output(0, c.input(0));
  return OkStatus();
}

Status StatelessMultinomialShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const PartialShape logits, c.InputWithRank(0, 2));
  RETURN_IF_ERROR(c.InputWithRank(1, 0).status());
  RETURN_IF_ERROR(CheckSeed(c, 2));
  const Tensor samples = c.InputValue(1);
  const int64_t columns = samples.empty() ? PartialShape::kUnknownDim : IntAt(samples, 0);
  if (!samples.empty() && columns < 0) {
    return InvalidArgument("num_samples should be nonnegative, got ", columns);
  }
  c.set_output(0, PartialShape{logits.dim(0), columns});
  return OkStatus();
}

Status KeyCounterShape(ShapeContext& c) {
  if (c.num_inputs() > 0) {
    RETURN_IF_ERROR(CheckSeed(c, 0));
    c.set_output(0, PartialShape{1});
    c.set_output(1, PartialShape{2});
  }
  if (c.num_outputs() != 2) c.set_output(c.num_outputs() - 1, PartialShape(Shape{}));
  return OkStatus();
}

}  // namespace
}  // namespace thalweg

THALWEG_OP(stateless_random) {
  constexpr std::string_view kWhy = "random numbers do not depend on the inputs' values";
  struct Row {
    const char* op;
    const char* doc;
    ShapeFn by_seed = StatelessShape;
  };
  constexpr Row kFills[] = {
      {"StatelessRandomUniform",
       "Numbers drawn evenly from [0, 1); the same seed gives the same numbers."},
      {"StatelessRandomNormal", "Normal numbers; the same seed gives the same numbers."},
      {"StatelessTruncatedNormal",
       "Normal numbers below 2 in absolute value; the same seed gives the same numbers."},
      {"StatelessRandomUniformInt",
       "Integers drawn evenly from [minval, maxval); the same seed gives the same numbers.",
       StatelessUniformIntShape},
      {"StatelessRandomUniformFullInt",
       "Integers of all values; the same seed gives the same numbers."},
  };
  for (const Row& row : kFills) {
    registry.Op(row.op).Shape(row.by_seed).NotDifferentiable(kWhy).Doc(row.doc);
    registry.Op(StrCat(row.op, "V2")).Shape(KeyedShape).NotDifferentiable(kWhy).Doc(row.doc);
  }
  registry.Op("StatelessMultinomial")
      .Shape(StatelessMultinomialShape)
      .NotDifferentiable(kWhy)
      .Doc("Class numbers drawn with the probabilities that each row of logits gives.");
  registry.Op("StatelessShuffle")
      .Shape(KeyedShuffleShape)
      .NotDifferentiable("which row goes where is not kept")
      .Doc("The rows of a tensor in random order; the same key gives the same order.");
  constexpr std::string_view kIntegers = "its outputs are integers";
  registry.Op("StatelessRandomGetKeyCounter")
      .Shape(KeyCounterShape)
      .NotDifferentiable(kIntegers)
      .Doc("The key and counter that belong to a seed.");
  registry.Op("StatelessRandomGetKeyCounterAlg")
      .Shape(KeyCounterShape)
      .NotDifferentiable(kIntegers)
      .Doc("The key, counter and algorithm that belong to a seed.");
  registry.Op("StatelessRandomGetAlg")
      .Shape(KeyCounterShape)
      .NotDifferentiable(kIntegers)
      .Doc("The number of the algorithm of this device: 1, Philox.");
}
