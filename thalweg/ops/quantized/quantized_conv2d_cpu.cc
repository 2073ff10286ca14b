// SPDX-License-Identifier: Apache-2.0
#include "thalweg/compute/conv/level_conv2d.h"
#include "thalweg/ops/quantized/level_weight.h"
#include "thalweg/ops/quantized/product_kernel.h"
#include "thalweg/ops/quantized/window_attrs.h"

namespace thalweg {
namespace {

using compute::LevelMatrix;
using compute::RealRange;

struct ConvKind {
  ProductKind product;
  bool depthwise = false;
};
constexpr ConvKind kPlain{}, kRelu{{.relu = true}},
    kReluRequantize{{.relu = true, .requantize = true}}, kRequantize{{.requantize = true}},
    kBias{{.bias = true}}, kBiasRelu{{.bias = true, .relu = true}},
    kBiasReluRequantize{{.bias = true, .relu = true, .requantize = true}},
    kBiasRequantize{{.bias = true, .requantize = true}},
    kSumRelu{{.bias = true, .summand = true, .relu = true}},
    kSumReluRequantize{{.bias = true, .summand = true, .relu = true, .requantize = true}},
    kDepthwise{{}, true}, kDepthwiseBias{{.bias = true}, true},
    kDepthwiseRelu{{.bias = true, .relu = true}, true},
    kDepthwiseRequantize{{.bias = true, .relu = true, .requantize = true}, true};

class QuantizedConvCpu : public Kernel {
 public:
  QuantizedConvCpu(const ConvKind& kind, WindowAttrs2D window, DType to)
      : kind_(kind), window_(std::move(window)), to_(to) {}
  Status Open(const KernelConstruction& c) { return weight_.Open(c); }

  Status Compute(Context& ctx) override {
    const Tensor &x = ctx.input(0), &filter = ctx.input(1);
    ASSIGN_OR_RETURN(const compute::Conv2DShape shape, ShapeOf(x, filter));
    const ProductInputs inputs(kind_.product);
    ASSIGN_OR_RETURN(const RealRange of_x, ScalarRange(ctx, inputs.a, "input"));
    ASSIGN_OR_RETURN(const std::vector<RealRange> of_filter,
                     ChannelRanges(ctx, inputs.b, shape.out_channels));
    const RealRange first = of_filter.empty() ? RealRange{} : of_filter[0];
    // Only a filter of unsigned levels has a level of zero that is not 0.
    const bool zeros = filter.dtype() == DType::kQuint8;
    const auto operand = [&](const Tensor& tensor, RealRange range) {
      return LevelMatrix{.dtype = tensor.dtype(),
                         .levels = tensor.raw_data(),
                         .zero = zeros ? compute::ZeroLevel(tensor.dtype(), range) : 0};
    };
    ASSIGN_OR_RETURN(const Shape to, Shape::Make(Dims{shape.batch, shape.rows.output,
                                                      shape.columns.output, shape.out_channels}));
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, to_, to));
    const std::vector<double> steps = StepsOf(x.dtype(), of_x, of_filter);
    const LevelMatrix of_image = operand(x, of_x), weights = operand(filter, first);
    if (!kind_.product.requantize) {
      RETURN_IF_ERROR(Convolve(ctx, shape, of_image, weights, *out));
      return Finish(ctx, inputs, of_x, of_filter, steps, out);
    }
    ASSIGN_OR_RETURN(Requantization made,
                     MakeRequantization(ctx, kind_.product, inputs, steps, to_, to));
    if (out->num_elements() == 0) return OkStatus();
    const compute::RequantizedSums sums(ctx.work().isa(), made.Rule(), to_,
                                        out->mutable_raw_data());
    if (compute::HasLevelConv2D(shape, of_image)) {
      return ConvolveLevels(ctx, shape, of_image, weights, sums);
    }
    ASSIGN_OR_RETURN(Tensor products, ctx.AllocateTemporary(DType::kQint32, to));
    RETURN_IF_ERROR(Convolve(ctx, shape, of_image, weights, products));
    return compute::TakeSums(ctx.work(), shape.batch * shape.OutPixels(), shape.out_channels,
                             static_cast<const int32_t*>(products.raw_data()), sums);
  }

 private:
  static Result<compute::Window> WindowOf(const WindowAttrs2D& attrs, const SlidingWindow& w,
                                          int64_t input, int64_t size) {
    const auto padding = attrs.padding == "SAME"    ? compute::Padding::kSame
                         : attrs.padding == "VALID" ? compute::Padding::kValid
                                                    : compute::Padding::kExplicit;
    return compute::MakeWindow(input, size, w.stride, w.dilation, padding, w.before, w.after);
  }

