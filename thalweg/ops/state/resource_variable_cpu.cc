// SPDX-License-Identifier: Apache-2.0
#include <limits>

#include "thalweg/kernel/kernel_registry.h"
#include "thalweg/ops/state/variable_slot.h"
#include "thalweg/resources/destroyable.h"
#include "thalweg/resources/variable.h"

namespace thalweg {
namespace {

// The name that makes a new variable of every run: it lives as long as its handles.
constexpr std::string_view kAnonymous = "cd2c89b7-88b7-44c8-ad83-06c2a9158347";

class VarHandleCpu : public Kernel {
 public:
  VarHandleCpu(VariableSlot slot, ResourceHandle::Place place)
      : slot_(std::move(slot)), place_(std::move(place)) {}
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    ASSIGN_OR_RETURN(VariableSlot slot, VariableSlot::Make(c));
    ResourceHandle::Place place;
    place.device = c.device().full_name();
    place.container = slot.container().empty() ? std::string(ResourceManager::kDefaultContainer)
                                               : slot.container();
    place.name = slot.name();
    place.type_name = "tensorflow::Var";
    return std::unique_ptr<Kernel>(
        std::make_unique<VarHandleCpu>(std::move(slot), std::move(place)));
  }

  // The handle is made again only when the variable is another one (its container was reset).
  Status Compute(Context& ctx) override {
    if (slot_.name() == kAnonymous) {
      ctx.set_output(0, Tensor::Scalar(ResourceHandle(
                            place_, RefPtr<Resource>::Adopt(slot_.New().release()))));
      return OkStatus();
    }
    ASSIGN_OR_RETURN(RefPtr<Variable> variable, slot_.Get(*ctx.step().resources));
    MutexLock lock(mutex_);
    if (variable.get() != variable_) {
      variable_ = variable.get();
      handle_ = Tensor::Scalar(ResourceHandle(place_, RefPtr<Resource>::Adopt(variable.release())));
    }
    ctx.set_output(0, handle_);
    return OkStatus();
  }

 private:
  const VariableSlot slot_;
  const ResourceHandle::Place place_;
  Mutex mutex_;
  Tensor handle_ GUARDED_BY(mutex_);
  Variable* variable_ GUARDED_BY(mutex_) = nullptr;  // kept alive by handle_
};

class ReadVariableCpu : public Kernel {
 public:
  explicit ReadVariableCpu(const KernelConstruction& c) : dtype_(c.output_type(0)) {}

  Status Compute(Context& ctx) override {
    ASSIGN_OR_RETURN(const RefPtr<Variable> variable, VariableOf(ctx, 0));
    const Tensor value = variable->ReadOrEmpty();
    if (value.empty()) {
      return FailedPrecondition("Error while reading resource variable ", variable->name(),
                                " from Container: localhost. This could mean that the variable was "
                                "uninitialized: nothing "
                                "was assigned to it before (run its initializer, or restore it)");
    }
    if (value.dtype() != dtype_) {
      return InvalidArgument("Trying to read variable '", variable->name(),
                             "' with wrong dtype: ", "expected ", dtype_, ", got ", value.dtype());
    }
    ctx.set_output(0, value);
    return OkStatus();
  }

