// SPDX-License-Identifier: Apache-2.0
// Range and LinSpace: evenly spaced numbers.
#include <cmath>

#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"
#include "thalweg/tensor/integers.h"

namespace thalweg {
namespace {

double NumberAt(const Tensor& tensor) {
  switch (tensor.dtype()) {
    case DType::kFloat:
      return tensor.scalar<float>();
    case DType::kDouble:
      return tensor.scalar<double>();
    default:
      return IsIndexType(tensor.dtype()) ? static_cast<double>(IntAt(tensor, 0)) : 0;
  }
}

Status RangeShape(ShapeContext& c) {
  for (int i = 0; i < 3; ++i) RETURN_IF_ERROR(c.InputWithRank(i, 0).status());
  c.set_output(0, PartialShape::OfRank(1));
  const Tensor start = c.InputValue(0), limit = c.InputValue(1), delta = c.InputValue(2);
  if (start.empty() || limit.empty() || delta.empty()) return OkStatus();
  // Half precision is left to the kernel, which alone counts.
  if (DTypeSize(start.dtype()) < 4) return OkStatus();
  const double from = NumberAt(start), to = NumberAt(limit), step = NumberAt(delta);
  if (step == 0) return InvalidArgument("Requires delta != 0: ", step);
  if ((step > 0 && from > to) || (step < 0 && from < to)) {
    return InvalidArgument(
        "Requires start ",
        step > 0 ? "<= limit when delta > 0: " : ">= limit when delta < 0: ", from, "/", to);
  }
  const double count = std::ceil(std::abs((to - from) / step));
  if (!(count < 9e15)) return InvalidArgument("a range of ", count, " elements is too long");
  c.set_output(0, PartialShape{static_cast<int64_t>(count)});
  return OkStatus();
}

Status LinSpaceShape(ShapeContext& c) {
  for (int i = 0; i < 3; ++i) RETURN_IF_ERROR(c.InputWithRank(i, 0).status());
  const Tensor num = c.InputValue(2);
  c.set_output(0, PartialShape::OfRank(1));
  if (num.empty()) return OkStatus();
  const int64_t count = IntAt(num, 0);
  if (count <= 0) return InvalidArgument("Requires num > 0: ", count);
  c.set_output(0, PartialShape{count});
  return OkStatus();
}

}  // namespace
}  // namespace thalweg

THALWEG_OP(sequence) {
  registry.Op("Range")
      .Shape(RangeShape)
      .NotDifferentiable("its length depends on its inputs")
      .Doc("start, start + delta, ... up to limit, which is not reached.");
  registry.Op("LinSpace")
      .Shape(LinSpaceShape)
      .NotDifferentiable("TensorFlow defines none")
      .Doc("num evenly spaced numbers from start to stop, both with them.");
}
