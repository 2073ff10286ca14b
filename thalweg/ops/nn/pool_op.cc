// SPDX-License-Identifier: Apache-2.0
// Maximum and average pooling over images and volumes, and their gradients.
#include "thalweg/graph/gradient_math.h"
#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"
#include "thalweg/ops/nn/pool_attrs.h"

namespace thalweg {
namespace {

// Window sizes from the last two inputs where they are no attributes: unknown unless constant.
Result<bool> ReadSizes(ShapeContext& c, Slide* slide) {
  if (!slide->ksize.empty()) return true;
  const int n = c.num_inputs();
  for (int i : {n - 2, n - 1}) {
    ASSIGN_OR_RETURN(const PartialShape sizes, c.InputWithRank(i, 1));
    RETURN_IF_ERROR(Explained(CheckDim(sizes.dim(0), slide->format.rank), "the length of ",
                              i == n - 2 ? "ksize" : "strides"));
  }
  const Tensor ksize = c.InputValue(n - 2), strides = c.InputValue(n - 1);
  if (ksize.empty() || strides.empty()) return false;
  RETURN_IF_ERROR(SetPoolSizes(ksize, strides, c.node().op_name(), slide));
  return true;
}

Status PoolShapeOf(ShapeContext& c, bool over_channels) {
  ASSIGN_OR_RETURN(Slide slide, ParsePool(c));
  ASSIGN_OR_RETURN(const PartialShape image, c.InputWithRank(0, slide.format.rank));
  ASSIGN_OR_RETURN(const bool known, ReadSizes(c, &slide));
  PartialShape out = PartialShape::OfRank(slide.format.rank);
  if (known) {
    if (!over_channels) RETURN_IF_ERROR(RefuseChannels(slide));
    ASSIGN_OR_RETURN(const int64_t channels,
                     PooledChannels(slide, image.dim(slide.format.channels())));
    ASSIGN_OR_RETURN(out, SlidShape(slide, image, channels));
  }
  for (int i = 0; i < c.num_outputs(); ++i) c.set_output(i, out);
  return OkStatus();
}
Status MaxPoolShape(ShapeContext& c) { return PoolShapeOf(c, true); }
Status SpatialPoolShape(ShapeContext& c) { return PoolShapeOf(c, false); }

Status ArgmaxShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const Slide slide, ParsePool(c));
  ASSIGN_OR_RETURN(const PartialShape image, c.InputWithRank(0, slide.format.rank));
  const int64_t channels = image.dim(slide.format.channels());
  RETURN_IF_ERROR(PooledChannels(slide, channels).status());
  ASSIGN_OR_RETURN(const PartialShape out, SlidShape(WithoutChannels(slide), image, channels));
  for (int i = 0; i < 2; ++i) c.set_output(i, out);
  return OkStatus();
}

// The gradients have the shape of the image.
Status PoolGradShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const Slide slide, ParsePool(c));
  ASSIGN_OR_RETURN(const PartialShape image, c.InputWithRank(0, slide.format.rank));
  c.set_output(0, image);
  return OkStatus();
}

// What comes out has the shape that pooling leaves.
Status PoolGradGradShape(ShapeContext& c) {
  RETURN_IF_ERROR(MaxPoolShape(c));
  RETURN_IF_ERROR(c.input(0).MergeWith(c.input(2)).status());
  ASSIGN_OR_RETURN(PartialShape out, c.input(1).MergeWith(c.mutable_output(0)));
  c.set_output(0, std::move(out));
  return OkStatus();
}

Status AvgPoolGradShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const Slide slide, ParsePool(c));
  RETURN_IF_ERROR(c.InputWithRank(0, 1).status());
  const PartialShape image = c.InputAsShape(0);
  const int rank = slide.format.rank;
  RETURN_IF_ERROR(Explained(CheckRank(image.rank(), rank), "of orig_input_shape"));
  c.set_output(0, image.known_rank() ? image : PartialShape::OfRank(rank));
  return OkStatus();
}

AttrMap SharedAttrs(const Node& node, bool with_explicit = false) {
  AttrMap attrs;
  for (const char* name :
       {"ksize", "strides", "padding", "data_format", "include_batch_in_index"}) {
    const AttrValue* value = node.FindAttr(name);
    if (value != nullptr) attrs.Set(name, *value);
  }
  const AttrValue* pads = node.FindAttr("explicit_paddings");
  if (with_explicit && pads != nullptr) attrs.Set("explicit_paddings", *pads);
  return attrs;
}

// The inputs of a gradient: x, y, grad, and the sizes of a V2 operation, its last two inputs.
std::vector<Output> WithSizes(GradientContext& c, std::vector<Output> inputs) {
  if (c.node().FindAttr("ksize") == nullptr) {
    const int n = c.node().num_inputs();
    inputs.push_back(c.input(n - 2));
    inputs.push_back(c.input(n - 1));
  }
  return inputs;
}

template <const char* Op>
Status MaxPoolGradient(GradientContext& c) {
  GradientMath m(c);
  c.set_input_grad(
      0, m.Op(Op, WithSizes(c, {c.input(0), c.output(0), c.grad(0)}), SharedAttrs(c.node(), true)));
  return m.status();
}

