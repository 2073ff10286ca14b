// SPDX-License-Identifier: Apache-2.0
// CompareAndBitpack: eight comparisons in a byte.
#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"

namespace thalweg {
namespace {

Status CompareAndBitpackShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(PartialShape packed, c.InputWithRankAtLeast(0, 1));
  RETURN_IF_ERROR(c.InputWithRank(1, 0).status());
  if (packed.known_rank()) {
    const int last = packed.rank() - 1;
    const int64_t size = packed.dim(last);
    if (size > 0 && size % 8 != 0) {
      return InvalidArgument("Dimension size must be evenly divisible by 8 but is ", size);
    }
    packed.set_dim(last, size < 0 ? size : size / 8);
  }
  c.set_output(0, std::move(packed));
  return OkStatus();
}

}  // namespace
}  // namespace thalweg

THALWEG_OP(compare_bitpack) {
  registry.Op("CompareAndBitpack")
      .Shape(CompareAndBitpackShape)
      .NotDifferentiable("bits have no derivatives")
      .Doc(
          "Whether elements are greater than a threshold, eight to a byte, the first as its "
          "highest bit.");
}
