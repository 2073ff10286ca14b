// SPDX-License-Identifier: Apache-2.0
// Conv2D and the two operations that compute its gradients.
#include "thalweg/graph/op_registry.h"
#include "thalweg/ops/nn/conv2d_shape.h"
#include "thalweg/ops/nn/conv_gradient.h"

namespace thalweg {
namespace {

constexpr ConvNames kConv2D = {"Conv2D", "Conv2DBackpropInput", "Conv2DBackpropFilter"};

// input_sizes may be the whole shape, or rows and columns.
Status BackpropInputShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const WindowAttrs attrs, ParseWindowAttrs(c, true, true));
  ASSIGN_OR_RETURN(const PartialShape filter, c.InputWithRank(1, 4));
  ASSIGN_OR_RETURN(const PartialShape grad, c.InputWithRank(2, 4));
  RETURN_IF_ERROR(c.InputWithRank(0, 1).status());
  PartialShape sizes = c.InputAsShape(0);
  if (sizes.known_rank() && sizes.rank() == 4) {
    Result<int64_t> batch = MergeDims(sizes.dim(0), grad.dim(0));
    RETURN_IF_ERROR(Explained(batch.status(), "the batches of input_sizes and out_backprop"));
    sizes.set_dim(0, *batch);
    c.set_output(0, sizes);
  } else if (sizes.known_rank() && sizes.rank() == 2) {
    c.set_output(0,
                 ImageShape(attrs.format, grad.dim(0), sizes.dim(0), sizes.dim(1), filter.dim(2)));
  } else if (sizes.known_rank()) {
    return InvalidArgument(
        "Conv2DBackpropInput requires input_sizes to contain 4 values or 2 values, but got: ",
        sizes.rank());
  } else {
    c.set_output(0, PartialShape::OfRank(4));
  }
  return OkStatus();
}

Status BackpropFilterShape(ShapeContext& c) {
  const Status attrs = ParseWindowAttrs(c, true, true).status();
  if (attrs.code() == Code::kUnimplemented)
    return InvalidArgument(attrs.message());  // TensorFlow's
  RETURN_IF_ERROR(attrs);
  RETURN_IF_ERROR(c.InputWithRank(0, 4).status());
  RETURN_IF_ERROR(c.InputWithRank(2, 4).status());
  RETURN_IF_ERROR(c.InputWithRank(1, 1).status());
  const PartialShape sizes = c.InputAsShape(1);
  RETURN_IF_ERROR(Explained(CheckRank(sizes.rank(), 4), "of filter_sizes"));
  c.set_output(0, sizes.known_rank() ? sizes : PartialShape::OfRank(4));
  return OkStatus();
}

}  // namespace
}  // namespace thalweg

THALWEG_OP(conv2d) {
  registry.Op("Conv2D")
      .Shape(Conv2DShape)
      .Gradient(ConvGradient<kConv2D>)
      .Doc("Slides a filter [rows, columns, in, out] over a batch of images.");
  registry.Op("Conv2DBackpropInput")
      .Shape(BackpropInputShape)
      .Gradient(ConvInputGradient<kConv2D>)
      .Doc("The gradient of Conv2D by its input.");
  registry.Op("Conv2DBackpropFilter")
      .Shape(BackpropFilterShape)
      .Gradient(ConvFilterGradient<kConv2D>)
      .Doc("The gradient of Conv2D by its filter.");
}
