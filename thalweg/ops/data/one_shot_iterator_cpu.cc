// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <utility>
#include <vector>

#include "thalweg/data/iterator.h"
#include "thalweg/ops/data/dataset_kernel.h"
#include "thalweg/resources/handle_kernel.h"

namespace thalweg {
namespace {

// Begins with what its function gives, when it is first asked for; who comes meanwhile waits.
class OneShotIteratorCpu : public AsyncKernel {
 public:
  OneShotIteratorCpu(ResourceHandle::Place place, DatasetAttrs attrs)
      : place_(std::move(place)), attrs_(std::move(attrs)) {}
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    ASSIGN_OR_RETURN(const ResourceName name, ResourceName::Of(c));
    ASSIGN_OR_RETURN(DatasetAttrs attrs, DatasetAttrs::Of(c.node()));
    ResourceHandle::Place place;
    place.device = c.device().full_name();
    place.container =
        name.container.empty() ? std::string(ResourceManager::kDefaultContainer) : name.container;
    place.name = name.name;
    place.type_name = "tensorflow::data::IteratorResource";
    return std::unique_ptr<Kernel>(
        std::make_unique<OneShotIteratorCpu>(std::move(place), std::move(attrs)));
  }

  void ComputeAsync(Context& ctx, Done done) override {
    bool is_first = false;
    bool is_there = false;
    {
      MutexLock lock(mutex_);
      is_there = !handle_.empty();
      if (is_there) {
        ctx.set_output(0, handle_);
      } else {
        is_first = waiting_.empty();
        waiting_.push_back({&ctx, std::move(done)});
      }
    }
    if (is_there) return std::move(done)(OkStatus());
    if (is_first) MakeDataset(ctx);
  }

 private:
  struct Waiting {
    Context* ctx;
    Done done;
  };

  void MakeDataset(Context& ctx) {
    Result<ElementFunctionPtr> factory = FunctionArgument(ctx, attrs_, "dataset_factory", {});
    if (!factory.ok()) return Tell(factory.status());
    const ElementFunctionPtr function = *std::move(factory);
    function->function->Start(
        {}, ctx.step().cancellation,
        [this, &ctx, function](const Result<Element>& results) { Tell(Begin(ctx, results)); });
  }

  Status Begin(Context& ctx, const Result<Element>& results) {
    if (!results.ok()) return results.status();
    if (results->size() != 1) {
      return InvalidArgument("dataset_factory must give one dataset, got ", results->size(),
                             " values");
    }
    ASSIGN_OR_RETURN(const DatasetPtr dataset, DatasetOf((*results)[0]));
    ASSIGN_OR_RETURN(
        RefPtr<Iterator> iterator,
        ctx.step().resources->LookupOrCreate<Iterator>(
            place_.container, place_.name, [this]() -> Result<RefPtr<Iterator>> {
              return RefPtr<Iterator>::Adopt(std::make_unique<Iterator>(attrs_.spec).release());
            }));
    RETURN_IF_ERROR(iterator->Begin(dataset, ctx.step()));
    MutexLock lock(mutex_);
    handle_ = Tensor::Scalar(ResourceHandle(place_, RefPtr<Resource>::Adopt(iterator.release())));
    return OkStatus();
  }

  void Tell(const Status& status) {
    std::vector<Waiting> waiting;
    {
      MutexLock lock(mutex_);
      waiting.swap(waiting_);
      for (const Waiting& each : waiting) {
        if (status.ok()) each.ctx->set_output(0, handle_);
      }
    }
    for (Waiting& each : waiting) std::move(each.done)(status);
  }

  const ResourceHandle::Place place_;
  const DatasetAttrs attrs_;
  Mutex mutex_;
  Tensor handle_ GUARDED_BY(mutex_);  // empty: not made yet
  std::vector<Waiting> waiting_ GUARDED_BY(mutex_);
};

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(one_shot_iterator, cpu) {
  registry.Add<OneShotIteratorCpu>("OneShotIterator", kCpu).KeepsState();
}
