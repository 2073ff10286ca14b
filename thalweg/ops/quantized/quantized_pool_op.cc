// SPDX-License-Identifier: Apache-2.0
#include "thalweg/ops/quantized/range_shape.h"
#include "thalweg/ops/quantized/window_attrs.h"

namespace thalweg {
namespace {

Status PoolShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const PartialShape image, c.InputWithRank(0, 4));
  RETURN_IF_ERROR(ScalarInputs(c, 1, 2));
  ASSIGN_OR_RETURN(const WindowAttrs2D window, ParseWindow2D(c));
  ASSIGN_OR_RETURN(const auto ksize, c.Attr<std::vector<int64_t>>("ksize"));
  RETURN_IF_ERROR(CheckFour(ksize, "ksize"));
  ASSIGN_OR_RETURN(const int64_t rows, SlidSize(window, window.rows, image.dim(1), ksize[1]));
  ASSIGN_OR_RETURN(const int64_t columns, SlidSize(window, window.columns, image.dim(2), ksize[2]));
  c.set_output(0, PartialShape{image.dim(0), rows, columns, image.dim(3)});
  ScalarOutputs(c, 1);
  return OkStatus();
}

}  // namespace
}  // namespace thalweg

THALWEG_OP(quantized_pool) {
  registry.Op("QuantizedAvgPool")
      .Shape(PoolShape)
      .NotDifferentiable(kNotDifferentiable)
      .Doc("Averages of levels over windows, rounded towards zero.");
  registry.Op("QuantizedMaxPool")
      .Shape(PoolShape)
      .NotDifferentiable(kNotDifferentiable)
      .Doc("Greatest levels of windows.");
}
