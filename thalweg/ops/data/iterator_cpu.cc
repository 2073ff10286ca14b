// SPDX-License-Identifier: Apache-2.0
#include "thalweg/data/state.h"
#include "thalweg/kernel/kernel_registry.h"
#include "thalweg/ops/data/dataset_kernel.h"
#include "thalweg/ops/data/iterator_kernel.h"
#include "thalweg/ops/data/iterator_wire.h"
#include "thalweg/resources/handle_kernel.h"
#include "thalweg/resources/optional_value.h"

namespace thalweg {
namespace {

constexpr std::string_view kIteratorType = "tensorflow::data::IteratorResource";

RefPtr<Iterator> NewIterator(ElementSpec spec) {
  return RefPtr<Iterator>::Adopt(std::make_unique<Iterator>(std::move(spec)).release());
}

// An iterator of the session's containers. `shared_name` empty: of the node.
class IteratorHandleCpu : public HandleKernel {
 public:
  IteratorHandleCpu(const KernelConstruction& c, const ResourceName& name, ElementSpec spec)
      : HandleKernel(c, name, std::string(kIteratorType)), spec_(std::move(spec)) {}
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    ASSIGN_OR_RETURN(const ResourceName name, ResourceName::Of(c));
    ASSIGN_OR_RETURN(DatasetAttrs attrs, DatasetAttrs::Of(c.node()));
    return std::unique_ptr<Kernel>(
        std::make_unique<IteratorHandleCpu>(c, name, std::move(attrs.spec)));
  }

 private:
  Result<RefPtr<Resource>> Get(ResourceManager& resources) override {
    ASSIGN_OR_RETURN(RefPtr<Iterator> iterator,
                     resources.LookupOrCreate<Iterator>(
                         place().container, place().name,
                         [this]() -> Result<RefPtr<Iterator>> { return NewIterator(spec_); }));
    RETURN_IF_ERROR(iterator->spec().Admits(spec_));
    return RefPtr<Resource>::Adopt(iterator.release());
  }

  const ElementSpec spec_;
};

// An iterator that lives as long as its handle.
class AnonymousIteratorCpu : public Kernel {
 public:
  explicit AnonymousIteratorCpu(ElementSpec spec) : spec_(std::move(spec)) {}
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    ASSIGN_OR_RETURN(DatasetAttrs attrs, DatasetAttrs::Of(c.node()));
    return std::unique_ptr<Kernel>(std::make_unique<AnonymousIteratorCpu>(std::move(attrs.spec)));
  }
  Status Compute(Context& ctx) override {
    ResourceHandle::Place place;
    place.device = ctx.device().full_name();
    place.name = "AnonymousIterator";
    place.type_name = kIteratorType;
    ctx.set_output(
        0, Tensor::Scalar(ResourceHandle(std::move(place),
                                         RefPtr<Resource>::Adopt(NewIterator(spec_).release()))));
    if (ctx.num_outputs() == 1) return OkStatus();
    ASSIGN_OR_RETURN(Tensor deleter, Tensor::AllocateHost(DType::kVariant, Shape()));
    ctx.set_output(1, std::move(deleter));
    return OkStatus();
  }

 private:
  const ElementSpec spec_;
};

Status MakeIterator(Context& ctx) {
  ASSIGN_OR_RETURN(const DatasetPtr dataset, DatasetOf(ctx.input(0)));
  ASSIGN_OR_RETURN(const RefPtr<Iterator> iterator, ctx.Resource<Iterator>(1));
  return iterator->Begin(dataset, ctx.step());
}

Status DeleteIterator(Context& ctx) {
  ASSIGN_OR_RETURN(const RefPtr<Iterator> iterator, ctx.Resource<Iterator>(0));
  iterator->End();
  return OkStatus();
}

class GetNextCpu : public IteratorKernel {
 public:
  explicit GetNextCpu(ElementSpec spec) : spec_(std::move(spec)) {}
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    ASSIGN_OR_RETURN(DatasetAttrs attrs, DatasetAttrs::Of(c.node()));
    return std::unique_ptr<Kernel>(std::make_unique<GetNextCpu>(std::move(attrs.spec)));
  }

 private:
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

class GetNextAsOptionalCpu : public IteratorKernel {
 public:
  explicit GetNextAsOptionalCpu(ElementSpec spec) : spec_(std::move(spec)) {}
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    ASSIGN_OR_RETURN(DatasetAttrs attrs, DatasetAttrs::Of(c.node()));
    return std::unique_ptr<Kernel>(std::make_unique<GetNextAsOptionalCpu>(std::move(attrs.spec)));
  }

 private:
  static Status Give(Context& ctx, std::shared_ptr<const OptionalValue> value) {
    RETURN_IF_ERROR(CheckDepth(*value));
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, DType::kVariant, Shape()));
    *out->mutable_data<Variant>() = Variant(std::move(value));
    return OkStatus();
  }
  Result<Poll> Ask(Context& ctx, const Poller& poller, Stage& stage) override {
    Element element;
    ASSIGN_OR_RETURN(const Poll poll, stage.Next(poller, &element));
    if (poll != Poll::kElement) return poll;
    RETURN_IF_ERROR(spec_.Check(element));
    RETURN_IF_ERROR(Give(ctx, std::make_shared<const OptionalValue>(std::move(element))));
    return poll;
  }
  Status AtEnd(Context& ctx) override { return Give(ctx, std::make_shared<const OptionalValue>()); }

  const ElementSpec spec_;
};

