// SPDX-License-Identifier: Apache-2.0
#include "thalweg/api/host_function.h"

#include <mutex>
#include <string>
#include <vector>

#include "thalweg/api/handles.h"
#include "thalweg/kernel/host_call.h"

namespace thalweg::api {
namespace {

struct HostFunction {
  TwHostFunction function = nullptr;
  void* host = nullptr;
};

// The process's one; kernels of all environments call it.
struct Current {
  std::mutex mutex;
  HostFunction function;
};
Current& TheCurrent() {
  static Current current;
  return current;
}

HostFunction Get() {
  Current& current = TheCurrent();
  const std::lock_guard<std::mutex> lock(current.mutex);
  return current.function;
}

// Frees what nobody took.
struct Outputs {
  explicit Outputs(size_t n) : tensors(n) {}
  ~Outputs() {
    for (TwTensor* tensor : tensors) tw_tensor_free(tensor);
  }
  Outputs(const Outputs&) = delete;
  Outputs& operator=(const Outputs&) = delete;
  std::vector<TwTensor*> tensors;
};

class HostFunctionCpu : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    ASSIGN_OR_RETURN(std::string token, c.Attr<std::string>("token"));
    std::vector<TwDataType> types;
    for (int i = 0; i < c.node().num_outputs(); ++i) {
      types.push_back(static_cast<TwDataType>(c.output_type(i)));
    }
    return std::unique_ptr<Kernel>(
        std::make_unique<HostFunctionCpu>(std::move(token), std::move(types)));
  }
  HostFunctionCpu(std::string token, std::vector<TwDataType> types)
      : token_(std::move(token)), types_(std::move(types)) {}

  Status Compute(Context& ctx) override {
    const HostFunction called = Get();
    if (called.function == nullptr) {
      return FailedPrecondition("'", token_,
                                "' is a function of the program that made the graph; it runs in "
                                "that process only");
    }
    const HostCall host_call;  // before the look at the cancellation: see HostCall
    if (ctx.step().cancellation != nullptr && ctx.step().cancellation->IsCancelled()) {
      return CancelledStep();
    }
    std::vector<TwTensor> inputs;
    std::vector<const TwTensor*> given;
    inputs.reserve(static_cast<size_t>(ctx.num_inputs()));
    for (int i = 0; i < ctx.num_inputs(); ++i) {
      inputs.push_back(TwTensor{ctx.input(i)});
      given.push_back(&inputs.back());
    }
    Outputs outputs(types_.size());
    TwStatus status;
    const TwCode code = called.function(called.host, token_.data(), token_.size(), given.data(),
                                        ctx.num_inputs(), types_.data(), outputs.tensors.data(),
                                        static_cast<int32_t>(types_.size()), &status);
    if (code != TW_OK) {
      return status.status.ok() ? Internal("function '", token_, "' failed without a reason")
                                : status.status;
    }
    return Take(ctx, outputs);
  }

 private:
  Status Take(Context& ctx, const Outputs& outputs) {
    for (size_t i = 0; i < types_.size(); ++i) {
      const TwTensor* tensor = outputs.tensors[i];
      const auto wanted = static_cast<DType>(types_[i]);
      if (tensor == nullptr) return Internal("function '", token_, "' left output ", i, " out");
      if (tensor->tensor.dtype() != wanted) {
        return InvalidArgument("value ", i, " of function '", token_, "' is ",
                               tensor->tensor.dtype(), ", expected ", wanted);
      }
      ctx.set_output(static_cast<int>(i), tensor->tensor);
    }
    return OkStatus();
  }

  const std::string token_;
  const std::vector<TwDataType> types_;
};

}  // namespace

void AddHostFunctionKernels(KernelRegistry& registry) {
  for (const char* op : {"PyFunc", "PyFuncStateless"}) {
    registry.Add<HostFunctionCpu>(op, kCpu).Cost(KernelCost::kExpensive);
  }
}

}  // namespace thalweg::api

extern "C" void tw_set_host_function(TwHostFunction function, void* host) {
  thalweg::api::Current& current = thalweg::api::TheCurrent();
  const std::lock_guard<std::mutex> lock(current.mutex);
  current.function = {function, host};
}
