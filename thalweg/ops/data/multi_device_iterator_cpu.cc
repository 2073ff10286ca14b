// SPDX-License-Identifier: Apache-2.0
#include "thalweg/data/multi_device_iterator.h"
#include "thalweg/kernel/kernel_registry.h"
#include "thalweg/ops/data/dataset_kernel.h"
#include "thalweg/ops/data/iterator_kernel.h"
#include "thalweg/ops/data/iterator_wire.h"
#include "thalweg/resources/handle_kernel.h"
#include "thalweg/tensor/integers.h"

namespace thalweg {
namespace {

constexpr std::string_view kMultiDeviceType = "tensorflow::data::MultiDeviceIterator";
constexpr std::string_view kAnonymousMultiDevice = "AnonymousMultiDeviceIterator";

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
    ASSIGN_OR_RETURN(DatasetAttrs attrs, DatasetAttrs::Of(c.node()));
    ASSIGN_OR_RETURN(const size_t devices, MultiDeviceCount(c));
    return std::unique_ptr<Kernel>(
        std::make_unique<MultiDeviceIteratorCpu>(c, name, std::move(attrs.spec), devices));
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
    ASSIGN_OR_RETURN(DatasetAttrs attrs, DatasetAttrs::Of(c.node()));
    ASSIGN_OR_RETURN(const size_t devices, MultiDeviceCount(c));
    return std::unique_ptr<Kernel>(
        std::make_unique<AnonymousMultiDeviceCpu>(std::move(attrs.spec), devices));
  }
  Status Compute(Context& ctx) override {
    ResourceHandle::Place place;
    place.device = ctx.device().full_name();
    place.name = kAnonymousMultiDevice;
    place.type_name = kMultiDeviceType;
    ctx.set_output(0, Tensor::Scalar(ResourceHandle(
                          std::move(place),
                          RefPtr<Resource>::Adopt(NewMultiDevice(spec_, devices_).release()))));
    if (ctx.num_outputs() == 1) return OkStatus();
    ASSIGN_OR_RETURN(Tensor deleter, Tensor::AllocateHost(DType::kVariant, Shape()));
    ctx.set_output(1, std::move(deleter));
    return OkStatus();
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

class GetNextFromShardCpu : public IteratorKernel {
 public:
  explicit GetNextFromShardCpu(ElementSpec spec) : spec_(std::move(spec)) {}
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    ASSIGN_OR_RETURN(DatasetAttrs attrs, DatasetAttrs::Of(c.node()));
    return std::unique_ptr<Kernel>(std::make_unique<GetNextFromShardCpu>(std::move(attrs.spec)));
  }

 private:
  Result<Asked> Find(Context& ctx) const override {
    ASSIGN_OR_RETURN(RefPtr<MultiDeviceIterator> iterator, ctx.Resource<MultiDeviceIterator>(0));
    ASSIGN_OR_RETURN(const int64_t shard, IntArgument(ctx, 1, "shard_num"));
    ASSIGN_OR_RETURN(const int64_t incarnation, IntArgument(ctx, 2, "incarnation_id"));
    ASSIGN_OR_RETURN(std::shared_ptr<Iteration> iteration, iterator->Shard(shard, incarnation));
    return Asked{std::move(iteration), RefPtr<Resource>::Adopt(iterator.release())};
  }
  Result<Poll> Ask(Context& ctx, const Poller& poller, Stage& stage) override {
    Element element;
    ASSIGN_OR_RETURN(const Poll poll, stage.Next(poller, &element));
    if (poll != Poll::kElement) return poll;
    RETURN_IF_ERROR(spec_.Check(element));
    for (int i = 0; i < ctx.num_outputs(); ++i) {
      ctx.set_output(i, std::move(element[static_cast<size_t>(i)]));
    }
    return poll;
  }
  Status AtEnd(Context&) override { return OutOfRange("End of sequence"); }

  const ElementSpec spec_;
};

Status MultiDeviceToStringHandle(Context& ctx) {
  RETURN_IF_ERROR(ctx.Resource<MultiDeviceIterator>(0).status());
  ASSIGN_OR_RETURN(std::string text, TextOfHandle(ctx.input(0)));
  ctx.set_output(0, Tensor::Scalar(text));
  return OkStatus();
}

class MultiDeviceFromStringHandleCpu : public Kernel {
 public:
  explicit MultiDeviceFromStringHandleCpu(ElementSpec spec) : spec_(std::move(spec)) {}
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    ASSIGN_OR_RETURN(DatasetAttrs attrs, DatasetAttrs::Of(c.node()));
    return std::unique_ptr<Kernel>(
        std::make_unique<MultiDeviceFromStringHandleCpu>(std::move(attrs.spec)));
  }
  Status Compute(Context& ctx) override {
    ASSIGN_OR_RETURN(const std::string text, TextArgument(ctx, 0, "string_handle"));
    ASSIGN_OR_RETURN(ResourceHandle::Place place, PlaceOfText(text));
    ASSIGN_OR_RETURN(
        RefPtr<MultiDeviceIterator> iterator,
        ctx.step().resources->Lookup<MultiDeviceIterator>(place.container, place.name));
    // A node that says nothing takes any iterator.
    if (!spec_.types.empty()) RETURN_IF_ERROR(spec_.Admits(iterator->spec()));
    ctx.set_output(0, Tensor::Scalar(ResourceHandle(std::move(place),
                                                    RefPtr<Resource>::Adopt(iterator.release()))));
    return OkStatus();
  }

 private:
  const ElementSpec spec_;
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
  registry.AddFunction<MultiDeviceToStringHandle>("MultiDeviceIteratorToStringHandle", kCpu);
  registry.Add<MultiDeviceFromStringHandleCpu>("MultiDeviceIteratorFromStringHandle", kCpu);
  registry.AddFunction<DeleteMultiDevice>("DeleteMultiDeviceIterator", kCpu);
}