 private:
  const DType dtype_;
};

Status VarIsInitialized(Context& ctx) {
  const Result<RefPtr<Variable>> variable = VariableOf(ctx, 0);
  if (!variable.ok() && variable.status().code() != Code::kNotFound) return variable.status();
  ctx.set_output(0, Tensor::Scalar(variable.ok() && (*variable)->initialized()));
  return OkStatus();
}

// In a variable without value there is nothing to be found, as TensorFlow says it; reading one is a
// failed precondition.
template <class Out>
Status ShapeOfVariable(Context& ctx) {
  ASSIGN_OR_RETURN(const RefPtr<Variable> variable, VariableOf(ctx, 0));
  const Result<Tensor> value = variable->Read();
  if (!value.ok()) return NotFound(value.status().message());
  const Shape shape = value->shape();
  ASSIGN_OR_RETURN(Tensor * out,
                   ctx.AllocateOutput(0, kDTypeOf<Out>, Shape{int64_t{shape.rank()}}));
  for (int i = 0; i < shape.rank(); ++i) {
    if (shape.dim(i) > std::numeric_limits<Out>::max()) {
      return InvalidArgument("dimension ", shape.dim(i), " does not fit into ", kDTypeOf<Out>);
    }
    out->mutable_data<Out>()[i] = static_cast<Out>(shape.dim(i));
  }
  return OkStatus();
}

// Reads share the buffer always: there is no copying to be turned off.
Status DisableCopyOnRead(Context& ctx) { return VariableOf(ctx, 0).status(); }

class DestroyResourceCpu : public Kernel {
 public:
  explicit DestroyResourceCpu(bool ignore) : ignore_lookup_error_(ignore) {}
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    ASSIGN_OR_RETURN(const bool ignore, c.Attr<bool>("ignore_lookup_error"));
    return std::unique_ptr<Kernel>(std::make_unique<DestroyResourceCpu>(ignore));
  }

  Status Compute(Context& ctx) override {
    const Tensor& handle = ctx.input(0);
    if (handle.dtype() != DType::kResource || handle.num_elements() != 1) {
      return InvalidArgument("expected one resource handle, got ", handle.dtype(), handle.shape());
    }
    const ResourceHandle::Place* place = handle.scalar<ResourceHandle>().place();
    if (place == nullptr) return NotFound("the resource handle was never set");
    Resource* resource = handle.scalar<ResourceHandle>().resource();
    Status status = Destroy(*ctx.step().resources, *place, resource);
    if (status.code() == Code::kNotFound && ignore_lookup_error_) return OkStatus();
    return status;
  }

 private:
  static Status Destroy(ResourceManager& resources, const ResourceHandle::Place& place,
                        Resource* resource) {
    using Destroyed = Destroyable::Destroyed;
    Destroyed destroyed = Destroyed::kByHolder;
    if (auto* const own = dynamic_cast<Destroyable*>(resource)) destroyed = own->Destroy();
    // TensorFlow makes a variable when a value is assigned to it, not with its handle.
    const auto* const variable = dynamic_cast<const Variable*>(resource);
    if (variable != nullptr && !variable->initialized()) destroyed = Destroyed::kNotThere;
    if (destroyed == Destroyed::kNow) return OkStatus();
    if (destroyed == Destroyed::kNotThere) {
      return NotFound("Resource ", place.container, "/", place.name, "/", place.type_name,
                      " does not exist: it was destroyed before, or never used");
    }
    // One without a name goes with its handle.
    if (place.container.empty() && resource != nullptr) return OkStatus();
    return resources.Destroy(place.container, place.name, resource);
  }

  const bool ignore_lookup_error_;
};

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(resource_variable, cpu) {
  registry.Add<VarHandleCpu>("VarHandleOp", kCpu).Cost(KernelCost::kCheap);
  registry.Add<ReadVariableCpu>("ReadVariableOp", kCpu).Cost(KernelCost::kCheap);
  registry.AddFunction<VarIsInitialized>("VarIsInitializedOp", kCpu).Cost(KernelCost::kCheap);
  registry.Add<DestroyResourceCpu>("DestroyResourceOp", kCpu).Cost(KernelCost::kCheap);
  registry.AddFunction<DisableCopyOnRead>("DisableCopyOnRead", kCpu).Cost(KernelCost::kCheap);
  registry
      .AddFunction<ShapeOfVariable<int32_t>>("VariableShape", kCpu, {{"out_type", DType::kInt32}})
      .Cost(KernelCost::kCheap);
  registry
      .AddFunction<ShapeOfVariable<int64_t>>("VariableShape", kCpu, {{"out_type", DType::kInt64}})
      .Cost(KernelCost::kCheap);
}
