// SPDX-License-Identifier: Apache-2.0
#include "thalweg/compute/gemm/gemm.h"
#include "thalweg/kernel/kernel_registry.h"
#include "thalweg/ops/math/pack_matrix_shape.h"

namespace thalweg {
namespace {

class PackMatrixCpu : public Kernel {
 public:
  explicit PackMatrixCpu(bool transpose) : transpose_(transpose) {}
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    ASSIGN_OR_RETURN(const bool transpose, c.Attr<bool>("transpose"));
    return std::unique_ptr<Kernel>(std::make_unique<PackMatrixCpu>(transpose));
  }

  Status Compute(Context& ctx) override {
    const Tensor& b = ctx.input(0);
    if (b.rank() != 2) return InvalidArgument("b must be a matrix, got ", b.shape());
    const int64_t n = b.dim(transpose_ ? 0 : 1), k = b.dim(transpose_ ? 1 : 0);
    const int64_t room = RoomForPacked(n, k);
    if (room < 0) return InvalidArgument("b is too large to pack: ", b.shape());
    ASSIGN_OR_RETURN(Tensor * packed, ctx.AllocateOutput(0, DType::kFloat, Shape{room}));
    using compute::Transpose;
    const auto shape = compute::GemmShape::Dense(1, n, k, Transpose::kNo,
                                                 transpose_ ? Transpose::kYes : Transpose::kNo);
    ASSIGN_OR_RETURN(const int64_t size,
                     compute::PackedSize(ctx.work().isa(), DType::kFloat, n, k));
    if (size > room) return Internal("a packed matrix needs ", size, " elements, not ", room);
    float* const to = packed->mutable_data<float>();
    std::fill(to + size, to + room, 0.0f);
    return compute::PackGemm(ctx.work(), DType::kFloat, shape, b.raw_data(), to);
  }

 private:
  const bool transpose_;
};

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(pack_matrix, cpu) { registry.Add<PackMatrixCpu>("_PackMatrix", kCpu); }
