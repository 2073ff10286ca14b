// SPDX-License-Identifier: Apache-2.0
#include <atomic>

#include "thalweg/kernel/kernel_registry.h"
#include "thalweg/resources/destroyable.h"

namespace thalweg {
namespace {

// A tensor that outlives its run. Handles are NAME;NUMBER;DEVICE, as front ends take them apart.
class KeptTensor : public Resource, public Destroyable {
 public:
  explicit KeptTensor(Tensor value) : value_(std::move(value)) {}
  const Tensor& value() const { return value_; }
  std::string DebugString() const override {
    return StrCat("a tensor kept between runs, ", value_.dtype(), value_.shape());
  }
  Destroyed Destroy() override { return Destroyed::kNotThere; }  // DeleteSessionTensor ends it

 private:
  const Tensor value_;
};

// Kept apart from what users name: a container of their own.
constexpr std::string_view kContainer = "_session_tensors";

class GetSessionHandleCpu : public Kernel {
 public:
  explicit GetSessionHandleCpu(const KernelConstruction& c)
      : name_(c.node().name()),
        device_(c.device().full_name()),
        is_resource_(c.output_type(0) == DType::kResource) {}

  Status Compute(Context& ctx) override {
    static std::atomic<int64_t> next_number{0};
    const std::string handle = StrCat(name_, ";", next_number.fetch_add(1), ";", device_);
    auto kept = RefPtr<KeptTensor>::Adopt(std::make_unique<KeptTensor>(ctx.input(0)).release());
    RETURN_IF_ERROR(ctx.step().resources->Create(kContainer, handle, kept));
    if (!is_resource_) {
      ctx.set_output(0, Tensor::Scalar(handle));
      return OkStatus();
    }
    ResourceHandle::Place place{.device = device_,
                                .container = std::string(kContainer),
                                .name = handle,
                                .type_name = "tensorflow::TensorHandle"};
    ctx.set_output(0, Tensor::Scalar(ResourceHandle(std::move(place),
                                                    RefPtr<Resource>::Adopt(kept.release()))));
    return OkStatus();
  }

 private:
  const std::string name_;
  const std::string device_;
  const bool is_resource_;
};

Result<std::string> HandleName(Context& ctx) {
  const Tensor& handle = ctx.input(0);
  if (handle.dtype() != DType::kString || handle.num_elements() != 1) {
    return InvalidArgument("expected the string of one handle, got ", handle.dtype(),
                           handle.shape());
  }
  return std::string(handle.data<std::string>()[0]);
}

class GetSessionTensorCpu : public Kernel {
 public:
  explicit GetSessionTensorCpu(const KernelConstruction& c) : dtype_(c.output_type(0)) {}

  Status Compute(Context& ctx) override {
    ASSIGN_OR_RETURN(const std::string name, HandleName(ctx));
    const auto kept = ctx.step().resources->Lookup<KeptTensor>(kContainer, name);
    if (!kept.ok()) {
      return InvalidArgument("The tensor with handle '", name, "' is not in the session store.");
    }
    if ((*kept)->value().dtype() != dtype_) {
      return InvalidArgument("The tensor with handle '", name, "' has dtype ",
                             (*kept)->value().dtype(), ", expected ", dtype_);
    }
    ctx.set_output(0, (*kept)->value());
    return OkStatus();
  }

 private:
  const DType dtype_;
};

Status DeleteSessionTensor(Context& ctx) {
  ASSIGN_OR_RETURN(const std::string name, HandleName(ctx));
  if (!ctx.step().resources->Delete<KeptTensor>(kContainer, name).ok()) {
    return InvalidArgument("Failed to delete a tensor with handle '", name,
                           "' in the session store.");
  }
  return OkStatus();
}

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(session_handle, cpu) {
  registry.Add<GetSessionHandleCpu>("GetSessionHandle", kCpu);
  registry.Add<GetSessionHandleCpu>("GetSessionHandleV2", kCpu);
  registry.Add<GetSessionTensorCpu>("GetSessionTensor", kCpu);
  registry.AddFunction<DeleteSessionTensor>("DeleteSessionTensor", kCpu);
}
