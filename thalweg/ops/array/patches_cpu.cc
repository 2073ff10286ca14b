// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "thalweg/compute/move/strided_copy.h"
#include "thalweg/kernel/kernel_registry.h"
#include "thalweg/ops/array/patch_window.h"

namespace thalweg {
namespace {

class PatchesCpu : public Kernel {
 public:
  explicit PatchesCpu(PatchWindow window) : window_(std::move(window)) {}
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    ASSIGN_OR_RETURN(PatchWindow window, PatchWindowOf(c.node()));
    return std::unique_ptr<Kernel>(std::make_unique<PatchesCpu>(std::move(window)));
  }

  Status Compute(Context& ctx) override {
    const Tensor& x = ctx.input(0);
    const Shape from = x.shape();
    const int rank = window_.rank();
    if (from.rank() != rank + 2) {
      return InvalidArgument("input must be ", rank + 2, "-dimensional, got shape ", from);
    }
    Dims dims = from.dims();
    Dims before;
    for (int d = 0; d < rank; ++d) {
      ASSIGN_OR_RETURN(const PatchPlaces places, window_.PlacesAlong(d, from.dim(d + 1)));
      dims[d + 1] = places.count;
      before.push_back(places.before);
      if (__builtin_mul_overflow(dims[rank + 1], window_.sizes[d], &dims[rank + 1])) {
        return InvalidArgument("patches of this size are too large");
      }
    }
    ASSIGN_OR_RETURN(const Shape to, Shape::Make(dims));
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, x.dtype(), to));
    if (out->num_elements() == 0) return OkStatus();
    if (window_.same) {
      RETURN_IF_ERROR(
          compute::FillZeros(ctx.work(), x.dtype(), out->mutable_raw_data(), out->num_elements()));
    }
    return CopyTaps(ctx, x, to, before, out->mutable_raw_data());
  }

 private:
  // One tap of the window at a time: what it sees in every patch.
  Status CopyTaps(Context& ctx, const Tensor& x, const Shape& to, const Dims& before,
                  void* out) const {
    const Shape from = x.shape();
    const int rank = window_.rank();
    const Dims in_strides = compute::ContiguousStrides(from.dims());
    const Dims out_strides = compute::ContiguousStrides(to.dims());
    Dims steps = in_strides;
    for (int d = 0; d < rank; ++d) steps[d + 1] *= window_.strides[d];
    const int64_t channels = from.dim(rank + 1);
    const int64_t taps = to.dim(rank + 1) / channels;
    for (int64_t tap = 0; tap < taps; ++tap) {
      Dims sizes = to.dims();
      sizes[rank + 1] = channels;
      int64_t in_offset = 0;
      int64_t out_offset = tap * channels;
      int64_t rest = tap;
      for (int d = rank - 1; d >= 0; --d) {
        const int64_t stride = window_.strides[d];
        const int64_t shift = rest % window_.sizes[d] * window_.rates[d] - before[d];
        rest /= window_.sizes[d];
        // Patches in which the tap is inside.
        const int64_t first = shift >= 0 ? 0 : (-shift + stride - 1) / stride;
        const int64_t inside = from.dim(d + 1) - shift;
        const int64_t end = inside <= 0 ? 0 : (inside - 1) / stride + 1;
        sizes[d + 1] = std::max<int64_t>(0, std::min(end, to.dim(d + 1)) - first);
        in_offset += (first * stride + shift) * in_strides[d + 1];
        out_offset += first * out_strides[d + 1];
      }
      RETURN_IF_ERROR(compute::CopyStrided(ctx.work(), x.dtype(), sizes,
                                           {x.raw_data(), steps, in_offset},
                                           {out, out_strides, out_offset}));
    }
    return OkStatus();
  }

  const PatchWindow window_;
};

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(patches, cpu) {
  registry.Add<PatchesCpu>("ExtractImagePatches", kCpu);
  registry.Add<PatchesCpu>("ExtractVolumePatches", kCpu);
}
