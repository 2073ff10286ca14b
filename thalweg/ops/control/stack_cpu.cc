// SPDX-License-Identifier: Apache-2.0
#include <atomic>

#include "thalweg/kernel/kernel_registry.h"
#include "thalweg/resources/destroyable.h"
#include "thalweg/resources/variable.h"
#include "thalweg/tensor/heap_charge.h"

namespace thalweg {
namespace {

constexpr const char* kContainer = "_stacks";

class Stack : public Resource, public Destroyable {
 public:
  Stack(std::string name, int64_t max_size) : name_(std::move(name)), max_size_(max_size) {}

  const std::string& name() const { return name_; }
  Status Push(Allocator& allocator, Tensor value) {
    MutexLock lock(mutex_);
    RETURN_IF_ERROR(CheckOpen());
    if (max_size_ > 0 && static_cast<int64_t>(values_.size()) >= max_size_) {
      return InvalidArgument("Stack[", name_, "] overflowed its max_size (", max_size_, ")");
    }
    RETURN_IF_ERROR(places_.MakeRoom(allocator, values_.size() + 1, sizeof(Tensor)));
    values_.push_back(std::move(value));
    return OkStatus();
  }
  Result<Tensor> Pop() {
    MutexLock lock(mutex_);
    RETURN_IF_ERROR(CheckOpen());
    if (values_.empty()) {
      return InvalidArgument("Stack[", name_, "] is empty when calling Pop().");
    }
    Tensor top = std::move(values_.back());
    values_.pop_back();
    return top;
  }
  // False: it was closed before.
  bool Close() {
    std::vector<Tensor> values;  // freed without the lock: they may hold other stacks
    MutexLock lock(mutex_);
    values.swap(values_);
    places_.Clear();
    return !std::exchange(closed_, true);
  }
  Destroyed Destroy() override { return Close() ? Destroyed::kNow : Destroyed::kNotThere; }
  std::string DebugString() const override {
    MutexLock lock(mutex_);
    return StrCat("stack '", name_, "' of ", values_.size(), " tensors");
  }

 private:
  Status CheckOpen() const REQUIRES(mutex_) {
    if (!closed_) return OkStatus();
    return InvalidArgument("Stack[", name_, "] has already been closed.");
  }

  const std::string name_;
  const int64_t max_size_;
  mutable Mutex mutex_;
  bool closed_ GUARDED_BY(mutex_) = false;
  std::vector<Tensor> values_ GUARDED_BY(mutex_);
  PlacesCharge places_ GUARDED_BY(mutex_);
};

// Closes the stacks of a step at its end. A stack may hold its own handle.
class StepStacks : public Resource {
 public:
  ~StepStacks() override {
    for (const RefPtr<Stack>& stack : stacks_) stack->Close();
  }
  // A new one, whose name no other of the step has: nodes of one name make different stacks.
  RefPtr<Stack> Make(const std::string& name, int64_t max_size) {
    MutexLock lock(mutex_);
    stacks_.push_back(RefPtr<Stack>::Adopt(
        std::make_unique<Stack>(StrCat(name, "_", stacks_.size()), max_size).release()));
    return stacks_.back();
  }
  // Of those that are there, and of one that is closed nothing is left but itself.
  std::string DebugString() const override {
    MutexLock lock(mutex_);
    return StrCat(stacks_.size(), " stacks");
  }

 private:
  mutable Mutex mutex_;
  std::vector<RefPtr<Stack>> stacks_ GUARDED_BY(mutex_);
};

class StackCpu : public Kernel {
 public:
  StackCpu(std::string name, bool is_reference)
      : name_(std::move(name)), is_reference_(is_reference) {}
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    ASSIGN_OR_RETURN(std::string name, c.Attr<std::string>("stack_name"));
    if (name.empty()) name = c.node().name();
    return std::unique_ptr<Kernel>(
        std::make_unique<StackCpu>(std::move(name), c.node().op_name() == "Stack"));
  }

