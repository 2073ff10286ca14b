// SPDX-License-Identifier: Apache-2.0
#include "thalweg/graph/shape_inference.h"

#include "thalweg/graph/shape_values.h"
#include "thalweg/tensor/axis.h"
#include "thalweg/tensor/integers.h"

namespace thalweg {

ShapeContext::ShapeContext(const Node& node)
    : node_(node),
      outputs_(static_cast<size_t>(node.num_outputs())),
      handles_(static_cast<size_t>(node.num_outputs())) {}

const PartialShape& ShapeContext::input(int i) const { return node_.input(i).shape(); }

Result<PartialShape> ShapeContext::InputWithRank(int i, int rank) const {
  const PartialShape& shape = input(i);
  if (!shape.known_rank()) return PartialShape::OfRank(rank);
  RETURN_IF_ERROR(Explained(CheckRank(shape.rank(), rank), "of input ", i));
  return shape;
}

Result<PartialShape> ShapeContext::InputWithRankAtLeast(int i, int rank) const {
  const PartialShape& shape = input(i);
  RETURN_IF_ERROR(Explained(CheckRankAtLeast(shape.rank(), rank), "of input ", i));
  return shape;
}

Tensor ShapeContext::InputValue(int i) const { return ConstantValue(node_.input(i)); }

PartialShape ShapeContext::InputAsShape(int i) const {
  return ConstantValueAsShape(node_.input(i));
}

Result<PartialShape> ShapeContext::ShapeArgument(int i) const {
  RETURN_IF_ERROR(InputWithRank(i, 1).status());
  const Tensor value = InputValue(i);
  for (int64_t d = 0; !value.empty() && d < value.num_elements(); ++d) {
    const int64_t size = IntAt(value, d);
    if (size < PartialShape::kUnknownDim) {
      return InvalidArgument("Invalid value in tensor used for shape: ", size);
    }
  }
  return InputAsShape(i);
}

const HandleShape* ShapeContext::input_handle_shape(int i) const {
  const Output& source = node_.input(i);
  return source.node == nullptr ? nullptr : source.node->output_handle_shape(source.index);
}

Status UnchangedShape(ShapeContext& c) {
  for (int i = 0; i < c.num_outputs(); ++i) {
    c.set_output(i, c.input(0));
    if (c.input_handle_shape(0) != nullptr) c.set_output_handle(i, *c.input_handle_shape(0));
  }
  return OkStatus();
}

Status ScalarShape(ShapeContext& c) {
  for (int i = 0; i < c.num_outputs(); ++i) c.set_output(i, Shape());
  return OkStatus();
}

Status NoOutputs(ShapeContext&) { return OkStatus(); }

Status UnknownShape(ShapeContext&) { return OkStatus(); }

Status BroadcastBinaryShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(PartialShape shape, BroadcastShapes(c.input(0), c.input(1)));
  c.set_output(0, std::move(shape));
  return OkStatus();
}

Status MergedInputsShape(ShapeContext& c) {
  PartialShape merged;
  for (int i = 0; i < c.num_inputs(); ++i) {
    Result<PartialShape> next = merged.MergeWith(c.input(i));
    RETURN_IF_ERROR(Explained(next.status(), "of input ", i, " and those before it"));
    merged = *std::move(next);
  }
  c.set_output(0, std::move(merged));
  return OkStatus();
}

Result<PartialShape> BroadcastShapes(const PartialShape& a, const PartialShape& b) {
  if (!a.known_rank() || !b.known_rank()) return PartialShape::Unknown();
  const PartialShape& longer = a.rank() >= b.rank() ? a : b;
  const PartialShape& shorter = a.rank() >= b.rank() ? b : a;
  PartialShape result = longer;
  const int shift = longer.rank() - shorter.rank();
  for (int i = 0; i < shorter.rank(); ++i) {
    const int64_t x = longer.dim(shift + i);
    const int64_t y = shorter.dim(i);
    int64_t size = x;
    if (x == 1) {
      size = y;
    } else if (x == PartialShape::kUnknownDim) {
      // Unknown and 1 give the unknown; unknown and n > 1 can only be n.
      size = y == 1 ? x : y;
    } else if (y != 1 && y != PartialShape::kUnknownDim && x != y) {
      return InvalidArgument(
          "Dimensions must be equal, but are ", a.dim(a.rank() - shorter.rank() + i), " and ",
          b.dim(b.rank() - shorter.rank() + i), "; ", a, " and ", b, " do not broadcast together");
    }
    result.set_dim(shift + i, size);
  }
  return result;
}

Result<int64_t> MergeDims(int64_t a, int64_t b) {
  if (a == PartialShape::kUnknownDim) return b;
  if (b != PartialShape::kUnknownDim && a != b) {
    return InvalidArgument("Dimensions must be equal, but are ", a, " and ", b);
  }
  return a;
}

Status CheckDim(int64_t dim, int64_t wanted) {
  if (dim < 0 || wanted < 0 || dim == wanted) return OkStatus();
  return InvalidArgument("Dimension must be ", wanted, " but is ", dim);
}

Status CheckRank(int64_t rank, int64_t wanted) {
  if (rank < 0 || wanted < 0 || rank == wanted) return OkStatus();
  return InvalidArgument("Shape must be rank ", wanted, " but is rank ", rank);
}

Status CheckRankAtLeast(int64_t rank, int64_t wanted) {
  if (rank < 0 || rank >= wanted) return OkStatus();
  return InvalidArgument("Shape must be at least rank ", wanted, " but is rank ", rank);
}

Status CheckRankAtMost(int64_t rank, int64_t wanted) {
  if (rank <= wanted) return OkStatus();
  return InvalidArgument("Shape must be at most rank ", wanted, " but is rank ", rank);
}

Result<int> CheckAxis(int64_t axis, int rank) {
  const std::optional<int> found = AxisFromFront(axis, rank);
  if (found.has_value()) return *found;
  return CheckRankAtLeast(rank, axis < 0 ? -(axis + 1) + int64_t{1} : axis + 1);
}

Result<PartialShape> MergePrefix(const PartialShape& shape, const PartialShape& prefix) {
  if (!shape.known_rank() || !prefix.known_rank()) return shape;
  RETURN_IF_ERROR(CheckRankAtLeast(shape.rank(), prefix.rank()));
  PartialShape merged = shape;
  for (int d = 0; d < prefix.rank(); ++d) {
    ASSIGN_OR_RETURN(const int64_t dim, MergeDims(shape.dim(d), prefix.dim(d)));
    merged.set_dim(d, dim);
  }
  return merged;
}

Result<int64_t> DivideDim(int64_t dim, int64_t divisor) {
  if (dim < 0 || divisor <= 0) return PartialShape::kUnknownDim;
  if (dim % divisor == 0) return dim / divisor;
  return InvalidArgument("Dimension size must be evenly divisible by ", divisor, " but is ", dim);
}

}  // namespace thalweg
