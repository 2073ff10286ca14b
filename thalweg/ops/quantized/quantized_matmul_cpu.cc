// SPDX-License-Identifier: Apache-2.0
#include "thalweg/ops/quantized/level_weight.h"
#include "thalweg/ops/quantized/product_kernel.h"

namespace thalweg {
namespace {

using compute::LevelMatrix;
using compute::ProductSize;
using compute::RealRange;

constexpr ProductKind kProductPlain{}, kProductBias{.bias = true},
    kProductRelu{.bias = true, .relu = true}, kProductRequantize{.bias = true, .requantize = true},
    kProductReluRequantize{.bias = true, .relu = true, .requantize = true},
    kDequantize{.bias = true, .dequantize = true};

template <const ProductKind& kKind>
class QuantizedMatMulCpu : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    auto kernel = std::make_unique<QuantizedMatMulCpu<kKind>>();
    ASSIGN_OR_RETURN(kernel->transpose_a_, c.Attr<bool>("transpose_a"));
    ASSIGN_OR_RETURN(kernel->transpose_b_, c.Attr<bool>("transpose_b"));
    kernel->to_ = c.output_type(0);
    RETURN_IF_ERROR(kernel->weight_.Open(c));
    if (kKind.bias) {
      ASSIGN_OR_RETURN(const std::string mode, c.Attr<std::string>("input_quant_mode"));
      kernel->scaled_ = mode == "SCALED";
    }
    return std::unique_ptr<Kernel>(std::move(kernel));
  }