  Status Compute(Context& ctx) override {
    int64_t max_size = -1;
    if (!is_reference_) {
      const Tensor& size = ctx.input(0);
      if (size.rank() != 0) {
        return InvalidArgument("Stack size must be a scalar, but had shape: ", size.shape());
      }
      max_size = size.scalar<int32_t>();
    }
    ResourceManager& resources = *ctx.step().step_resources;
    ASSIGN_OR_RETURN(
        const RefPtr<StepStacks> all,
        resources.LookupOrCreate<StepStacks>(kContainer, "", []() -> Result<RefPtr<StepStacks>> {
          return RefPtr<StepStacks>::Adopt(std::make_unique<StepStacks>().release());
        }));
    // Each time the node runs it makes a stack of its own, also in a loop.
    RefPtr<Stack> stack = all->Make(name_, max_size);
    if (is_reference_) return SetReference(ctx, resources, std::move(stack));
    ResourceHandle::Place place;
    place.device = ctx.device().full_name();
    place.container = kContainer;
    place.name = stack->name();
    place.type_name = "tensorflow::Stack";
    ctx.set_output(0, Tensor::Scalar(ResourceHandle(std::move(place),
                                                    RefPtr<Resource>::Adopt(stack.release()))));
    return OkStatus();
  }

 private:
  // The first version's handle is a reference to two strings, by which the stack is found.
  static Status SetReference(Context& ctx, ResourceManager& resources, RefPtr<Stack> stack) {
    const std::string name = stack->name();
    RETURN_IF_ERROR(resources.Create(kContainer, name, std::move(stack)));
    auto handle = RefPtr<Variable>::Adopt(
        std::make_unique<Variable>(name, DType::kString, PartialShape{2}).release());
    RETURN_IF_ERROR(handle->Assign(Tensor::Vector<std::string>({kContainer, name})));
    ctx.set_output(0, Tensor::Reference(RefPtr<Resource>::Adopt(handle.release()), DType::kString));
    return OkStatus();
  }

  const std::string name_;
  const bool is_reference_;
};

Result<RefPtr<Stack>> StackOf(Context& ctx) {
  if (ctx.input(0).dtype() == DType::kResource) return ctx.Resource<Stack>(0);
  ASSIGN_OR_RETURN(const RefPtr<Variable> variable, VariableOf(ctx, 0));
  ASSIGN_OR_RETURN(const Tensor handle, variable->Read());
  if (handle.dtype() != DType::kString || handle.num_elements() != 2) {
    return InvalidArgument("Stack handle must have two elements, but had shape: ", handle.shape());
  }
  const auto parts = handle.flat<std::string>();
  return ctx.step().step_resources->Lookup<Stack>(parts[0], parts[1]);
}

Status StackPush(Context& ctx) {
  ASSIGN_OR_RETURN(const RefPtr<Stack> stack, StackOf(ctx));
  RETURN_IF_ERROR(stack->Push(ctx.allocator(), ctx.input(1)));
  ctx.set_output(0, ctx.input(1));
  return OkStatus();
}

class StackPopCpu : public Kernel {
 public:
  explicit StackPopCpu(const KernelConstruction& c) : dtype_(c.output_type(0)) {}

  Status Compute(Context& ctx) override {
    ASSIGN_OR_RETURN(const RefPtr<Stack> stack, StackOf(ctx));
    ASSIGN_OR_RETURN(Tensor top, stack->Pop());
    if (top.dtype() != dtype_) {
      return InvalidArgument("expected a value of type ", dtype_, " on Stack[", stack->name(),
                             "], got ", top.dtype());
    }
    ctx.set_output(0, std::move(top));
    return OkStatus();
  }

 private:
  const DType dtype_;
};

Status StackClose(Context& ctx) {
  ASSIGN_OR_RETURN(const RefPtr<Stack> stack, StackOf(ctx));
  stack->Close();
  return OkStatus();
}

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(stack, cpu) {
  for (const char* op : {"Stack", "StackV2"}) {
    registry.Add<StackCpu>(op, kCpu).Cost(KernelCost::kCheap).KeepsState();
  }
  for (const char* version : {"", "V2"}) {
    registry.AddFunction<StackPush>(StrCat("StackPush", version), kCpu).Cost(KernelCost::kCheap);
    registry.Add<StackPopCpu>(StrCat("StackPop", version), kCpu).Cost(KernelCost::kCheap);
    registry.AddFunction<StackClose>(StrCat("StackClose", version), kCpu).Cost(KernelCost::kCheap);
  }
}