class SerializeIteratorCpu : public IteratorKernel {
  Result<Poll> Ask(Context& ctx, const Poller& poller, Stage& stage) override {
    StateWriter writer;
    ASSIGN_OR_RETURN(const Poll poll, stage.Save(poller, writer));
    if (poll != Poll::kElement) return poll;
    ASSIGN_OR_RETURN(Tensor state,
                     VariantOfState({writer.Take(), poller.pipeline()->dataset->Lineage()}));
    ctx.set_output(0, std::move(state));
    return poll;
  }
  Status AtEnd(Context&) override { return Internal("a stage ended while it was saved"); }
};

Status DeserializeIterator(Context& ctx) {
  ASSIGN_OR_RETURN(const RefPtr<Iterator> iterator, ctx.Resource<Iterator>(0));
  ASSIGN_OR_RETURN(IteratorState state, StateOfVariant(ctx.input(1)));
  return iterator->Restore(std::move(state), ctx.step());
}

Status IteratorToStringHandle(Context& ctx) {
  RETURN_IF_ERROR(ctx.Resource<Iterator>(0).status());
  ASSIGN_OR_RETURN(std::string text, TextOfHandle(ctx.input(0)));
  ctx.set_output(0, Tensor::Scalar(text));
  return OkStatus();
}

// Where its elements come into being.
Status IteratorGetDevice(Context& ctx) {
  RETURN_IF_ERROR(ctx.Resource<Iterator>(0).status());
  ctx.set_output(0, Tensor::Scalar(std::string(ctx.device().full_name())));
  return OkStatus();
}

class FromStringHandleCpu : public Kernel {
 public:
  explicit FromStringHandleCpu(ElementSpec spec) : spec_(std::move(spec)) {}
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    ASSIGN_OR_RETURN(DatasetAttrs attrs, DatasetAttrs::Of(c.node()));
    return std::unique_ptr<Kernel>(std::make_unique<FromStringHandleCpu>(std::move(attrs.spec)));
  }
  Status Compute(Context& ctx) override {
    ASSIGN_OR_RETURN(const std::string text, TextArgument(ctx, 0, "string_handle"));
    ASSIGN_OR_RETURN(ResourceHandle::Place place, PlaceOfText(text));
    ASSIGN_OR_RETURN(RefPtr<Iterator> iterator,
                     ctx.step().resources->Lookup<Iterator>(place.container, place.name));
    // A node that says nothing takes any iterator.
    if (!spec_.types.empty()) RETURN_IF_ERROR(spec_.Admits(iterator->spec()));
    ctx.set_output(0, Tensor::Scalar(ResourceHandle(std::move(place),
                                                    RefPtr<Resource>::Adopt(iterator.release()))));
    return OkStatus();
  }

 private:
  const ElementSpec spec_;
};

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(iterator, cpu) {
  registry.Add<IteratorHandleCpu>("Iterator", kCpu);
  registry.Add<IteratorHandleCpu>("IteratorV2", kCpu);
  for (const char* op : {"AnonymousIterator", "AnonymousIteratorV2", "AnonymousIteratorV3"}) {
    registry.Add<AnonymousIteratorCpu>(op, kCpu);
  }
  registry.AddFunction<MakeIterator>("MakeIterator", kCpu);
  registry.AddFunction<DeleteIterator>("DeleteIterator", kCpu);
  registry.Add<GetNextCpu>("IteratorGetNext", kCpu);
  registry.Add<GetNextCpu>("IteratorGetNextSync", kCpu);
  registry.Add<GetNextAsOptionalCpu>("IteratorGetNextAsOptional", kCpu);
  registry.Add<SerializeIteratorCpu>("SerializeIterator", kCpu);
  registry.AddFunction<DeserializeIterator>("DeserializeIterator", kCpu);
  registry.AddFunction<IteratorGetDevice>("IteratorGetDevice", kCpu);
  registry.AddFunction<IteratorGetDevice>("ExperimentalIteratorGetDevice", kCpu);
  registry.AddFunction<IteratorToStringHandle>("IteratorToStringHandle", kCpu);
  registry.Add<FromStringHandleCpu>("IteratorFromStringHandle", kCpu);
  registry.Add<FromStringHandleCpu>("IteratorFromStringHandleV2", kCpu);
}
