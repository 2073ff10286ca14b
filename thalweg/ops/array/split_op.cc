// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "thalweg/graph/gradient_context.h"
#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"
#include "thalweg/tensor/axis.h"
#include "thalweg/tensor/integers.h"

namespace thalweg {
namespace {

Result<int> SplitAxis(int64_t axis, int rank) {
  const std::optional<int> found = AxisFromFront(axis, rank);
  if (found.has_value()) return *found;
  return InvalidArgument("Dimension size, given by scalar input ", axis, " must be in range [",
                         -rank, ", ", rank, ")");
}

Status SplitShape(ShapeContext& c) {
  RETURN_IF_ERROR(c.InputWithRank(0, 0).status());
  const PartialShape& value = c.input(1);
  const Tensor split_dim = c.InputValue(0);
  if (!value.known_rank()) return OkStatus();
  PartialShape part = PartialShape::OfRank(value.rank());
  if (!split_dim.empty()) {
    ASSIGN_OR_RETURN(const int axis, SplitAxis(IntAt(split_dim, 0), value.rank()));
    part = value;
    ASSIGN_OR_RETURN(const int64_t size, DivideDim(value.dim(axis), c.num_outputs()));
    part.set_dim(axis, size);
  }
  for (int i = 0; i < c.num_outputs(); ++i) c.set_output(i, part);
  return OkStatus();
}

// Known sizes, all of them, add up to a known dimension.
Status CheckSplitSizes(const Tensor& sizes, int64_t dim) {
  int64_t sum = 0;
  std::string text;
  for (int64_t i = 0; i < sizes.num_elements(); ++i) {
    const int64_t size = IntAt(sizes, i);
    if (size < 0 || dim < 0 || __builtin_add_overflow(sum, size, &sum)) return OkStatus();
    text += StrCat(i == 0 ? "" : ",", size);
  }
  if (sum == dim) return OkStatus();
  return InvalidArgument("can't split axis of size ", dim, " into pieces of size [", text, "]");
}

Status SplitVShape(ShapeContext& c) {
  RETURN_IF_ERROR(c.InputWithRank(1, 1).status());
  RETURN_IF_ERROR(c.InputWithRank(2, 0).status());
  const PartialShape& value = c.input(0);
  if (!value.known_rank()) return OkStatus();
  const Tensor split_dim = c.InputValue(2);
  const Tensor sizes = c.InputValue(1);
  for (int i = 0; i < c.num_outputs(); ++i) {
    PartialShape part = PartialShape::OfRank(value.rank());
    if (!split_dim.empty()) {
      ASSIGN_OR_RETURN(const int axis, SplitAxis(IntAt(split_dim, 0), value.rank()));
      if (!sizes.empty()) RETURN_IF_ERROR(CheckSplitSizes(sizes, value.dim(axis)));
      part = value;
      part.set_dim(axis, PartialShape::kUnknownDim);
      if (!sizes.empty() && sizes.num_elements() == c.num_outputs()) {
        int64_t size = IntAt(sizes, i);
        int64_t rest = value.dim(axis);
        for (int k = 0; k < c.num_outputs(); ++k) {
          if (k != i) rest -= std::max<int64_t>(IntAt(sizes, k), 0);
        }
        if (size == -1 && value.dim(axis) >= 0) size = rest;
        if (size >= 0) part.set_dim(axis, size);
      }
    }
    c.set_output(i, std::move(part));
  }
  return OkStatus();
}

template <int kAxis, int kValue>
Status SplitGradient(GradientContext& c) {
  std::vector<Output> parts;
  for (int i = 0; i < c.node().num_outputs(); ++i) parts.push_back(c.grad(i));
  if (parts.empty()) return OkStatus();
  if (parts.size() == 1) {
    c.set_input_grad(kValue, parts[0]);
    return OkStatus();
  }
  parts.push_back(c.input(kAxis));
  c.set_input_grad(kValue, c.b().Op("ConcatV2", std::move(parts)));
  return c.b().status();
}

}  // namespace
}  // namespace thalweg

THALWEG_OP(split) {
  registry.Op("Split")
      .Shape(SplitShape)
      .Gradient(SplitGradient<0, 1>)
      .Doc("A tensor cut into equal parts along a dimension.");
  registry.Op("SplitV")
      .Shape(SplitVShape)
      .Gradient(SplitGradient<2, 0>)
      .Doc(
          "A tensor cut into parts of given sizes along a dimension; one size "
          "may be -1.");
}
