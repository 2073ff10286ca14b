// SPDX-License-Identifier: Apache-2.0
#include "thalweg/data/multi_device_iterator.h"
#include "thalweg/kernel/kernel_registry.h"
#include "thalweg/ops/data/dataset_kernel.h"
#include "thalweg/ops/data/iterator_handles.h"
#include "thalweg/ops/data/iterator_kernel.h"
#include "thalweg/resources/handle_kernel.h"
#include "thalweg/tensor/integers.h"

namespace thalweg {
namespace {

constexpr std::string_view kMultiDeviceType = "tensorflow::data::MultiDeviceIterator";

RefPtr<MultiDeviceIterator> NewMultiDevice(const ElementSpec& spec, size_t devices) {
  return RefPtr<MultiDeviceIterator>::Adopt(
      std::make_unique<MultiDeviceIterator>(spec, devices).release());
}

Result<size_t> MultiDeviceCount(const KernelConstruction& c) {
  ASSIGN_OR_RETURN(const auto devices, c.Attr<std::vector<std::string>>("devices"));
  if (devices.empty()) return InvalidArgument("devices must name at least one device");
  return devices.size();
}

class MultiDeviceIteratorCpu : public HandleKernel {
 public:
  MultiDeviceIteratorCpu(const KernelConstruction& c, const ResourceName& name, ElementSpec spec,
                         size_t devices)
      : HandleKernel(c, name, std::string(kMultiDeviceType)),
        spec_(std::move(spec)),
        devices_(devices) {}
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    ASSIGN_OR_RETURN(const ResourceName name, ResourceName::Of(c));
    ASSIGN_OR_RETURN(ElementSpec spec, SpecOf(c.node()));
    ASSIGN_OR_RETURN(const size_t devices, MultiDeviceCount(c));
    return std::unique_ptr<Kernel>(
        std::make_unique<MultiDeviceIteratorCpu>(c, name, std::move(spec), devices));
  }

 private:
  Result<RefPtr<Resource>> Get(ResourceManager& resources) override {
    using Made = Result<RefPtr<MultiDeviceIterator>>;
    ASSIGN_OR_RETURN(RefPtr<MultiDeviceIterator> iterator,
                     resources.LookupOrCreate<MultiDeviceIterator>(
                         place().container, place().name,
                         [this]() -> Made { return NewMultiDevice(spec_, devices_); }));
    RETURN_IF_ERROR(iterator->spec().Admits(spec_));
    if (iterator->devices() != devices_) {
      return InvalidArgument("the iterator '", place().name, "' is one of ", iterator->devices(),
                             " devices, the node says ", devices_);
    }
    return RefPtr<Resource>::Adopt(iterator.release());
  }

  const ElementSpec spec_;
  const size_t devices_;
};

// One that lives as long as its handle.
class AnonymousMultiDeviceCpu : public Kernel {
 public:
  AnonymousMultiDeviceCpu(ElementSpec spec, size_t devices)
      : spec_(std::move(spec)), devices_(devices) {}
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    ASSIGN_OR_RETURN(ElementSpec spec, SpecOf(c.node()));
    ASSIGN_OR_RETURN(const size_t devices, MultiDeviceCount(c));
    return std::unique_ptr<Kernel>(
        std::make_unique<AnonymousMultiDeviceCpu>(std::move(spec), devices));
  }
  Status Compute(Context& ctx) override {
    return GiveAnonymous(ctx, "AnonymousMultiDeviceIterator", kMultiDeviceType,
                         RefPtr<Resource>::Adopt(NewMultiDevice(spec_, devices_).release()));
  }

 private:
  const ElementSpec spec_;
  const size_t devices_;
};

Status MultiDeviceInit(Context& ctx) {
  ASSIGN_OR_RETURN(const DatasetPtr dataset, DatasetOf(ctx.input(0)));
  ASSIGN_OR_RETURN(const RefPtr<MultiDeviceIterator> iterator,
                   ctx.Resource<MultiDeviceIterator>(1));
  ASSIGN_OR_RETURN(const int64_t buffer, IntArgument(ctx, 2, "max_buffer_size"));
  if (buffer < 1) return InvalidArgument("max_buffer_size must be at least 1, got ", buffer);
  ASSIGN_OR_RETURN(const int64_t incarnation,
                   iterator->Begin(dataset, static_cast<size_t>(buffer), ctx.step()));
  ctx.set_output(0, Tensor::Scalar(incarnation));
  return OkStatus();
}

struct GetNextFromShardCpu final : GetNextKernel {
  using GetNextKernel::GetNextKernel;
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    return MakeWithSpec<GetNextFromShardCpu>(c);
  }
  Result<Asked> Find(Context& ctx) const override {
    ASSIGN_OR_RETURN(RefPtr<MultiDeviceIterator> iterator, ctx.Resource<MultiDeviceIterator>(0));
    ASSIGN_OR_RETURN(const int64_t shard, IntArgument(ctx, 1, "shard_num"));
    ASSIGN_OR_RETURN(const int64_t incarnation, IntArgument(ctx, 2, "incarnation_id"));
    ASSIGN_OR_RETURN(std::shared_ptr<Iteration> iteration, iterator->Shard(shard, incarnation));
    return Asked{std::move(iteration), RefPtr<Resource>::Adopt(iterator.release())};
  }
};

Status DeleteMultiDevice(Context& ctx) {
  ASSIGN_OR_RETURN(const RefPtr<MultiDeviceIterator> iterator,
                   ctx.Resource<MultiDeviceIterator>(0));
  iterator->End();
  return OkStatus();
}

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(multi_device_iterator, cpu) {
  registry.Add<MultiDeviceIteratorCpu>("MultiDeviceIterator", kCpu);
  registry.Add<AnonymousMultiDeviceCpu>("AnonymousMultiDeviceIterator", kCpu);
  registry.Add<AnonymousMultiDeviceCpu>("AnonymousMultiDeviceIteratorV3", kCpu);
  registry.AddFunction<MultiDeviceInit>("MultiDeviceIteratorInit", kCpu);
  registry.Add<GetNextFromShardCpu>("MultiDeviceIteratorGetNextFromShard", kCpu);
  registry.AddFunction<IteratorToStringHandle<MultiDeviceIterator>>(
      "MultiDeviceIteratorToStringHandle", kCpu);
  registry.Add<FromStringHandleCpu<MultiDeviceIterator>>("MultiDeviceIteratorFromStringHandle",
                                                         kCpu);
  registry.AddFunction<DeleteMultiDevice>("DeleteMultiDeviceIterator", kCpu);
}
