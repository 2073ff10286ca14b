// SPDX-License-Identifier: Apache-2.0
#include "thalweg/kernel/lone_call.h"

#include "thalweg/base/floating_point.h"
#include "thalweg/kernel/caught_exception.h"

namespace thalweg {

LoneCall::LoneCall(Device& device, const compute::IsaTable& isa, CancellationManager& cancellation)
    : loops_(isa, nullptr, device.host_allocator(), &cancellation) {
  step_.device = &device;
  step_.allocator = &device.allocator();
  step_.host_addressable = device.host_addressable();
  step_.work = &loops_;
  step_.queue = &queue_;
  step_.cancellation = &cancellation;
  step_.resources = &resources_;
  step_.step_resources = &step_resources_;
}

Result<std::vector<Tensor>> LoneCall::Compute(Kernel& kernel, std::span<const Tensor> inputs,
                                              int num_outputs) {
  std::vector<Tensor> values(inputs.begin(), inputs.end());
  values.resize(inputs.size() + static_cast<size_t>(num_outputs));
  std::vector<Operand> operands;
  for (size_t i = 0; i < values.size(); ++i) {
    operands.push_back(Operand::Make(0, static_cast<uint32_t>(i)));
  }
  Context context;
  context.Bind(&step_, 0);
  context.SetBase(0, values.data());
  context.SetOperands(operands.data(), static_cast<int>(inputs.size()), num_outputs);
  const FloatingPointScope floating_point;
  try {
    RETURN_IF_ERROR(kernel.Compute(context));
  } catch (...) {
    return CaughtException();
  }
  values.erase(values.begin(), values.begin() + static_cast<ptrdiff_t>(inputs.size()));
  return values;
}

}  // namespace thalweg
