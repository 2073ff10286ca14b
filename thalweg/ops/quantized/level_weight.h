// SPDX-License-Identifier: Apache-2.0
// LevelWeight: the second operand of a product of levels, kept in packed form by the session where
// the node has "_weight" (passes/fuse_epilogue.h). Private to ops/quantized.
//
//   RETURN_IF_ERROR(weight_.Open(construction));                      // a member of the kernel
//   ASSIGN_OR_RETURN(const Tensor packed, weight_.Packed(ctx, size, b, &b_tensor));
//   if (!packed.empty()) b.packed = packed.raw_data();
//
// Narrow weights are padded to whole panels; where that takes much more than they do, none is kept.
// Ownership: the tensor holds what is packed for the call.
// Threads: as the kernel.
// Errors: those of the allocator and of compute/quantized.
#pragma once

#include <string>
#include <string_view>

#include "thalweg/compute/quantized/level_product.h"
#include "thalweg/kernel/kernel_registry.h"
#include "thalweg/resources/packed_weight.h"

namespace thalweg {

class LevelWeight {
 public:
  Status Open(const KernelConstruction& c) {
    if (c.node().FindAttr("_weight") == nullptr) return OkStatus();
    ASSIGN_OR_RETURN(const std::string weight, c.Attr<std::string>("_weight"));
    return weight_.Open(c.resources(), weight);
  }

  // Empty where nothing is kept.
  Result<Tensor> Packed(Context& ctx, const compute::ProductSize& size,
                        const compute::LevelMatrix& b, const Tensor* source) const {
    if (!weight_.is_open()) return Tensor();
    const char format[] = {static_cast<char>(ctx.work().isa().level),
                           static_cast<char>(b.transposed)};
    const std::string_view bytes(static_cast<const char*>(format), sizeof format);
    Tensor packed = weight_.Find({&source, 1}, bytes);
    if (!packed.empty()) return packed;
    const int64_t room = compute::PackedLevelsSize(ctx.work().isa(), size);
    if (room > kMostPadding * static_cast<int64_t>(source->bytes()) + kSmall) return Tensor();
    ASSIGN_OR_RETURN(packed, Tensor::Allocate(ctx.allocator(), DType::kUint8, Shape{room}));
    RETURN_IF_ERROR(compute::PackLevels(ctx.work(), size, b, packed.mutable_raw_data()));
    weight_.Keep({&source, 1}, bytes, packed);
    return packed;
  }

 private:
  static constexpr int64_t kMostPadding = 4, kSmall = int64_t{1} << 20;

  PackedWeightRef weight_;
};

}  // namespace thalweg
