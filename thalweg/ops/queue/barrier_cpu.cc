// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>

#include "thalweg/ops/queue/barrier.h"
#include "thalweg/ops/queue/queue_node.h"
#include "thalweg/tensor/integers.h"

namespace thalweg {
namespace {

Result<Barrier::Spec> ReadSpec(const KernelConstruction& c, std::string name) {
  Barrier::Spec spec;
  spec.name = std::move(name);
  ASSIGN_OR_RETURN(spec.types, c.Attr<std::vector<DType>>("component_types"));
  ASSIGN_OR_RETURN(const std::vector<PartialShape> shapes,
                   c.Attr<std::vector<PartialShape>>("shapes"));
  ASSIGN_OR_RETURN(const int64_t capacity, c.Attr<int64_t>("capacity"));
  if (capacity != -1) {
    return InvalidArgument(
        "Barrier only accepts capacity=-1.  Feed the inputs to your Barrier through a queue to "
        "enforce a limited capacity. Got ",
        capacity);
  }
  if (shapes.size() != spec.types.size()) {
    return InvalidArgument("All of the component shapes must be specified: ", spec.types.size(),
                           " components, ", shapes.size(), " shapes");
  }
  for (const PartialShape& shape : shapes) {
    // A shape of which nothing is known is that of a scalar, as TensorFlow has it.
    if (!shape.known_rank()) {
      spec.shapes.emplace_back();
      continue;
    }
    if (!shape.IsFullyDefined()) {
      return InvalidArgument("Shape ", shape, " is not fully defined");
    }
    spec.shapes.push_back(shape.ToShape());
  }
  return spec;
}

class BarrierCpu : public HandleKernel {
 public:
  BarrierCpu(const KernelConstruction& c, const ResourceName& name, Barrier::Spec spec)
      : HandleKernel(c, name, "tensorflow::barrier::Barrier"), spec_(std::move(spec)) {}
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    ASSIGN_OR_RETURN(const ResourceName name, ResourceName::Of(c));
    ASSIGN_OR_RETURN(Barrier::Spec spec, ReadSpec(c, name.name));
    return std::unique_ptr<Kernel>(std::make_unique<BarrierCpu>(c, name, std::move(spec)));
  }

 private:
  Result<RefPtr<Resource>> Get(ResourceManager& resources) override {
    ASSIGN_OR_RETURN(
        RefPtr<Barrier> barrier,
        resources.LookupOrCreate<Barrier>(
            place().container, place().name, [&]() -> Result<RefPtr<Barrier>> {
              return RefPtr<Barrier>::Adopt(std::make_unique<Barrier>(spec_).release());
            }));
    if (!(barrier->spec() == spec_)) {
      return InvalidArgument("Shared barrier '", spec_.name,
                             "' has other component types or shapes than this node says");
    }
    return RefPtr<Resource>::Adopt(barrier.release());
  }

  const Barrier::Spec spec_;
};

class InsertManyCpu : public Kernel {
 public:
  explicit InsertManyCpu(int64_t component) : component_(component) {}
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    ASSIGN_OR_RETURN(const int64_t component, c.Attr<int64_t>("component_index"));
    return std::unique_ptr<Kernel>(std::make_unique<InsertManyCpu>(component));
  }
  Status Compute(Context& ctx) override {
    ASSIGN_OR_RETURN(const RefPtr<Barrier> barrier, ResourceOf<Barrier>(ctx));
    return barrier->Insert(component_, ctx.input(1), ctx.input(2), ctx.allocator());
  }

 private:
  const int64_t component_;
};

class TakeManyCpu : public WaitingKernel {
 public:
  TakeManyCpu(std::vector<DType> types, bool may_be_fewer)
      : types_(std::move(types)), may_be_fewer_(may_be_fewer) {}
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    RETURN_IF_ERROR(CheckTimeout(c));
    ASSIGN_OR_RETURN(std::vector<DType> types, c.Attr<std::vector<DType>>("component_types"));
    ASSIGN_OR_RETURN(const bool fewer, c.Attr<bool>("allow_small_batch"));
    return std::unique_ptr<Kernel>(std::make_unique<TakeManyCpu>(std::move(types), fewer));
  }

  std::optional<Status> TryCompute(Context& ctx) override {
    const Result<RefPtr<Barrier>> barrier = ResourceOf<Barrier>(ctx);
    if (!barrier.ok()) return barrier.status();
    if ((*barrier)->spec().types != types_) {
      return InvalidArgument("Signature mismatch: the node has other component types than ",
                             (*barrier)->DebugString());
    }
    const Result<int64_t> count = IntScalar(ctx.input(1), "num_elements");
    if (!count.ok()) return count.status();
    if (*count >= 0) return std::nullopt;
    return InvalidArgument("num_elements must not be negative, got ", *count);
  }
  void Wait(Context& ctx, Done done) override {
    const Result<RefPtr<Barrier>> barrier = ResourceOf<Barrier>(ctx);
    if (!barrier.ok()) return std::move(done)(barrier.status());
    const int64_t count = ctx.input(1).scalar<int32_t>();
    (*barrier)->Join(std::make_unique<Barrier::Take>(ctx, std::move(done), count, may_be_fewer_));
  }
  std::string WaitsFor(Context& ctx) const override {
    const Result<RefPtr<Barrier>> barrier = ResourceOf<Barrier>(ctx);
    return barrier.ok() ? (*barrier)->DebugString() : "";
  }

 private:
  const std::vector<DType> types_;
  const bool may_be_fewer_;
};

class BarrierCloseCpu : public Kernel {
 public:
  explicit BarrierCloseCpu(bool cancel) : cancel_(cancel) {}
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    ASSIGN_OR_RETURN(const bool cancel, c.Attr<bool>("cancel_pending_enqueues"));
    return std::unique_ptr<Kernel>(std::make_unique<BarrierCloseCpu>(cancel));
  }
  Status Compute(Context& ctx) override {
    ASSIGN_OR_RETURN(const RefPtr<Barrier> barrier, ResourceOf<Barrier>(ctx));
    return barrier->Close(cancel_);
  }

 private:
  const bool cancel_;
};

template <int64_t (Barrier::*kSize)() const>
Status BarrierSize(Context& ctx) {
  ASSIGN_OR_RETURN(const RefPtr<Barrier> barrier, ResourceOf<Barrier>(ctx));
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
  const int64_t size = std::min((barrier.get()->*kSize)(), kMost);
  ctx.set_output(0, Tensor::Scalar(static_cast<int32_t>(size)));
  return OkStatus();
}

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(barrier, cpu) {
  registry.Add<BarrierCpu>("Barrier", kCpu).Cost(KernelCost::kCheap);
  registry.Add<InsertManyCpu>("BarrierInsertMany", kCpu);
  registry.Add<TakeManyCpu>("BarrierTakeMany", kCpu);
  registry.Add<BarrierCloseCpu>("BarrierClose", kCpu);
  registry.AddFunction<BarrierSize<&Barrier::ready_size>>("BarrierReadySize", kCpu)
      .Cost(KernelCost::kCheap);
  registry.AddFunction<BarrierSize<&Barrier::incomplete_size>>("BarrierIncompleteSize", kCpu)
      .Cost(KernelCost::kCheap);
}
