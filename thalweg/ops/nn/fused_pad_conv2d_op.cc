// SPDX-License-Identifier: Apache-2.0
// FusedPadConv2D and FusedResizeAndPadConv2D: what is done before a convolution, and the
// convolution.
#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"
#include "thalweg/ops/nn/pad_conv_attrs.h"
#include "thalweg/ops/nn/window_shape.h"

namespace thalweg {
namespace {

// `image` before it is padded by what input i says.
Status PaddedConvShape(ShapeContext& c, const PartialShape& image, int i) {
  ASSIGN_OR_RETURN(const WindowAttrs attrs, ParsePadConvAttrs(c));
  ASSIGN_OR_RETURN(const std::string mode, c.Attr<std::string>("mode"));
  ASSIGN_OR_RETURN(const PartialShape paddings, c.InputWithRank(i, 2));
  RETURN_IF_ERROR(
      Explained(CheckRank(image.rank(), paddings.dim(0)), "paddings has a row for each dimension"));
  RETURN_IF_ERROR(Explained(CheckDim(paddings.dim(1), 2), "the columns of paddings"));
  ASSIGN_OR_RETURN(const PartialShape filter, c.InputWithRank(i + 1, 4));
  RETURN_IF_ERROR(MergeDims(image.dim(3), filter.dim(2)).status());
  PartialShape padded{image.dim(0), PartialShape::kUnknownDim, PartialShape::kUnknownDim,
                      image.dim(3)};
  if (const Tensor value = c.InputValue(i); !value.empty()) {
    ASSIGN_OR_RETURN(const MirrorPaddings p, ParseMirrorPaddings(value));
    for (int d = 0; d < 2; ++d) {
      if (image.dim(1 + d) < 0) continue;
      ASSIGN_OR_RETURN(const int64_t size,
                       MirroredSize(image.dim(1 + d), p.before[d], p.after[d], mode == "REFLECT"));
      padded.set_dim(1 + d, size);
    }
  }
  ASSIGN_OR_RETURN(const PartialShape out,
                   SlidShape(attrs, padded, {filter.dim(0), filter.dim(1)}, filter.dim(3)));
  c.set_output(0, out);
  return OkStatus();
}

Status PadShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const PartialShape image, c.InputWithRank(0, 4));
  return PaddedConvShape(c, image, 1);
}

Status ResizeAndPadShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(PartialShape image, c.InputWithRank(0, 4));
  ASSIGN_OR_RETURN(const PartialShape given, c.InputWithRank(1, 1));
  RETURN_IF_ERROR(Explained(given.MergeWith(PartialShape{2}).status(), "of size"));
  const PartialShape size = c.InputAsShape(1);
  for (int d = 0; d < 2; ++d) image.set_dim(1 + d, size.known_rank() ? size.dim(d) : -1);
  return PaddedConvShape(c, image, 2);
}

}  // namespace
}  // namespace thalweg

THALWEG_OP(fused_pad_conv2d) {
  constexpr std::string_view kWhy = "TensorFlow has no gradient of it either";
  registry.Op("FusedPadConv2D")
      .Shape(PadShape)
      .NotDifferentiable(kWhy)
      .Doc("MirrorPad, then Conv2D.");
  registry.Op("FusedResizeAndPadConv2D")
      .Shape(ResizeAndPadShape)
      .NotDifferentiable(kWhy)
      .Doc("ResizeBilinear, then MirrorPad, then Conv2D.");
}
