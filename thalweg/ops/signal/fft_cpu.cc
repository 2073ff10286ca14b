// SPDX-License-Identifier: Apache-2.0
#include "thalweg/compute/signal/fft.h"
#include "thalweg/kernel/kernel_registry.h"
#include "thalweg/tensor/integers.h"

namespace thalweg {
namespace {

using compute::FftKind;
using compute::FftProblem;

// What of the last kRank dimensions the transform takes and gives; `out` becomes the output's
// shape.
template <int kRank>
Status Describe(const Tensor& input, const Tensor* lengths, FftProblem& problem, Dims& out) {
  if (input.rank() < kRank) {
    return InvalidArgument("Input must have rank of at least ", kRank, " but got: ", input.rank());
  }
  Dims given;
  if (lengths != nullptr) {
    ASSIGN_OR_RETURN(given, IntVector(*lengths, "fft_length"));
    if (given.size() != kRank) {
      return InvalidArgument("fft_length must have shape [", kRank, "], got ", lengths->shape());
    }
  }
  const int first = input.rank() - kRank;
  problem.batch = 1;
  for (int d = 0; d < first; ++d) {
    problem.batch *= input.dim(d);
    out.push_back(input.dim(d));
  }
  for (int i = 0; i < kRank; ++i) {
    const int64_t have = input.dim(first + i), n = lengths == nullptr ? have : given[i];
    const bool half = i == kRank - 1 && problem.kind != FftKind::kComplex;
    if (n < 0) return InvalidArgument("fft_length[", i, "] must be >= 0, but got: ", n);
    const int64_t needed = half && problem.kind == FftKind::kComplexToReal ? n / 2 + 1 : n;
    if (n > 0 && have < needed) {
      return InvalidArgument("Input dimension ", first + i, " must have length of at least ",
                             needed, " but got: ", have);
    }
    problem.input.push_back(have);
    problem.length.push_back(n);
    out.push_back(half && problem.kind == FftKind::kRealToComplex ? (n == 0 ? 0 : n / 2 + 1) : n);
  }
  return OkStatus();
}

template <FftKind kKind, bool kInverse, int kRank>
class FftCpu : public Kernel {
 public:
  explicit FftCpu(DType dtype) : dtype_(dtype) {}
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    const DType in = c.input_type(0), out = c.output_type(0);
    const auto is_double = [](DType t) { return t == DType::kDouble || t == DType::kComplex128; };
    if (is_double(in) != is_double(out)) {
      return InvalidArgument("the real and the complex type must be of one precision, got ", in,
                             " and ", out);
    }
    return std::unique_ptr<Kernel>(std::make_unique<FftCpu>(out));
  }

  Status Compute(Context& ctx) override {
    FftProblem problem{.kind = kKind, .inverse = kInverse};
    problem.is_double = dtype_ == DType::kDouble || dtype_ == DType::kComplex128;
    Dims dims;
    const Tensor& input = ctx.input(0);
    const Tensor* const lengths = kKind == FftKind::kComplex ? nullptr : &ctx.input(1);
    RETURN_IF_ERROR(Describe<kRank>(input, lengths, problem, dims));
    ASSIGN_OR_RETURN(const Shape shape, Shape::Make({dims.begin(), dims.end()}));
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, dtype_, shape));
    return compute::Fft(ctx.work(), problem, input.raw_data(), out->mutable_raw_data());
  }

 private:
  const DType dtype_;
};

template <int kRank>
void Register(KernelRegistry& registry, const std::string& suffix) {
  for (const DType dtype : {DType::kComplex64, DType::kComplex128}) {
    registry.Add<FftCpu<FftKind::kComplex, false, kRank>>("FFT" + suffix, kCpu,
                                                          {{"Tcomplex", dtype}});
    registry.Add<FftCpu<FftKind::kComplex, true, kRank>>("IFFT" + suffix, kCpu,
                                                         {{"Tcomplex", dtype}});
    const DType real = dtype == DType::kComplex64 ? DType::kFloat : DType::kDouble;
    registry.Add<FftCpu<FftKind::kRealToComplex, false, kRank>>(
        "RFFT" + suffix, kCpu, {{"Treal", real}, {"Tcomplex", dtype}});
    registry.Add<FftCpu<FftKind::kComplexToReal, true, kRank>>(
        "IRFFT" + suffix, kCpu, {{"Treal", real}, {"Tcomplex", dtype}});
  }
}

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(fft, cpu) {
  Register<1>(registry, "");
  Register<2>(registry, "2D");
  Register<3>(registry, "3D");
}
