// SPDX-License-Identifier: Apache-2.0
#include "thalweg/compute/program/reduced_program.h"
#include "thalweg/ops/fused/fused_kernel.h"

namespace thalweg {
namespace {

using compute::EwRun;
using compute::ReducedInstruction;
using compute::ReducedProgram;
using compute::ReducedRun;

class FusedReductionCpu : public FusedKernel<ReducedProgram, ReducedInstruction> {
 public:
  using FusedKernel::FusedKernel;

  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    return Make<FusedReductionCpu>(c);
  }

  Status Compute(Context& ctx) override {
    std::vector<Shape> shapes;
    std::vector<EwRun::Input> inputs;
    for (int i = 0; i < ctx.num_inputs(); ++i) shapes.push_back(ctx.input(i).shape());
    for (int i = 0; i < ctx.num_inputs(); ++i) {
      inputs.push_back({ctx.input(i).raw_data(), shapes[static_cast<size_t>(i)].dims()});
    }
    ReducedRun run(program(), ctx.work().isa(), inputs);
    Status status = run.InferShapes();
    std::vector<void*> outputs;
    for (int i = 0; status.ok() && i < ctx.num_outputs(); ++i) {
      const DType dtype = output_type(i);
      Result<Tensor*> made = ctx.AllocateOutput(i, dtype, Shape(run.output_dims(i)));
      if (made.ok()) outputs.push_back((*made)->mutable_raw_data());
      status = made.status();
    }
    if (status.ok()) status = run.Execute(ctx.work(), outputs);
    return Named(std::move(status), run.failed_instruction());
  }
};

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(fused_reduction, cpu) { registry.Add<FusedReductionCpu>("_FusedReduction", kCpu); }
