// SPDX-License-Identifier: Apache-2.0
#include "thalweg/graph/gradient_context.h"
#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"
#include "thalweg/tensor/axis.h"
#include "thalweg/tensor/integers.h"

namespace thalweg {
namespace {

Status TransposeShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const PartialShape perm_shape, c.InputWithRank(1, 1));
  const PartialShape& x = c.input(0);
  const int64_t length = perm_shape.dim(0);
  RETURN_IF_ERROR(
      Explained(CheckDim(length, x.rank()), "perm must be a vector of size ", x.rank()));
  if (length > kMaxRank) return InvalidArgument("perm has ", length, " elements");
  const int rank = x.known_rank() ? x.rank() : static_cast<int>(length);
  if (rank < 0) return OkStatus();
  PartialShape shape = PartialShape::OfRank(rank);
  const Tensor perm = c.InputValue(1);
  if (!perm.empty()) {
    for (int i = 0; i < rank; ++i) {
      const int64_t given = IntAt(perm, i);
      const std::optional<int> from = AxisFromFront(given, rank);
      if (!from.has_value()) {
        return InvalidArgument("perm dim ", given, " is out of range of input rank ", rank);
      }
      if (x.known_rank()) shape.set_dim(i, x.dim(*from));
    }
  }
  c.set_output(0, std::move(shape));
  return OkStatus();
}

Status TransposeGradient(GradientContext& c) {
  if (!c.has_grad(0)) return OkStatus();
  const Output back = c.b().Op("InvertPermutation", {c.input(1)});
  c.set_input_grad(0, c.b().Op(c.node().op_name(), {c.grad(0), back}));
  return c.b().status();
}

Status InvertPermutationShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(PartialShape shape, c.InputWithRank(0, 1));
  c.set_output(0, std::move(shape));
  return OkStatus();
}

}  // namespace
}  // namespace thalweg

THALWEG_OP(transpose) {
  registry.Op("Transpose")
      .Shape(TransposeShape)
      .Gradient(TransposeGradient)
      .Doc("A tensor with its dimensions in the order of perm.");
  registry.Op("ConjugateTranspose")
      .Shape(TransposeShape)
      .Gradient(TransposeGradient)
      .Doc("The complex conjugate with its dimensions in the order of perm.");
  registry.Op("InvertPermutation")
      .Shape(InvertPermutationShape)
      .NotDifferentiable("a permutation is made of integers")
      .Doc("The permutation that undoes another: y[x[i]] = i.");
}