  Result<compute::Conv2DShape> ShapeOf(const Tensor& x, const Tensor& filter) const {
    if (x.rank() != 4 || filter.rank() != 4) {
      return InvalidArgument("input and filter must be 4-dimensional, got ", x.shape(), " and ",
                             filter.shape());
    }
    if (x.dim(3) != filter.dim(2)) {
      return InvalidArgument("input and filter must have the same depth: ", x.dim(3), " vs ",
                             filter.dim(2));
    }
    compute::Conv2DShape shape{.batch = x.dim(0)};
    ASSIGN_OR_RETURN(shape.rows, WindowOf(window_, window_.rows, x.dim(1), filter.dim(0)));
    ASSIGN_OR_RETURN(shape.columns, WindowOf(window_, window_.columns, x.dim(2), filter.dim(1)));
    shape.in_channels = x.dim(3);
    shape.out_channels = filter.dim(3) * (kind_.depthwise ? x.dim(3) : 1);
    if (kind_.depthwise) shape.groups = std::max<int64_t>(1, x.dim(3));
    return shape;
  }

  // sums: where they go, or what becomes of them.
  template <class Sums>
  Status ConvolveLevels(Context& ctx, const compute::Conv2DShape& shape, const LevelMatrix& x,
                        LevelMatrix filter, Sums&& sums) const {
    ASSIGN_OR_RETURN(const Tensor packed,
                     weight_.Packed(ctx, compute::FilterSize(shape), filter, &ctx.input(1)));
    if (!packed.empty()) filter.packed = packed.raw_data();
    return compute::LevelConv2D(ctx.work(), shape, x, filter, sums);
  }

  Status Convolve(Context& ctx, const compute::Conv2DShape& shape, const LevelMatrix& x,
                  const LevelMatrix& filter, Tensor& products) const {
    auto* const sums = static_cast<int32_t*>(products.mutable_raw_data());
    if (compute::HasLevelConv2D(shape, x)) return ConvolveLevels(ctx, shape, x, filter, sums);
    ASSIGN_OR_RETURN(const Tensor wide_x, Widen(ctx, ctx.input(0), x.zero));
    ASSIGN_OR_RETURN(const Tensor wide_filter, Widen(ctx, ctx.input(1), filter.zero));
    return compute::Conv2D(ctx.work(), DType::kInt32, shape, wide_x.raw_data(),
                           wide_filter.raw_data(), products.mutable_raw_data());
  }

  static Result<Tensor> Widen(Context& ctx, const Tensor& x, int64_t zero) {
    ASSIGN_OR_RETURN(Tensor wide, ctx.AllocateTemporary(DType::kInt32, x.shape()));
    RETURN_IF_ERROR(compute::WidenLevels(ctx.work(), x.dtype(), x.num_elements(), zero,
                                         x.raw_data(), wide.mutable_data<int32_t>()));
    return wide;
  }

  // What levels of products mean follows from the ends of the ranges that are farther from 0.
  static std::vector<double> StepsOf(DType x, RealRange of_x,
                                     const std::vector<RealRange>& of_filter) {
    const double step_x = Reach(of_x) / (x == DType::kQint8 ? 127 : 255);
    std::vector<double> steps;
    for (const RealRange& range : of_filter) steps.push_back(step_x * (Reach(range) / 127));
    return steps;
  }

  Status Finish(Context& ctx, const ProductInputs& inputs, RealRange of_x,
                const std::vector<RealRange>& of_filter, const std::vector<double>& steps,
                Tensor* out) const {
    const DType x = ctx.input(0).dtype();
    RETURN_IF_ERROR(SetRanges(ctx, inputs, static_cast<float>(ScaledStep(x, of_x)), of_filter));
    ASSIGN_OR_RETURN(const std::vector<double> bias, BiasLevels(ctx, inputs.bias, steps));
    compute::BiasRule rule{.channels = std::max<int64_t>(1, out->dim(3)),
                           .bias = bias.empty() ? nullptr : bias.data(),
                           .relu = kind_.product.relu};
    std::vector<double> levels_per_unit;
    if (inputs.summand >= 0) {
      const Tensor& summand = ctx.input(inputs.summand);
      if (summand.shape() != out->shape()) {
        return InvalidArgument("summand must have shape ", out->shape(), ", got ", summand.shape());
      }
      for (double step : steps) levels_per_unit.push_back(1 / step);
      rule.summand = summand.data<float>();
      rule.summand_scales = levels_per_unit.data();
    }
    if (rule.bias == nullptr && !rule.relu) return OkStatus();
    return compute::AddBias(ctx.work(), out->num_elements(), rule,
                            static_cast<int32_t*>(out->mutable_raw_data()));
  }

