// SPDX-License-Identifier: Apache-2.0
#include "thalweg/compute/ew/population_count.h"
#include "thalweg/kernel/element_wise.h"

namespace thalweg {
namespace {

Status PopulationCountCpu(Context& ctx) {
  const Tensor& x = ctx.input(0);
  ASSIGN_OR_RETURN(Tensor * y, ctx.AllocateOutput(0, DType::kUint8, x.shape()));
  return compute::PopulationCount(ctx.work(), x.dtype(), x.num_elements(), x.raw_data(),
                                  y->mutable_data<uint8_t>());
}

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(population_count, cpu) {
  for (DType dtype : kIntegers) {
    registry.AddFunction<PopulationCountCpu>("PopulationCount", kCpu, {{"T", dtype}});
  }
}
