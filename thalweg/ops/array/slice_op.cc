// SPDX-License-Identifier: Apache-2.0
#include "thalweg/graph/gradient_context.h"
#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"
#include "thalweg/tensor/integers.h"

namespace thalweg {
namespace {

// Begin and size must be vectors as long as the input's rank.
Result<int> SliceRank(ShapeContext& c) {
  ASSIGN_OR_RETURN(const PartialShape begin, c.InputWithRank(1, 1));
  ASSIGN_OR_RETURN(const PartialShape size, c.InputWithRank(2, 1));
  ASSIGN_OR_RETURN(const PartialShape both, begin.MergeWith(size));
  const int64_t length = both.dim(0);
  const int rank = c.input(0).rank();
  RETURN_IF_ERROR(Explained(CheckRank(rank, length), "begin has ", length, " elements"));
  if (length > kMaxRank) return InvalidArgument("begin has ", length, " elements");
  return rank >= 0 ? rank : static_cast<int>(length);
}

Status SliceShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const int rank, SliceRank(c));
  if (rank < 0) return OkStatus();
  const PartialShape input = c.input(0).known_rank() ? c.input(0) : PartialShape::OfRank(rank);
  const Tensor begin = c.InputValue(1);
  const Tensor size = c.InputValue(2);
  PartialShape shape = PartialShape::OfRank(rank);
  for (int i = 0; i < rank && !size.empty(); ++i) {
    const int64_t wanted = IntAt(size, i);
    if (wanted < -1) {
      return InvalidArgument("Expected size[", i, "] to be -1 or more, but got ", wanted);
    }
    if (wanted >= 0) {
      shape.set_dim(i, wanted);
    } else if (!begin.empty() && input.dim(i) >= 0) {
      const int64_t rest = input.dim(i) - IntAt(begin, i);
      if (IntAt(begin, i) < 0 || rest < 0) {
        return InvalidArgument("Expected begin[", i, "] in [0, ", input.dim(i), "], but got ",
                               IntAt(begin, i));
      }
      shape.set_dim(i, rest);
    }
  }
  if (size.empty()) {
    // Sizes that are themselves shapes may be known in part; -1 means the rest there.
    const PartialShape partial = c.InputAsShape(2);
    if (partial.known_rank() && partial.rank() == rank) shape = partial;
  }
  c.set_output(0, std::move(shape));
  return OkStatus();
}

// Zeros around the gradient: begin before it, what is left of the input behind it.
Status SliceGradient(GradientContext& c) {
  if (!c.has_grad(0)) return OkStatus();
  GraphBuilder& b = c.b();
  const Output begin = c.input(1);
  const AttrMap type = {{"out_type", begin.dtype()}};
  const Output whole = b.Op("Shape", {c.input(0)}, type);
  const Output part = b.Op("Shape", {c.output(0)}, type);
  const Output after = b.Op("Sub", {b.Op("Sub", {whole, part}), begin});
  const Output paddings = b.Op("Pack", {begin, after}, {{"axis", 1}});
  c.set_input_grad(0, b.Op("Pad", {c.grad(0), paddings}));
  return b.status();
}

}  // namespace
}  // namespace thalweg

THALWEG_OP(slice) {
  registry.Op("Slice")
      .Shape(SliceShape)
      .Gradient(SliceGradient)
      .Doc(
          "A block of a tensor: size elements of each dimension from begin on; -1 means all the "
          "rest.");
}
