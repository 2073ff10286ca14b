// SPDX-License-Identifier: Apache-2.0
// Conv: convolution over two or three dimensions, with one or more batch dimensions.
#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"
#include "thalweg/ops/nn/conv_any_attrs.h"

namespace thalweg {
namespace {

// Refuses what no convolution has, before what this one's strides do not go with.
Status CheckConvRank(const PartialShape& shape, int64_t extra, std::string_view words) {
  const int64_t rank = shape.rank() - extra;
  if (!shape.known_rank() || rank == 4 || rank == 5) return OkStatus();
  return InvalidArgument(words, rank);
}

Status ConvAnyShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(ConvAny conv, ParseConvAny(c));
  Slide& slide = conv.slide;
  RETURN_IF_ERROR(CheckConvRank(
      c.input(0), conv.batch_dims - 1,
      "Input tensor must be rank 4 or 5, excluding extra batch dimensions, but got: "));
  RETURN_IF_ERROR(CheckConvRank(c.input(1), 0, "Filter tensor must be rank 4 or 5, but got: "));
  ASSIGN_OR_RETURN(const PartialShape image, c.InputWithRank(0, conv.input_rank()));
  ASSIGN_OR_RETURN(const PartialShape filter, c.InputWithRank(1, slide.format.rank));
  const int extra = static_cast<int>(conv.batch_dims) - 1, spatial = conv.spatial();
  Dims one;  // the image with one batch dimension
  for (int i = extra; i < image.rank(); ++i) one.push_back(image.dim(i));
  const int64_t in = one[slide.format.channels()], expected = filter.dim(spatial);
  if (in >= 0 && expected >= 0 && in != expected) {
    return InvalidArgument("the input has ", in, " channels, the filter expects ", expected);
  }
  RETURN_IF_ERROR(SetWindow(filter, &slide));
  ASSIGN_OR_RETURN(const PartialShape out,
                   SlidShape(slide, PartialShape(one), filter.dim(spatial + 1)));
  Dims dims;
  for (int i = 0; i < extra; ++i) dims.push_back(image.dim(i));
  for (int64_t dim : out.dims()) dims.push_back(dim);
  c.set_output(0, PartialShape(dims));
  return OkStatus();
}

}  // namespace
}  // namespace thalweg

THALWEG_OP(conv_any) {
  registry.Op("Conv")
      .Shape(ConvAnyShape)
      .NotDifferentiable("TensorFlow has no gradient of it either; Conv2D and Conv3D have")
      .Doc("Convolution over two or three dimensions, with one or more batch dimensions.");
}