  // The products' ranges, in the shape of the filter's.
  static Status SetRanges(Context& ctx, const ProductInputs& inputs, float step_x,
                          const std::vector<RealRange>& of_filter) {
    const DType filter = ctx.input(1).dtype();
    const Shape ends = ctx.input(inputs.b).shape();
    for (int i = 0; i < 2; ++i) {
      ASSIGN_OR_RETURN(Tensor * end, ctx.AllocateOutput(i + 1, DType::kFloat, ends));
      for (int64_t c = 0; c < ends.num_elements(); ++c) {
        const auto at = static_cast<size_t>(c);
        const RealRange given = at < of_filter.size() ? of_filter[at] : RealRange{};
        const RealRange range = ProductRange(step_x, static_cast<float>(ScaledStep(filter, given)));
        end->mutable_data<float>()[c] = i == 0 ? range.low : range.high;
      }
    }
    return OkStatus();
  }

  const ConvKind kind_;
  const WindowAttrs2D window_;
  const DType to_;
  LevelWeight weight_;
};

template <const ConvKind& kKind>
struct MadeConv {
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    ASSIGN_OR_RETURN(WindowAttrs2D window, ParseWindow2D(c));
    auto kernel = std::make_unique<QuantizedConvCpu>(kKind, std::move(window), c.output_type(0));
    RETURN_IF_ERROR(kernel->Open(c));
    return std::unique_ptr<Kernel>(std::move(kernel));
  }
};

// Inputs of unsigned levels, and of signed ones where TensorFlow has them; the bias of either type
// where the schema leaves it open.
template <const ConvKind& kKind>
void AddConv(KernelRegistry& registry, std::string_view op, DType to, bool any_input = false,
             bool any_bias = false, DType summand = DType::kInvalid) {
  for (DType input : {DType::kQuint8, DType::kQint8}) {
    if (input == DType::kQint8 && !any_input) continue;
    for (DType bias : {DType::kFloat, DType::kQint32}) {
      std::vector<KernelType> types = {
          {"Tinput", input}, {"Tfilter", DType::kQint8}, {"out_type", to}};
      if (any_bias) types.push_back({"Tbias", bias});
      if (summand != DType::kInvalid) types.push_back({"Tsummand", summand});
      registry.Add<MadeConv<kKind>>(op, kCpu, types);
      if (!any_bias) break;
    }
  }
}

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(quantized_conv2d, cpu) {
  constexpr DType kWide = DType::kQint32, kSigned = DType::kQint8, kUnsigned = DType::kQuint8;
  registry.Add<MadeConv<kPlain>>(
      "QuantizedConv2D", kCpu,
      {{"Tinput", kUnsigned}, {"Tfilter", kUnsigned}, {"out_type", kWide}});
  AddConv<kPlain>(registry, "QuantizedConv2D", kWide);
  AddConv<kPlain>(registry, "QuantizedConv2DPerChannel", kWide);
  AddConv<kRelu>(registry, "QuantizedConv2DAndRelu", kWide);
  AddConv<kReluRequantize>(registry, "QuantizedConv2DAndReluAndRequantize", kUnsigned);
  AddConv<kRequantize>(registry, "QuantizedConv2DAndRequantize", kSigned);
  AddConv<kBias>(registry, "QuantizedConv2DWithBias", kWide, true);
  AddConv<kBiasRelu>(registry, "QuantizedConv2DWithBiasAndRelu", kWide, true);
  AddConv<kBiasReluRequantize>(registry, "QuantizedConv2DWithBiasAndReluAndRequantize", kUnsigned,
                               true, true);
  AddConv<kBiasRequantize>(registry, "QuantizedConv2DWithBiasAndRequantize", kSigned, true, true);
  AddConv<kSumRelu>(registry, "QuantizedConv2DWithBiasSumAndRelu", kWide);
  AddConv<kSumReluRequantize>(registry, "QuantizedConv2DWithBiasSumAndReluAndRequantize", kUnsigned,
                              false, true, kUnsigned);
  AddConv<kSumReluRequantize>(registry, "QuantizedConv2DWithBiasSignedSumAndReluAndRequantize",
                              kUnsigned, false, true, kSigned);
  AddConv<kDepthwise>(registry, "QuantizedDepthwiseConv2D", kWide);
  AddConv<kDepthwiseBias>(registry, "QuantizedDepthwiseConv2DWithBias", kWide);
  AddConv<kDepthwiseRelu>(registry, "QuantizedDepthwiseConv2DWithBiasAndRelu", kWide);
  AddConv<kDepthwiseRequantize>(registry, "QuantizedDepthwiseConv2DWithBiasAndReluAndRequantize",
                                kUnsigned, false, true);
}
