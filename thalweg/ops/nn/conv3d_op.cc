// SPDX-License-Identifier: Apache-2.0
// Conv3D and the operations that compute its gradients.
#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"
#include "thalweg/ops/nn/conv_attrs.h"
#include "thalweg/ops/nn/conv_gradient.h"

namespace thalweg {
namespace {

constexpr ConvNames kConv3D = {"Conv3D", "Conv3DBackpropInputV2", "Conv3DBackpropFilterV2"};

Status Conv3DShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(Slide slide, ParseConv(c, 5));
  ASSIGN_OR_RETURN(const PartialShape volume, c.InputWithRank(0, 5));
  ASSIGN_OR_RETURN(const PartialShape filter, c.InputWithRank(1, 5));
  const int64_t in = volume.dim(slide.format.channels());
  if (in >= 0 && filter.dim(3) >= 0 && in != filter.dim(3)) {
    return InvalidArgument("the input has ", in, " channels, the filter expects ", filter.dim(3));
  }
  RETURN_IF_ERROR(SetWindow(filter, &slide));
  ASSIGN_OR_RETURN(const PartialShape out, SlidShape(slide, volume, filter.dim(4)));
  c.set_output(0, out);
  return OkStatus();
}

// The V1 operations take the tensor itself for its shape.
template <int Input>
Status LikeInputShape(ShapeContext& c) {
  RETURN_IF_ERROR(ParseConv(c, 5).status());
  ASSIGN_OR_RETURN(const PartialShape shape, c.InputWithRank(Input, 5));
  c.set_output(0, shape);
  return OkStatus();
}

template <int Input>
Status SizesInputShape(ShapeContext& c) {
  RETURN_IF_ERROR(ParseConv(c, 5).status());
  RETURN_IF_ERROR(c.InputWithRank(Input, 1).status());
  const PartialShape sizes = c.InputAsShape(Input);
  RETURN_IF_ERROR(Explained(CheckRank(sizes.rank(), 5), "of the sizes"));
  c.set_output(0, sizes.known_rank() ? sizes : PartialShape::OfRank(5));
  return OkStatus();
}

}  // namespace
}  // namespace thalweg

THALWEG_OP(conv3d) {
  registry.Op("Conv3D")
      .Shape(Conv3DShape)
      .Gradient(ConvGradient<kConv3D>)
      .Doc("Slides a filter [planes, rows, columns, in, out] over a batch of volumes.");
  registry.Op("Conv3DBackpropInput")
      .Shape(LikeInputShape<0>)
      .NotDifferentiable("the V2 form is: it takes sizes for its first input")
      .Doc("The gradient of Conv3D by its input, which gives the shape.");
  registry.Op("Conv3DBackpropInputV2")
      .Shape(SizesInputShape<0>)
      .Gradient(ConvInputGradient<kConv3D>)
      .Doc("The gradient of Conv3D by its input.");
  registry.Op("Conv3DBackpropFilter")
      .Shape(LikeInputShape<1>)
      .NotDifferentiable("the V2 form is: it takes sizes for its second input")
      .Doc("The gradient of Conv3D by its filter, which gives the shape.");
  registry.Op("Conv3DBackpropFilterV2")
      .Shape(SizesInputShape<1>)
      .Gradient(ConvFilterGradient<kConv3D>)
      .Doc("The gradient of Conv3D by its filter.");
}
