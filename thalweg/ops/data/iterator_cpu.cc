// SPDX-License-Identifier: Apache-2.0
#include "thalweg/data/state.h"
#include "thalweg/kernel/kernel_registry.h"
#include "thalweg/ops/data/dataset_kernel.h"
#include "thalweg/ops/data/iterator_handles.h"
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
    ASSIGN_OR_RETURN(ElementSpec spec, SpecOf(c.node()));
    return std::unique_ptr<Kernel>(std::make_unique<IteratorHandleCpu>(c, name, std::move(spec)));
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
    return MakeWithSpec<AnonymousIteratorCpu>(c);
  }
  Status Compute(Context& ctx) override {
    return GiveAnonymous(ctx, "AnonymousIterator", kIteratorType,
                         RefPtr<Resource>::Adopt(NewIterator(spec_).release()));
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

struct GetNextCpu final : GetNextKernel {
  using GetNextKernel::GetNextKernel;
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    return MakeWithSpec<GetNextCpu>(c);
  }
};

class GetNextAsOptionalCpu : public IteratorKernel {
 public:
  explicit GetNextAsOptionalCpu(ElementSpec spec) : spec_(std::move(spec)) {}
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    return MakeWithSpec<GetNextAsOptionalCpu>(c);
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

// Where its elements come into being.
Status IteratorGetDevice(Context& ctx) {
  RETURN_IF_ERROR(ctx.Resource<Iterator>(0).status());
  ctx.set_output(0, Tensor::Scalar(std::string(ctx.device().full_name())));
  return OkStatus();
}

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
  registry.AddFunction<IteratorToStringHandle<Iterator>>("IteratorToStringHandle", kCpu);
  registry.Add<FromStringHandleCpu<Iterator>>("IteratorFromStringHandle", kCpu);
  registry.Add<FromStringHandleCpu<Iterator>>("IteratorFromStringHandleV2", kCpu);
}
