// SPDX-License-Identifier: Apache-2.0
#include "thalweg/graph/gradient_context.h"
#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"
#include "thalweg/tensor/integers.h"

namespace thalweg {
namespace {

Status TileShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const PartialShape vector, c.InputWithRank(1, 1));
  const PartialShape& x = c.input(0);
  const int64_t length = vector.dim(0);
  RETURN_IF_ERROR(
      Explained(CheckRank(length, x.rank()), "multiples must have an element for each dimension"));
  if (length > kMaxRank) return InvalidArgument("multiples has ", length, " elements");
  const int rank = x.known_rank() ? x.rank() : static_cast<int>(length);
  if (rank < 0) return OkStatus();
  PartialShape shape = PartialShape::OfRank(rank);
  const PartialShape multiples = c.InputAsShape(1);
  if (multiples.known_rank()) {
    for (int i = 0; i < rank; ++i) {
      if (multiples.dim(i) == 0) shape.set_dim(i, 0);
      if (!x.known_rank() || multiples.dim(i) < 0 || x.dim(i) < 0) continue;
      int64_t size = 0;
      if (__builtin_mul_overflow(multiples.dim(i), x.dim(i), &size)) {
        return InvalidArgument("dimension ", i, ": ", x.dim(i), " times ", multiples.dim(i),
                               " does not fit into 64 bits");
      }
      shape.set_dim(i, size);
    }
  }
  c.set_output(0, std::move(shape));
  return OkStatus();
}

Status TileGradShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const PartialShape vector, c.InputWithRank(1, 1));
  PartialShape x = c.input(0);
  if (!x.known_rank()) return OkStatus();
  RETURN_IF_ERROR(MergeDims(vector.dim(0), x.rank()).status());
  const Tensor multiples = c.InputValue(1);
  for (int i = 0; i < x.rank(); ++i) {
    const int64_t multiple = multiples.empty() ? -1 : IntAt(multiples, i);
    if (!multiples.empty() && (multiple < 1 || (x.dim(i) >= 0 && x.dim(i) % multiple != 0))) {
      return InvalidArgument("dimension ", i, " of size ", x.dim(i), " is no multiple of ",
                             "multiples[", i, "] = ", multiple);
    }
    if (x.dim(i) > 0) x.set_dim(i, multiple < 0 ? -1 : x.dim(i) / multiple);
  }
  c.set_output(0, std::move(x));
  return OkStatus();
}

// The gradient seen as [multiple, dim, multiple, dim ...], summed over the multiples.
Status TileGradient(GradientContext& c) {
  if (!c.has_grad(0)) return OkStatus();
  GraphBuilder& b = c.b();
  const Output multiples = c.input(1);
  const Output shape = b.Op("Shape", {c.input(0)}, {{"out_type", multiples.dtype()}});
  const Output pairs = b.Op("Reshape", {b.Op("Pack", {multiples, shape}, {{"axis", 1}}),
                                        b.Const(std::vector<int32_t>{-1})});
  const Output axes = b.Op("Range", {b.ScalarConst(DType::kInt32, 0), b.Op("Size", {pairs}),
                                     b.ScalarConst(DType::kInt32, 2)});
  c.set_input_grad(0, b.Op("Sum", {b.Op("Reshape", {c.grad(0), pairs}), axes}));
  return b.status();
}

}  // namespace
}  // namespace thalweg

THALWEG_OP(tile) {
  registry.Op("Tile")
      .Shape(TileShape)
      .Gradient(TileGradient)
      .Doc("A tensor repeated multiples[i] times along each dimension i.");
  registry.Op("TileGrad")
      .Shape(TileGradShape)
      .NotDifferentiable("TensorFlow defines no gradient of it")
      .Doc("The sum of the tiles of a tensor: the gradient of Tile.");
}
