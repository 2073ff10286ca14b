// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>

#include "thalweg/kernel/kernel_registry.h"
#include "thalweg/tensor/integers.h"

namespace thalweg {
namespace {

Status AssignGroup(Context& ctx) {
  const Tensor& groups = ctx.input(0);
  if (groups.rank() != 2) {
    return InvalidArgument("group_assignment must be a 2-d Tensor, but received tensor of shape: ",
                           groups.shape());
  }
  ASSIGN_OR_RETURN(const int64_t device, IntScalar(ctx.input(1), "device_index"));
  ASSIGN_OR_RETURN(const int64_t base, IntScalar(ctx.input(2), "base_key"));
  const auto numbers = groups.flat<int32_t>();
  const auto at = std::find(numbers.begin(), numbers.end(), static_cast<int32_t>(device));
  if (at == numbers.end()) {
    return InvalidArgument("device_index ", device, " is not found in group_assignment ",
                           groups.ToString());
  }
  const int64_t size = groups.dim(1);
  const int64_t key = base + (at - numbers.begin()) / size;
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
  if (size > kMost || key > kMost) {
    return InvalidArgument("group size ", size, " or key ", key, " does not fit into an int32");
  }
  ctx.set_output(0, Tensor::Scalar(static_cast<int32_t>(size)));
  ctx.set_output(1, Tensor::Scalar(static_cast<int32_t>(key)));
  return OkStatus();
}

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(collective_group, cpu) {
  registry.AddFunction<AssignGroup>("CollectiveAssignGroupV2", kCpu).Cost(KernelCost::kCheap);
}
