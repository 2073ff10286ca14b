// SPDX-License-Identifier: Apache-2.0
#include "thalweg/kernel/kernel_registry.h"
#include "thalweg/ops/list/array_handle.h"
#include "thalweg/tensor/integers.h"

namespace thalweg {
namespace {

Status WriteElement(Context& ctx) {
  ASSIGN_OR_RETURN(const int64_t index, IntScalar(ctx.input(1), "index"));
  Tensor value = ctx.input(2);
  ASSIGN_OR_RETURN(const RefPtr<TensorArray> array,
                   ArrayOf(ctx, value.dtype(), "is trying to write"));
  const Tensor flow = ctx.input(3);
  RETURN_IF_ERROR(array->Write(ctx, index, std::move(value)));
  ctx.set_output(0, flow);
  return OkStatus();
}

class ReadElementCpu : public Kernel {
 public:
  explicit ReadElementCpu(const KernelConstruction& c) : dtype_(c.output_type(0)) {}

  Status Compute(Context& ctx) override {
    ASSIGN_OR_RETURN(const int64_t index, IntScalar(ctx.input(1), "index"));
    ASSIGN_OR_RETURN(const RefPtr<TensorArray> array, ArrayOf(ctx, dtype_, "requested"));
    ASSIGN_OR_RETURN(Tensor value, array->Read(ctx, index));
    ctx.set_output(0, std::move(value));
    return OkStatus();
  }

 private:
  const DType dtype_;
};

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(tensor_array_element, cpu) {
  for (const char* op : {"TensorArrayWrite", "TensorArrayWriteV2", "TensorArrayWriteV3"}) {
    registry.AddFunction<WriteElement>(op, kCpu).Cost(KernelCost::kCheap);
  }
  for (const char* op : {"TensorArrayRead", "TensorArrayReadV2", "TensorArrayReadV3"}) {
    registry.Add<ReadElementCpu>(op, kCpu).Cost(KernelCost::kCheap);
  }
}
