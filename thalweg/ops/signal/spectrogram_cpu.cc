// SPDX-License-Identifier: Apache-2.0
#include "thalweg/compute/signal/mel.h"
#include "thalweg/compute/signal/spectrogram.h"
#include "thalweg/graph/narrow_attr.h"
#include "thalweg/kernel/kernel_registry.h"
#include "thalweg/tensor/heap_charge.h"

namespace thalweg {
namespace {

class SpectrogramCpu : public Kernel {
 public:
  explicit SpectrogramCpu(const compute::SpectrogramShape& options) : options_(options) {}
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    compute::SpectrogramShape options;
    ASSIGN_OR_RETURN(options.window, Int32Attr(c, "window_size"));
    ASSIGN_OR_RETURN(options.stride, Int32Attr(c, "stride"));
    ASSIGN_OR_RETURN(options.squared, c.Attr<bool>("magnitude_squared"));
    return std::unique_ptr<Kernel>(std::make_unique<SpectrogramCpu>(options));
  }

  Status Compute(Context& ctx) override {
    const Tensor& input = ctx.input(0);
    if (input.rank() != 2) {
      return InvalidArgument("input must be 2-dimensional, got shape ", input.shape());
    }
    compute::SpectrogramShape shape = options_;
    shape.samples = input.dim(0);
    shape.channels = input.dim(1);
    ASSIGN_OR_RETURN(const Shape out,
                     Shape::Make(Dims{shape.channels, shape.frames(), shape.bins()}));
    ASSIGN_OR_RETURN(Tensor * spectra, ctx.AllocateOutput(0, DType::kFloat, out));
    return compute::Spectrogram(ctx.work(), shape, input.data<float>(),
                                spectra->mutable_data<float>());
  }

 private:
  const compute::SpectrogramShape options_;
};

class MfccCpu : public Kernel {
 public:
  explicit MfccCpu(const compute::MelOptions& options) : options_(options) {}
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    compute::MelOptions options;
    ASSIGN_OR_RETURN(const float highest, c.Attr<float>("upper_frequency_limit"));
    ASSIGN_OR_RETURN(const float lowest, c.Attr<float>("lower_frequency_limit"));
    options.highest = highest;
    options.lowest = lowest;
    ASSIGN_OR_RETURN(options.bands, Int32Attr(c, "filterbank_channel_count"));
    ASSIGN_OR_RETURN(options.coefficients, Int32Attr(c, "dct_coefficient_count"));
    return std::unique_ptr<Kernel>(std::make_unique<MfccCpu>(options));
  }

  Status Compute(Context& ctx) override {
    const Tensor &spectra = ctx.input(0), &rate = ctx.input(1);
    if (spectra.rank() != 3) {
      return InvalidArgument("spectrogram must be 3-dimensional, got shape ", spectra.shape());
    }
    if (rate.rank() != 0) {
      return InvalidArgument("Input sample_rate must be a scalar, got shape ", rate.shape());
    }
    compute::MelOptions options = options_;
    options.bins = spectra.dim(2);
    options.rate = rate.scalar<int32_t>();
    HeapCharge tables;
    if (options.bands > 0 && options.coefficients > 0 && options.coefficients <= options.bands &&
        options.bands <= compute::kMostBands) {
      RETURN_IF_ERROR(tables.Set(
          ctx.allocator(), static_cast<size_t>(options.bins) * 16 +
                               static_cast<size_t>(options.bands * options.coefficients) * 8));
    }
    ASSIGN_OR_RETURN(const compute::Mfcc mfcc, compute::Mfcc::Make(options));
    ASSIGN_OR_RETURN(const Shape shape,
                     Shape::Make(Dims{spectra.dim(0), spectra.dim(1), options.coefficients}));
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, DType::kFloat, shape));
    return mfcc.Run(ctx.work(), spectra.dim(0) * spectra.dim(1), spectra.data<float>(),
                    out->mutable_data<float>());
  }

 private:
  const compute::MelOptions options_;
};

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(spectrogram, cpu) {
  registry.Add<SpectrogramCpu>("AudioSpectrogram", kCpu);
  registry.Add<MfccCpu>("Mfcc", kCpu);
}
