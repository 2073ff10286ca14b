// SPDX-License-Identifier: Apache-2.0
#include "thalweg/compute/move/gather.h"
#include "thalweg/graph/narrow_attr.h"
#include "thalweg/kernel/kernel_registry.h"
#include "thalweg/resources/mapped_weights.h"
#include "thalweg/resources/variable.h"

namespace thalweg {
namespace {

using compute::Combine;

// Whether the value stands in a file that the session maps, where nobody writes. Small ones do not.
bool IsMapped(Context& ctx, const Tensor& value) {
  if (value.bytes() < kLeastMapped) return false;
  const RefPtr<MappedWeights> mapped = MappedWeights::Find(*ctx.step().resources);
  return mapped && mapped->files().Hold(value.raw_data());
}

class AssignCpu : public Kernel {
 public:
  explicit AssignCpu(bool validate_shape) : validate_shape_(validate_shape) {}
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    ASSIGN_OR_RETURN(const bool validate, c.Attr<bool>("validate_shape"));
    return std::unique_ptr<Kernel>(std::make_unique<AssignCpu>(validate));
  }

  Status Compute(Context& ctx) override {
    ASSIGN_OR_RETURN(const RefPtr<Variable> variable, VariableOf(ctx, 0));
    // A buffer that somebody else holds, perhaps outside the library, is copied.
    Tensor value = ctx.TakeInput(1);
    if (value.empty() && IsMapped(ctx, ctx.input(1))) value = ctx.input(1);
    if (value.empty()) {
      ASSIGN_OR_RETURN(value, ctx.input(1).Clone(ctx.allocator()));
    }
    RETURN_IF_ERROR(variable->Assign(std::move(value), validate_shape_));
    if (ctx.num_outputs() > 0) ctx.set_output(0, ctx.input(0));
    return OkStatus();
  }

 private:
  const bool validate_shape_;
};

Status CheckSame(const Variable& variable, const Tensor& target, const Tensor& value) {
  if (target.dtype() == value.dtype() && target.shape() == value.shape()) return OkStatus();
  return InvalidArgument("Parameters and update must be the same size: variable '", variable.name(),
                         "' is ", target.dtype(), target.shape(), ", got a value ", value.dtype(),
                         value.shape());
}

template <Combine kCombine>
class UpdateCpu : public Kernel {
 public:
  explicit UpdateCpu(bool use_locking) : use_locking_(use_locking) {}
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    // The resource forms always lock.
    bool use_locking = true;
    if (c.node().FindAttr("use_locking") != nullptr) {
      ASSIGN_OR_RETURN(use_locking, c.Attr<bool>("use_locking"));
    }
    return std::unique_ptr<Kernel>(std::make_unique<UpdateCpu>(use_locking));
  }

  Status Compute(Context& ctx) override {
    ASSIGN_OR_RETURN(const RefPtr<Variable> variable, VariableOf(ctx, 0));
    const Tensor& value = ctx.input(1);
    {
      Variable::Update update(*variable, use_locking_);
      ASSIGN_OR_RETURN(Tensor * target, update.Writable(ctx.allocator()));
      RETURN_IF_ERROR(CheckSame(*variable, *target, value));
      RETURN_IF_ERROR(compute::CombineElements(ctx.work(), target->dtype(), kCombine,
                                               target->num_elements(), value.raw_data(),
                                               target->mutable_raw_data()));
      update.Commit();
    }
    if (ctx.num_outputs() > 0) ctx.set_output(0, ctx.input(0));
    return OkStatus();
  }

 private:
  const bool use_locking_;
};

template <class T>
class CountUpToCpu : public Kernel {
 public:
  explicit CountUpToCpu(int64_t limit) : limit_(limit) {}
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    ASSIGN_OR_RETURN(const int64_t limit,
                     sizeof(T) == 4 ? Int32Attr(c, "limit") : c.Attr<int64_t>("limit"));
    return std::unique_ptr<Kernel>(std::make_unique<CountUpToCpu<T>>(limit));
  }

  Status Compute(Context& ctx) override {
    ASSIGN_OR_RETURN(const RefPtr<Variable> variable, VariableOf(ctx, 0));
    Variable::Update update(*variable, true);
    ASSIGN_OR_RETURN(Tensor * target, update.Writable(ctx.allocator()));
    if (target->rank() != 0 || target->dtype() != kDTypeOf<T>) {
      return InvalidArgument("CountUpTo counts in a scalar ", kDTypeOf<T>, ", variable '",
                             variable->name(), "' is ", target->dtype(), target->shape());
    }
    const T count = *target->template data<T>();
    if (count >= limit_) return OutOfRange("Reached limit of ", limit_);
    *target->template mutable_data<T>() = static_cast<T>(int64_t{count} + 1);
    update.Commit();
    ctx.set_output(0, Tensor::Scalar(count));
    return OkStatus();
  }

 private:
  const int64_t limit_;
};

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(assign, cpu) {
  registry.Add<AssignCpu>("Assign", kCpu);
  registry.Add<AssignCpu>("AssignVariableOp", kCpu);
  ForEachType<NumberTypes>([&]<class T>() {
    for (const char* attr : {"T", "dtype"}) {
      const bool is_ref = std::string_view(attr) == "T";
      registry.Add<UpdateCpu<Combine::kAdd>>(is_ref ? "AssignAdd" : "AssignAddVariableOp", kCpu,
                                             {{attr, kDTypeOf<T>}});
      registry.Add<UpdateCpu<Combine::kSub>>(is_ref ? "AssignSub" : "AssignSubVariableOp", kCpu,
                                             {{attr, kDTypeOf<T>}});
    }
  });
  for (const char* name : {"CountUpTo", "ResourceCountUpTo"}) {
    registry.Add<CountUpToCpu<int32_t>>(name, kCpu, {{"T", DType::kInt32}});
    registry.Add<CountUpToCpu<int64_t>>(name, kCpu, {{"T", DType::kInt64}});
  }
}
