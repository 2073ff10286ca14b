// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "thalweg/compute/program/program.h"
#include "thalweg/ops/fused/fused_kernel.h"

namespace thalweg {
namespace {

using compute::EwInstruction;
using compute::EwProgram;
using compute::EwRun;

class FusedElementwiseCpu : public FusedKernel<EwProgram, EwInstruction> {
 public:
  using FusedKernel::FusedKernel;

  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    return Make<FusedElementwiseCpu>(c);
  }

  Status Compute(Context& ctx) override {
    EwRun::Input inputs[EwProgram::kMostInputs];
    int64_t few[kFewDims];
    std::vector<int64_t> many;
    Read(ctx, inputs, few, &many);
    EwRun run(program(), ctx.work().isa(), {inputs, static_cast<size_t>(ctx.num_inputs())});
    Status status = run.InferShapes();
    void* outputs[EwProgram::kMostInstructions];
    for (int i = 0; status.ok() && i < ctx.num_outputs(); ++i) {
      Result<Tensor*> made = MakeOutput(ctx, run, i);
      if (made.ok()) outputs[i] = (*made)->mutable_raw_data();
      status = made.status();
    }
    if (status.ok()) {
      status = run.Execute(ctx.work(), {outputs, static_cast<size_t>(ctx.num_outputs())});
    }
    return Named(std::move(status), run.failed_instruction());
  }

 private:
  static constexpr int kFewDims = 64;

  // Data and dimensions of the inputs; the dimensions lie in `few` or, if they are many, in `many`.
  static void Read(const Context& ctx, EwRun::Input* inputs, int64_t* few,
                   std::vector<int64_t>* many) {
    int total = 0;
    for (int i = 0; i < ctx.num_inputs(); ++i) total += ctx.input(i).rank();
    int64_t* dims = few;
    if (total > kFewDims) {
      many->resize(static_cast<size_t>(total));
      dims = many->data();
    }
    for (int i = 0; i < ctx.num_inputs(); ++i) {
      const Tensor& input = ctx.input(i);
      const int rank = input.rank();
      for (int d = 0; d < rank; ++d) dims[d] = input.dim(d);
      inputs[i] = {input.raw_data(), {dims, static_cast<size_t>(rank)}};
      dims += rank;
    }
  }

  // An only output takes the buffer of an input of its shape.
  Result<Tensor*> MakeOutput(Context& ctx, const EwRun& run, int i) const {
    const DType dtype = output_type(i);
    const Shape shape(run.output_dims(i));
    if (ctx.num_outputs() > 1) return ctx.AllocateOutput(i, dtype, shape);
    const int64_t n = shape.num_elements();
    constexpr int kCandidates = 4;
    int candidates[kCandidates] = {}, count = 0;
    for (int k = 0; k < ctx.num_inputs() && count < kCandidates; ++k) {
      const Tensor& input = ctx.input(k);
      if (input.kind() == Tensor::Kind::kBuffer && input.num_elements() == n) {
        candidates[count++] = k;
      }
    }
    if (count == 0) return ctx.AllocateOutput(i, dtype, shape);
    for (int k = count; k < kCandidates; ++k) candidates[k] = candidates[count - 1];
    return ctx.TakeOrAllocateOutput({candidates[0], candidates[1], candidates[2], candidates[3]}, i,
                                    dtype, shape);
  }
};

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(fused_elementwise, cpu) {
  registry.Add<FusedElementwiseCpu>("_FusedElementwise", kCpu);
}
