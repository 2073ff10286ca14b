// SPDX-License-Identifier: Apache-2.0
// What the kernels of Conv2D and _FusedConv2D share. Private to this family.
// Ownership: a kernel shares its packed weight with the session's others; a SessionFilterCache lies
// on the stack of a call.
// Threads: Compute from any, several at once; a SessionFilterCache one.
// Errors: InvalidArgument for shapes that do not fit; null from the cache where there is no room.
#pragma once

#include <array>

#include "thalweg/compute/conv/conv2d.h"
#include "thalweg/kernel/kernel_registry.h"
#include "thalweg/ops/nn/window_kernel.h"
#include "thalweg/resources/packed_weight.h"

namespace thalweg {

// The sizes of a convolution from the shapes of its input and filter.
Result<compute::Conv2DShape> ConvSizes(const WindowAttrs& attrs, const Shape& image,
                                       const Shape& filter);
Shape ConvOutputShape(const compute::Conv2DShape& sizes);

// The packed filter of one call, kept by the session when the node has "_weight".
class SessionFilterCache final : public compute::PackedFilterCache {
 public:
  // `made_of`: the filter and what is folded into it, nulls at the end. All outlive this.
  SessionFilterCache(const PackedWeightRef& weight, Context& ctx,
                     std::array<const Tensor*, 3> made_of)
      : weight_(weight), ctx_(ctx), made_of_(made_of) {}

  const float* Find(std::string_view format) override;
  float* Allocate(int64_t floats) override;
  void Keep(std::string_view format) override;

 private:
  PackedWeightRef::Sources Sources() const;

  const PackedWeightRef& weight_;
  Context& ctx_;
  const std::array<const Tensor*, 3> made_of_;
  Tensor packed_;
};

class ConvKernel : public Kernel {
 protected:
  Status Read(const KernelConstruction& construction);
  compute::PackedFilterCache* KeeperOf(SessionFilterCache& kept) const {
    return weight_.is_open() ? &kept : nullptr;
  }

  WindowAttrs attrs_;
  PackedWeightRef weight_;
  compute::ConvPlans plans_;  // locks for itself
};

template <class K>
struct MadeConv : K {
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& construction) {
    auto kernel = std::make_unique<MadeConv<K>>();
    RETURN_IF_ERROR(kernel->Read(construction));
    return std::unique_ptr<Kernel>(std::move(kernel));
  }
};

}  // namespace thalweg
