// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <utility>
#include <vector>

#include "thalweg/data/iterator.h"
#include "thalweg/ops/data/dataset_kernel.h"
#include "thalweg/resources/handle_kernel.h"
#include "thalweg/resources/waiter_queues.h"

namespace thalweg {
namespace {

// The iterator, which begins with what a function gives when it is first asked for. Calls that wait
// for the function come and go; it goes on whoever's step is cancelled.
class OneShot : public WaiterQueues {
 public:
  OneShot(ResourceHandle::Place place, DatasetAttrs attrs)
      : WaiterQueues({Order::kAny}), place_(std::move(place)), attrs_(std::move(attrs)) {}
  std::string DebugString() const override { return "an iterator that begins by itself"; }

  void Ask(Context& ctx, Done done) EXCLUDES(mutex_) {
    bool is_first = false;
    {
      MutexLock lock(mutex_);
      is_first = !is_asked_ && dataset_ == nullptr;
      is_asked_ |= is_first;
    }
    ElementFunctionPtr function;
    if (is_first) {
      Result<ElementFunctionPtr> factory = FunctionArgument(ctx, attrs_, "dataset_factory", {});
      if (!factory.ok()) {
        Tell(factory.status());
        return std::move(done)(factory.status());
      }
      function = *std::move(factory);
    }
    const RefPtr<OneShot> self = RefPtr<OneShot>::Share(this);
    Join(std::make_unique<Waiter>(0, ctx, std::move(done)));  // after this ctx may be gone
    if (!is_first) return EndIfFailed();
    function->function->Start({}, &cancellation_, [self, function](const Result<Element>& results) {
      self->Tell(results);
    });
  }
  // The session that has asked is closed.
  void Cancel() { cancellation_.Cancel(Cancelled("the session of the iterator is closed")); }

 private:
  // Who joins behind the failure of the one whom he saw asking would be told by nobody.
  void EndIfFailed() EXCLUDES(mutex_) {
    Ended ended;
    {
      MutexLock lock(mutex_);
      if (!is_asked_ && dataset_ == nullptr) FailAll(0, failure_, &ended);
    }
    End(std::move(ended));
  }
  void Tell(const Result<Element>& results) EXCLUDES(mutex_) {
    const Result<DatasetPtr> dataset = DatasetIn(results);
    Ended ended;
    {
      MutexLock lock(mutex_);
      is_asked_ = false;
      if (dataset.ok()) {
        dataset_ = *dataset;
        AdvanceAll(&ended);
      } else {
        failure_ = dataset.status();
        FailAll(0, failure_, &ended);
      }
    }
    End(std::move(ended));
  }
  static Result<DatasetPtr> DatasetIn(const Result<Element>& results) {
    if (!results.ok()) return results.status();
    if (results->size() == 1) return DatasetOf((*results)[0]);
    return InvalidArgument("dataset_factory must give one dataset, got ", results->size(),
                           " values");
  }

  Progress Advance(Waiter&) override REQUIRES(mutex_) {
    return dataset_ != nullptr ? Progress::kEnded : Progress::kNone;
  }
  // The first of them lets the iterator begin, in its own step.
  Status Finish(Waiter& waiter) override EXCLUDES(mutex_) {
    MutexLock begins(begin_mutex_);
    if (handle_.empty()) RETURN_IF_ERROR(Begin(waiter.ctx.step()));
    waiter.ctx.set_output(0, handle_);
    return OkStatus();
  }
  Status Begin(const StepContext& step) REQUIRES(begin_mutex_) {
    DatasetPtr dataset;
    {
      MutexLock lock(mutex_);
      dataset = dataset_;
    }
    ASSIGN_OR_RETURN(
        RefPtr<Iterator> iterator,
        step.resources->LookupOrCreate<Iterator>(
            place_.container, place_.name, [this]() -> Result<RefPtr<Iterator>> {
              return RefPtr<Iterator>::Adopt(std::make_unique<Iterator>(attrs_.spec).release());
            }));
    RETURN_IF_ERROR(iterator->Begin(dataset, step));
    handle_ = Tensor::Scalar(ResourceHandle(place_, RefPtr<Resource>::Adopt(iterator.release())));
    return OkStatus();
  }

  const ResourceHandle::Place place_;
  const DatasetAttrs attrs_;
  CancellationManager cancellation_;  // of the function
  bool is_asked_ GUARDED_BY(mutex_) = false;
  Status failure_ GUARDED_BY(mutex_);      // of the last one who asked
  DatasetPtr dataset_ GUARDED_BY(mutex_);  // null: not made yet
  Mutex begin_mutex_;
  Tensor handle_ GUARDED_BY(begin_mutex_);  // empty: it has not begun
};

class OneShotIteratorCpu : public AsyncKernel {
 public:
  explicit OneShotIteratorCpu(RefPtr<OneShot> iterator) : iterator_(std::move(iterator)) {}
  ~OneShotIteratorCpu() override { iterator_->Cancel(); }
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    ASSIGN_OR_RETURN(const ResourceName name, ResourceName::Of(c));
    ASSIGN_OR_RETURN(DatasetAttrs attrs, DatasetAttrs::Of(c.node()));
    ResourceHandle::Place place;
    place.device = c.device().full_name();
    place.container =
        name.container.empty() ? std::string(ResourceManager::kDefaultContainer) : name.container;
    place.name = name.name;
    place.type_name = "tensorflow::data::IteratorResource";
    return std::unique_ptr<Kernel>(std::make_unique<OneShotIteratorCpu>(RefPtr<OneShot>::Adopt(
        std::make_unique<OneShot>(std::move(place), std::move(attrs)).release())));
  }

  void ComputeAsync(Context& ctx, Done done) override { iterator_->Ask(ctx, std::move(done)); }

 private:
  const RefPtr<OneShot> iterator_;
};

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(one_shot_iterator, cpu) {
  registry.Add<OneShotIteratorCpu>("OneShotIterator", kCpu).KeepsState();
}