  Status Compute(Context& ctx) override {
    const Tensor &a = ctx.input(0), &b = ctx.input(1);
    ASSIGN_OR_RETURN(const ProductSize size, SizeOf(a, b));
    const ProductInputs inputs(kKind);
    ASSIGN_OR_RETURN(const RealRange of_a, RisingRange(ctx, inputs.a, "a"));
    ASSIGN_OR_RETURN(const RealRange of_b, RisingRange(ctx, inputs.b, "b"));
    const Shape to{size.m, size.n};
    const LevelMatrix left{.dtype = a.dtype(),
                           .levels = a.raw_data(),
                           .zero = ZeroOf(ctx, inputs, of_a),
                           .transposed = transpose_a_};
    LevelMatrix right{.dtype = b.dtype(),
                      .levels = b.raw_data(),
                      .zero = kKind.bias ? 0 : compute::ZeroLevel(b.dtype(), of_b),
                      .transposed = transpose_b_};
    ASSIGN_OR_RETURN(const Tensor packed, weight_.Packed(ctx, size, right, &b));
    if (!packed.empty()) right.packed = packed.raw_data();
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, to_, to));
    const auto multiply = [&](auto&& sums) {
      return compute::LevelProduct(ctx.work(), size, left, right, sums);
    };
    const double step_a = kKind.dequantize && scaled_
                              ? Reach(of_a) / 255
                              : static_cast<double>(StepOf(a.dtype(), of_a));
    const double step = step_a * (Reach(of_b) / 127);
    const auto steps = [&] { return std::vector<double>(static_cast<size_t>(size.n), step); };
    if (kKind.requantize) {
      ASSIGN_OR_RETURN(Requantization made,
                       MakeRequantization(ctx, kKind, inputs, steps(), to_, to));
      return multiply(
          compute::RequantizedSums(ctx.work().isa(), made.Rule(), to_, out->mutable_raw_data()));
    }
    if (kKind.dequantize) {
      RETURN_IF_ERROR(ScalarRange(ctx, inputs.wanted, "freezed").status());
      ASSIGN_OR_RETURN(const std::vector<double> levels, BiasLevels(ctx, inputs.bias, steps()));
      std::vector<float> bias;
      for (double level : levels) bias.push_back(static_cast<float>(level * step));
      return multiply(compute::RealSums(ctx.work().isa(), size.n, static_cast<float>(step),
                                        bias.data(), static_cast<float*>(out->mutable_raw_data())));
    }
    RETURN_IF_ERROR(multiply(static_cast<int32_t*>(out->mutable_raw_data())));
    return Finish(ctx, inputs, of_a, of_b, out);
  }

 private:
  Result<ProductSize> SizeOf(const Tensor& a, const Tensor& b) const {
    if (a.rank() != 2 || b.rank() != 2) {
      return InvalidArgument("a and b must be matrices, got shapes ", a.shape(), " and ",
                             b.shape());
    }
    const int64_t m = a.dim(transpose_a_ ? 1 : 0), k = a.dim(transpose_a_ ? 0 : 1);
    const int64_t n = b.dim(transpose_b_ ? 0 : 1);
    if (k != b.dim(transpose_b_ ? 1 : 0)) {
      return InvalidArgument("Matrix size-incompatible: In[0]: ", a.shape(),
                             ", In[1]: ", b.shape());
    }
    return ProductSize{.m = m, .n = n, .k = k};
  }

  // The level of a that means 0. Of SCALED it is 0, and a bias of integers makes up for another.
  int64_t ZeroOf(const Context& ctx, const ProductInputs& inputs, RealRange range) const {
    if (kKind.bias && (scaled_ || ctx.input(inputs.bias).dtype() != DType::kFloat)) return 0;
    return compute::ZeroLevel(ctx.input(0).dtype(), range);
  }

  // The range of products as they are, and the bias.
  Status Finish(Context& ctx, const ProductInputs& inputs, RealRange of_a, RealRange of_b,
                Tensor* out) {
    const double step_a = ScaledStep(ctx.input(0).dtype(), of_a);
    const double step_b = ScaledStep(ctx.input(1).dtype(), of_b);
    SetRange(ctx, 1, ProductRange(static_cast<float>(step_a), static_cast<float>(step_b)));
    if (!kKind.bias) return OkStatus();
    const int64_t columns = out->dim(1);
    const std::vector<double> steps(static_cast<size_t>(columns), step_a * step_b);
    ASSIGN_OR_RETURN(const std::vector<double> bias, BiasLevels(ctx, inputs.bias, steps));
    return compute::AddBias(
        ctx.work(), out->num_elements(),
        {.channels = std::max<int64_t>(1, columns), .bias = bias.data(), .relu = kKind.relu},
        static_cast<int32_t*>(out->mutable_raw_data()));
  }

  bool transpose_a_ = false, transpose_b_ = false, scaled_ = false;
  DType to_ = DType::kQint32;
  LevelWeight weight_;
};

template <const ProductKind& kKind>
void AddWithBias(KernelRegistry& registry, std::string_view op, DType to, bool any_bias = true) {
  for (DType bias : {DType::kFloat, DType::kQint32}) {
    std::vector<KernelType> types = {
        {"T1", DType::kQuint8}, {"T2", DType::kQint8}, {"Toutput", to}};
    if (any_bias) types.push_back({"Tbias", bias});
    registry.Add<QuantizedMatMulCpu<kKind>>(op, kCpu, types);
    if (!any_bias) return;
  }
}

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(quantized_matmul, cpu) {
  registry.Add<QuantizedMatMulCpu<kProductPlain>>(
      "QuantizedMatMul", kCpu,
      {{"T1", DType::kQuint8}, {"T2", DType::kQuint8}, {"Toutput", DType::kQint32}});
  AddWithBias<kProductBias>(registry, "QuantizedMatMulWithBias", DType::kQint32);
  AddWithBias<kProductRelu>(registry, "QuantizedMatMulWithBiasAndRelu", DType::kQint32, false);
  AddWithBias<kProductRequantize>(registry, "QuantizedMatMulWithBiasAndRequantize", DType::kQuint8);
  AddWithBias<kProductReluRequantize>(registry, "QuantizedMatMulWithBiasAndReluAndRequantize",
                                      DType::kQuint8);
  AddWithBias<kDequantize>(registry, "QuantizedMatMulWithBiasAndDequantize", DType::kFloat);
}