// Linear in input 2; the places do not move with the others.
template <const char* Op>
Status PlacesGradient(GradientContext& c) {
  GradientMath m(c);
  c.set_input_grad(0, m.Op("ZerosLike", {c.input(0)}));
  c.set_input_grad(1, m.Op("ZerosLike", {c.input(1)}));
  AttrMap attrs = SharedAttrs(c.node());
  c.set_input_grad(2, m.Op(Op, WithSizes(c, {c.input(0), c.input(1), c.grad(0)}), attrs));
  return m.status();
}

template <const char* Op>
Status AvgPoolGradient(GradientContext& c) {
  GradientMath m(c);
  c.set_input_grad(0, m.Op(Op, {m.Shape(c.input(0)), c.grad(0)}, SharedAttrs(c.node())));
  return m.status();
}

template <const char* Op>
Status AvgPoolGradGradient(GradientContext& c) {
  GradientMath m(c);
  c.set_input_grad(1, m.Op(Op, {c.grad(0)}, SharedAttrs(c.node())));
  return m.status();
}

Status ArgmaxGradient(GradientContext& c) {
  GradientMath m(c);
  if (c.output(1).dtype() != DType::kInt64) {
    return Unimplemented("the gradient of MaxPoolWithArgmax needs places of type int64");
  }
  c.set_input_grad(0, m.Op("MaxPoolGradWithArgmax", {c.input(0), c.grad(0), c.output(1)},
                           SharedAttrs(c.node())));
  return m.status();
}

constexpr char kMaxGrad[] = "MaxPoolGrad", kMaxGradV2[] = "MaxPoolGradV2";
constexpr char kMaxGradGrad[] = "MaxPoolGradGrad", kMaxGradGradV2[] = "MaxPoolGradGradV2";
constexpr char kMax3DGrad[] = "MaxPool3DGrad", kMax3DGradGrad[] = "MaxPool3DGradGrad";
constexpr char kAvg[] = "AvgPool", kAvgGrad[] = "AvgPoolGrad";
constexpr char kAvg3D[] = "AvgPool3D", kAvg3DGrad[] = "AvgPool3DGrad";

// Name, shape, gradient, line.
struct PoolOp {
  const char* name;
  ShapeFn shape;
  GradientFn gradient;
  const char* doc;
};
constexpr PoolOp kOps[] = {
    {"MaxPool", MaxPoolShape, MaxPoolGradient<kMaxGrad>, "The largest element of each window."},
    {"MaxPoolV2", MaxPoolShape, MaxPoolGradient<kMaxGradV2>,
     "The largest element of each window; sizes are inputs."},
    {"MaxPool3D", MaxPoolShape, MaxPoolGradient<kMax3DGrad>,
     "The largest element of each window of a volume."},
    {"AvgPool", SpatialPoolShape, AvgPoolGradient<kAvgGrad>,
     "The mean of each window, places outside the image not counted."},
    {"AvgPool3D", SpatialPoolShape, AvgPoolGradient<kAvg3DGrad>,
     "The mean of each window of a volume, places outside not counted."},
    {"MaxPoolGrad", PoolGradShape, PlacesGradient<kMaxGradGrad>, "The gradient of MaxPool."},
    {"MaxPoolGradV2", PoolGradShape, PlacesGradient<kMaxGradGradV2>, "The gradient of MaxPoolV2."},
    {"MaxPool3DGrad", PoolGradShape, PlacesGradient<kMax3DGradGrad>, "The gradient of MaxPool3D."},
    {"MaxPoolGradGrad", PoolGradGradShape, PlacesGradient<kMaxGrad>,
     "The gradient of MaxPoolGrad: grad at the places of the largest elements."},
    {"MaxPoolGradGradV2", PoolGradGradShape, PlacesGradient<kMaxGradV2>,
     "The gradient of MaxPoolGradV2: grad at the places of the largest elements."},
    {"MaxPool3DGradGrad", PoolGradGradShape, PlacesGradient<kMax3DGrad>,
     "The gradient of MaxPool3DGrad: grad at the places of the largest elements."},
    {"AvgPoolGrad", AvgPoolGradShape, AvgPoolGradGradient<kAvg>, "The gradient of AvgPool."},
    {"AvgPool3DGrad", AvgPoolGradShape, AvgPoolGradGradient<kAvg3D>, "The gradient of AvgPool3D."},
    {"MaxPoolWithArgmax", ArgmaxShape, ArgmaxGradient,
     "The largest element of each window and where it is."},
};

}  // namespace
}  // namespace thalweg

THALWEG_OP(pool) {
  for (const auto& op : kOps) {
    registry.Op(op.name).Shape(op.shape).Gradient(op.gradient).Doc(op.doc);
  }
  registry.Op("MaxPoolGradWithArgmax")
      .Shape(PoolGradShape)
      .NotDifferentiable("TensorFlow has no gradient of it either")
      .Doc("The gradient of MaxPoolWithArgmax: grad added at its places.");
}
