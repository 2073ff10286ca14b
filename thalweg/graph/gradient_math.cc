// SPDX-License-Identifier: Apache-2.0
#include "thalweg/graph/gradient_math.h"

#include <algorithm>
#include <optional>

namespace thalweg {
namespace {

// Whether an operand of size `own` in some dimension is repeated there beside one of size `other`;
// nothing when that is not known yet. A size of 1 beside an unknown one counts as repeated: a sum
// over a single element does no harm.
std::optional<bool> IsRepeated(int64_t own, int64_t other) {
  constexpr int64_t kUnknown = PartialShape::kUnknownDim;
  if (other == 1 || (own != 1 && own != kUnknown)) return false;
  if (own == 1) return true;
  return std::nullopt;
}

// The axes of the result along which an operand of shape `own` is repeated beside one of shape
// `other`; nothing when the shapes do not tell.
std::optional<std::vector<int32_t>> RepeatedAxes(const PartialShape& own,
                                                 const PartialShape& other) {
  std::vector<int32_t> axes;
  if (other.known_rank() && other.rank() == 0) return axes;
  if (!own.known_rank() || !other.known_rank()) return std::nullopt;
  const int rank = std::max(own.rank(), other.rank());
  for (int d = 0; d < rank; ++d) {
    const int in_own = d - (rank - own.rank()), in_other = d - (rank - other.rank());
    const std::optional<bool> repeated = in_own < 0 ? true
                                         : in_other < 0
                                             ? false
                                             : IsRepeated(own.dim(in_own), other.dim(in_other));
    if (!repeated.has_value()) return std::nullopt;
    if (*repeated) axes.push_back(d);
  }
  return axes;
}

}  // namespace

Output GradientMath::SumOver(Output grad, Output x, const std::vector<int32_t>& axes) {
  if (axes.empty()) return grad;
  const Output sum = Op("Sum", {grad, Ints(axes)});
  // Leading dimensions that x lacks are gone; others that were summed have size 1 in x.
  const bool all_leading =
      b_.ok() && sum.shape().known_rank() && sum.shape().rank() == x.shape().rank();
  return all_leading ? sum : Op("Reshape", {sum, Shape(x)});
}

void GradientMath::SetBroadcast(Output grad0, Output grad1, int i0, int i1) {
  const Output x0 = c_.input(i0), x1 = c_.input(i1);
  if (!b_.ok()) return;
  auto axes0 = RepeatedAxes(x0.shape(), x1.shape());
  auto axes1 = RepeatedAxes(x1.shape(), x0.shape());
  if (x0 == x1) axes0 = axes1 = std::vector<int32_t>();
  if (axes0.has_value()) c_.set_input_grad(i0, SumOver(grad0, x0, *axes0));
  if (axes1.has_value()) c_.set_input_grad(i1, SumOver(grad1, x1, *axes1));
  if (axes0.has_value() && axes1.has_value()) return;
  const Output shape0 = Shape(x0), shape1 = Shape(x1);
  Node* axes = b_.OpNode("BroadcastGradientArgs", {shape0, shape1});
  const auto found_out = [&](Output grad, int of, Output shape) {
    return Op("Reshape", {Op("Sum", {grad, {axes, of}}), shape});
  };
  if (!axes0.has_value()) c_.set_input_grad(i0, found_out(grad0, 0, shape0));
  if (!axes1.has_value()) c_.set_input_grad(i1, found_out(grad1, 1, shape1));
}

}  // namespace thalweg
