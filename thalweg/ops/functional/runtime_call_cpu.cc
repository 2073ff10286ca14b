// SPDX-License-Identifier: Apache-2.0
#include "thalweg/kernel/function_caller.h"
#include "thalweg/kernel/kernel_registry.h"

namespace thalweg {
namespace {

class RuntimeCallCpu : public AsyncKernel {
 public:
  explicit RuntimeCallCpu(FunctionRef call) : call_(std::move(call)) {}
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    ASSIGN_OR_RETURN(FunctionRef call, c.Attr<FunctionRef>("call"));
    return std::unique_ptr<Kernel>(std::make_unique<RuntimeCallCpu>(std::move(call)));
  }

  void ComputeAsync(Context& ctx, Done done) override {
    const Result<RefPtr<FunctionCaller>> caller =
        ctx.step().step_resources->Lookup<FunctionCaller>("", kFunctionCaller);
    if (!caller.ok()) {
      return std::move(done)(
          FailedPrecondition("a call of a function runs only as part of a session's step"));
    }
    (*caller)->Call(ctx, call_, std::move(done));
  }

 private:
  const FunctionRef call_;
};

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(runtime_call, cpu) { registry.Add<RuntimeCallCpu>("_RuntimeCall", kCpu); }
