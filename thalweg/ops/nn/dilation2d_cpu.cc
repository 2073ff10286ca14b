// SPDX-License-Identifier: Apache-2.0
#include "thalweg/compute/pool/dilation2d.h"
#include "thalweg/kernel/element_wise.h"
#include "thalweg/ops/nn/dilation2d_attrs.h"
#include "thalweg/ops/nn/slide_kernel.h"

namespace thalweg {
namespace {

class DilationKernel : public Kernel {
 public:
  Status Read(const KernelConstruction& c) {
    ASSIGN_OR_RETURN(slide_, ParseDilation(c));
    return OkStatus();
  }

 protected:
  Result<compute::Dilation2DShape> SizesOf(const Shape& image, const Shape& filter) const {
    if (image.rank() != 4 || filter.rank() != 3) {
      return InvalidArgument("input must have 4 and filter 3 dimensions, got ", image.ToString(),
                             " and ", filter.ToString());
    }
    if (image.dim(3) != filter.dim(2)) {
      return InvalidArgument("input and filter must have the same depth, got ", image.dim(3),
                             " and ", filter.dim(2));
    }
    Slide slide = slide_;
    slide.ksize = {1, filter.dim(0), filter.dim(1), 1};
    ASSIGN_OR_RETURN(const auto windows, MakeWindows(slide, image));
    return compute::Dilation2DShape{image.dim(0), windows[1], windows[2], image.dim(3)};
  }
  static Shape OutputOf(const compute::Dilation2DShape& s) {
    return Shape{s.batch, s.rows.output, s.columns.output, s.channels};
  }

  Slide slide_;
};

class DilationCpu : public DilationKernel {
  Status Compute(Context& ctx) override {
    const Tensor &image = ctx.input(0), &filter = ctx.input(1);
    ASSIGN_OR_RETURN(const auto sizes, SizesOf(image.shape(), filter.shape()));
    ASSIGN_OR_RETURN(Tensor * y, ctx.AllocateOutput(0, image.dtype(), OutputOf(sizes)));
    return compute::Dilation2D(ctx.work(), image.dtype(), sizes, image.raw_data(),
                               filter.raw_data(), y->mutable_raw_data());
  }
};

template <auto Function, int Like>
class DilationGradCpu : public DilationKernel {
  Status Compute(Context& ctx) override {
    const Tensor &image = ctx.input(0), &filter = ctx.input(1), &grad = ctx.input(2);
    ASSIGN_OR_RETURN(const auto sizes, SizesOf(image.shape(), filter.shape()));
    if (grad.shape() != OutputOf(sizes)) {
      return InvalidArgument("out_backprop must have the shape of the output, ",
                             OutputOf(sizes).ToString(), ", got ", grad.shape());
    }
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, grad.dtype(), ctx.input(Like).shape()));
    return Function(ctx.work(), grad.dtype(), sizes, image.raw_data(), filter.raw_data(),
                    grad.raw_data(), out->mutable_raw_data());
  }
};

template <class K>
struct MadeDilation : K {
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    auto kernel = std::make_unique<MadeDilation<K>>();
    RETURN_IF_ERROR(kernel->Read(c));
    return std::unique_ptr<Kernel>(std::move(kernel));
  }
};

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(dilation2d, cpu) {
  using InputGrad = DilationGradCpu<compute::Dilation2DBackwardInput, 0>;
  using FilterGrad = DilationGradCpu<compute::Dilation2DBackwardFilter, 1>;
  for (DType dtype : kReals) {
    registry.Add<MadeDilation<DilationCpu>>("Dilation2D", kCpu, {{"T", dtype}});
    registry.Add<MadeDilation<InputGrad>>("Dilation2DBackpropInput", kCpu, {{"T", dtype}});
    registry.Add<MadeDilation<FilterGrad>>("Dilation2DBackpropFilter", kCpu, {{"T", dtype}});
  }
}
