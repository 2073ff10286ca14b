// SPDX-License-Identifier: Apache-2.0
#include "thalweg/ops/queue/queue_node.h"
#include "thalweg/resources/destroyable.h"
#include "thalweg/resources/waiter_queues.h"
#include "thalweg/tensor/variant.h"

namespace thalweg {
namespace {

// A lock of steps; who waits for it holds no thread.
class StepMutex final : public WaiterQueues, public Destroyable {
 public:
  explicit StepMutex(std::string name) : WaiterQueues({Order::kFirst}), name_(std::move(name)) {}

  bool TryLock() EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    was_asked_for_ = true;
    return !held_ && IsEmpty(0) && (held_ = true);
  }
  void Unlock() EXCLUDES(mutex_) {
    Ended ended;
    {
      MutexLock lock(mutex_);
      held_ = false;
      AdvanceAll(&ended);
    }
    End(std::move(ended));
  }
  std::string DebugString() const override {
    MutexLock lock(mutex_);
    return StrCat("mutex '", name_, held_ ? "' (held)" : "' (free)");
  }
  // TensorFlow makes a mutex when it is first locked.
  Destroyed Destroy() override {
    MutexLock lock(mutex_);
    return was_asked_for_ ? Destroyed::kByHolder : Destroyed::kNotThere;
  }
  Tensor HeldLock();

 private:
  Progress Advance(Waiter&) override REQUIRES(mutex_) {
    if (std::exchange(held_, true)) return Progress::kNone;
    return Progress::kEnded;
  }
  Status Finish(Waiter& waiter) override {
    waiter.ctx.set_output(0, HeldLock());
    return OkStatus();
  }

  const std::string name_;
  bool held_ GUARDED_BY(mutex_) = false;
  bool was_asked_for_ GUARDED_BY(mutex_) = false;
};

// The lock itself: its last copy lets go.
class HeldMutex final : public VariantValue {
 public:
  explicit HeldMutex(RefPtr<StepMutex> mutex) : mutex_(std::move(mutex)) {}
  HeldMutex(const HeldMutex&) = delete;
  HeldMutex& operator=(const HeldMutex&) = delete;
  ~HeldMutex() override { mutex_->Unlock(); }
  std::string TypeName() const override { return "tensorflow::Mutex::LockReleaser"; }
  std::string DebugString() const override { return mutex_->DebugString(); }

 private:
  const RefPtr<StepMutex> mutex_;
};

Tensor StepMutex::HeldLock() {
  return Tensor::Scalar(Variant(std::make_shared<const HeldMutex>(RefPtr<StepMutex>::Share(this))));
}

class MutexHandleCpu : public HandleKernel {
 public:
  MutexHandleCpu(const KernelConstruction& c, const ResourceName& name)
      : HandleKernel(c, name, "tensorflow::Mutex") {}
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    ASSIGN_OR_RETURN(const ResourceName name, ResourceName::Of(c));
    return std::unique_ptr<Kernel>(std::make_unique<MutexHandleCpu>(c, name));
  }

 private:
  Result<RefPtr<Resource>> Get(ResourceManager& resources) override {
    ASSIGN_OR_RETURN(
        RefPtr<StepMutex> mutex,
        resources.LookupOrCreate<StepMutex>(
            place().container, place().name, [&]() -> Result<RefPtr<StepMutex>> {
              return RefPtr<StepMutex>::Adopt(std::make_unique<StepMutex>(place().name).release());
            }));
    return RefPtr<Resource>::Adopt(mutex.release());
  }
};

class MutexLockCpu : public WaitingKernel {
 public:
  std::optional<Status> TryCompute(Context& ctx) override {
    const Result<RefPtr<StepMutex>> mutex = ctx.Resource<StepMutex>(0);
    if (!mutex.ok()) return mutex.status();
    if (!(*mutex)->TryLock()) return std::nullopt;
    ctx.set_output(0, (*mutex)->HeldLock());
    return OkStatus();
  }
  void Wait(Context& ctx, Done done) override {
    const Result<RefPtr<StepMutex>> mutex = ctx.Resource<StepMutex>(0);
    if (!mutex.ok()) return std::move(done)(mutex.status());
    (*mutex)->Join(std::make_unique<Waiter>(0, ctx, std::move(done)));
  }
  std::string WaitsFor(Context& ctx) const override {
    const Result<RefPtr<StepMutex>> mutex = ctx.Resource<StepMutex>(0);
    return mutex.ok() ? (*mutex)->DebugString() : "";
  }
};

Status ConsumeMutexLock(Context& ctx) {
  const Tensor& lock = ctx.input(0);
  if (lock.dtype() != DType::kVariant || lock.num_elements() != 1 ||
      lock.scalar<Variant>().As<HeldMutex>() == nullptr) {
    return InvalidArgument("Expected input to contain a MutexLock, got ", lock.ToString());
  }
  return OkStatus();
}

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(mutex_lock, cpu) {
  registry.Add<MutexHandleCpu>("MutexV2", kCpu).Cost(KernelCost::kCheap);
  registry.Add<MutexLockCpu>("MutexLock", kCpu);
  registry.AddFunction<ConsumeMutexLock>("ConsumeMutexLock", kCpu).Cost(KernelCost::kCheap);
}
