// SPDX-License-Identifier: Apache-2.0
#include "thalweg/compute/gemm/gemm.h"
#include "thalweg/ops/quantized/product_kernel.h"

namespace thalweg {
namespace {

using compute::RealRange;
using compute::Transpose;

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
    if (kKind.bias) {
      ASSIGN_OR_RETURN(const std::string mode, c.Attr<std::string>("input_quant_mode"));
      kernel->scaled_ = mode == "SCALED";
    }
    return std::unique_ptr<Kernel>(std::move(kernel));
  }

  Status Compute(Context& ctx) override {
    const Tensor &a = ctx.input(0), &b = ctx.input(1);
    ASSIGN_OR_RETURN(const compute::GemmShape shape, ProductShape(a, b));
    const ProductInputs inputs(kKind);
    ASSIGN_OR_RETURN(const RealRange of_a, RisingRange(ctx, inputs.a, "a"));
    ASSIGN_OR_RETURN(const RealRange of_b, RisingRange(ctx, inputs.b, "b"));
    const Shape to{shape.m, shape.n};
    ASSIGN_OR_RETURN(Tensor wide_a, Widen(ctx, a, ZeroOf(ctx, inputs, of_a)));
    ASSIGN_OR_RETURN(Tensor wide_b,
                     Widen(ctx, b, kKind.bias ? 0 : compute::ZeroLevel(b.dtype(), of_b)));
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, to_, to));
    Tensor products = *out;
    if (to_ != DType::kQint32) {
      ASSIGN_OR_RETURN(products, ctx.AllocateTemporary(DType::kQint32, to));
    }
    auto* levels = static_cast<int32_t*>(products.mutable_raw_data());
    RETURN_IF_ERROR(compute::Gemm(ctx.work(), DType::kInt32, shape, wide_a.raw_data(),
                                  wide_b.raw_data(), levels));
    return Finish(ctx, inputs, of_a, of_b, products, out);
  }

 private:
  Result<compute::GemmShape> ProductShape(const Tensor& a, const Tensor& b) const {
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
    return compute::GemmShape::Dense(m, n, k, transpose_a_ ? Transpose::kYes : Transpose::kNo,
                                     transpose_b_ ? Transpose::kYes : Transpose::kNo);
  }

  // The level of a that means 0. Of SCALED it is 0, and a bias of integers makes up for another.
  int64_t ZeroOf(const Context& ctx, const ProductInputs& inputs, RealRange range) const {
    if (kKind.bias && (scaled_ || ctx.input(inputs.bias).dtype() != DType::kFloat)) return 0;
    return compute::ZeroLevel(ctx.input(0).dtype(), range);
  }

  static Result<Tensor> Widen(Context& ctx, const Tensor& x, int64_t zero) {
    ASSIGN_OR_RETURN(Tensor wide, ctx.AllocateTemporary(DType::kInt32, x.shape()));
    RETURN_IF_ERROR(compute::WidenLevels(ctx.work(), x.dtype(), x.num_elements(), zero,
                                         x.raw_data(), wide.mutable_data<int32_t>()));
    return wide;
  }

  Status Finish(Context& ctx, const ProductInputs& inputs, RealRange of_a, RealRange of_b,
                Tensor& products, Tensor* out) {
    const DType a = ctx.input(0).dtype(), b = ctx.input(1).dtype();
    const int64_t columns = products.dim(1);
    if (!kKind.requantize && !kKind.dequantize) {
      const double step = ScaledStep(a, of_a) * ScaledStep(b, of_b);
      SetRange(ctx, 1,
               ProductRange(static_cast<float>(ScaledStep(a, of_a)),
                            static_cast<float>(ScaledStep(b, of_b))));
      if (!kKind.bias) return OkStatus();
      const std::vector<double> steps(static_cast<size_t>(columns), step);
      ASSIGN_OR_RETURN(const std::vector<double> bias, BiasLevels(ctx, inputs.bias, steps));
      return compute::AddBias(
          ctx.work(), products.num_elements(),
          {.channels = std::max<int64_t>(1, columns), .bias = bias.data(), .relu = kKind.relu},
          static_cast<int32_t*>(products.mutable_raw_data()));
    }
    const double step_a =
        kKind.dequantize && scaled_ ? Reach(of_a) / 255 : static_cast<double>(StepOf(a, of_a));
    const double step = step_a * (Reach(of_b) / 127);
    const std::vector<double> steps(static_cast<size_t>(columns), step);
    if (kKind.requantize) {
      return RequantizeProducts(ctx, kKind, inputs, steps, to_, products, out);
    }
    RETURN_IF_ERROR(ScalarRange(ctx, inputs.wanted, "freezed").status());
    ASSIGN_OR_RETURN(std::vector<double> bias, BiasLevels(ctx, inputs.bias, steps));
    for (double& value : bias) value *= step;
    return compute::ToReals(ctx.work(), products.num_elements(), std::max<int64_t>(1, columns),
                            static_cast<const int32_t*>(products.raw_data()), step, bias.data(),
                            out->mutable_data<float>());
  }

  bool transpose_a_ = false, transpose_b_ = false, scaled_ = false;
  DType to_ = DType::kQint32;
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
