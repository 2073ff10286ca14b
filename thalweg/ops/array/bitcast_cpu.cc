// SPDX-License-Identifier: Apache-2.0
#include "thalweg/compute/move/strided_copy.h"
#include "thalweg/kernel/kernel_registry.h"

namespace thalweg {
namespace {

class BitcastCpu : public Kernel {
 public:
  explicit BitcastCpu(const KernelConstruction& c) : to_(c.output_type(0)) {}

  Status Compute(Context& ctx) override {
    const Tensor& x = ctx.input(0);
    const auto from_size = static_cast<int64_t>(DTypeSize(x.dtype()));
    const auto to_size = static_cast<int64_t>(DTypeSize(to_));
    if (from_size == to_size) {
      ASSIGN_OR_RETURN(Tensor same, x.Bitcast(to_));
      ctx.set_output(0, std::move(same));
      return OkStatus();
    }
    Dims dims = x.shape().dims();
    if (from_size > to_size) {
      dims.push_back(from_size / to_size);
    } else {
      const int last = dims.size() - 1;
      if (last < 0 || dims[last] != to_size / from_size) {
        return InvalidArgument("Cannot bitcast from ", static_cast<int>(x.dtype()), " to ",
                               static_cast<int>(to_), ": ", x.dtype(), x.shape(), " as ", to_,
                               " needs ", to_size / from_size, " elements in the last dimension");
      }
      dims.resize(last);
    }
    ASSIGN_OR_RETURN(const Shape shape, Shape::Make(dims));
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, to_, shape));
    return compute::CopyElements(ctx.work(), DType::kUint8, x.raw_data(), out->mutable_raw_data(),
                                 static_cast<int64_t>(x.bytes()));
  }

 private:
  const DType to_;
};

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(bitcast, cpu) { registry.Add<BitcastCpu>("Bitcast", kCpu); }
