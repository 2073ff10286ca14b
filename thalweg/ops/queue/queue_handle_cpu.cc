// SPDX-License-Identifier: Apache-2.0
#include <limits>

#include "thalweg/base/entropy.h"
#include "thalweg/ops/queue/queue_node.h"
#include "thalweg/ops/queue/tensor_queue.h"

namespace thalweg {
namespace {

std::string Listed(const std::vector<DType>& types) {
  std::string text;
  for (const DType dtype : types) text += StrCat(text.empty() ? "" : ", ", dtype);
  return text;
}

std::string Listed(const std::vector<PartialShape>& shapes) {
  std::string text;
  for (const PartialShape& shape : shapes) text += StrCat(text.empty() ? "" : ",", shape);
  return "[" + text + "]";
}

Status CheckShapes(const TensorQueue::Spec& spec, bool may_be_partial) {
  const size_t given = spec.shapes.size();
  if (may_be_partial && given != spec.types.size()) {
    return InvalidArgument("Shapes must be provided for all components, but received ",
                           spec.types.size(), " dtypes and ", given, " shapes.");
  }
  if (given != 0 && given != spec.types.size()) {
    return InvalidArgument("Different number of component types.  Types: ", Listed(spec.types),
                           ", Shapes: ", Listed(spec.shapes));
  }
  for (const PartialShape& shape : spec.shapes) {
    if (may_be_partial && !shape.known_rank()) {
      return InvalidArgument("shape ", shape, " must have known rank.");
    }
    if (!may_be_partial && !shape.IsFullyDefined()) {
      return InvalidArgument("Shape ", shape, " is not fully defined");
    }
  }
  return OkStatus();
}

// The seeds and the number that must stay, of a queue that shuffles.
Status ReadShuffling(const KernelConstruction& c, TensorQueue::Spec* spec) {
  ASSIGN_OR_RETURN(spec->min_after_dequeue, c.Attr<int64_t>("min_after_dequeue"));
  ASSIGN_OR_RETURN(const int64_t seed, c.Attr<int64_t>("seed"));
  ASSIGN_OR_RETURN(const int64_t seed2, c.Attr<int64_t>("seed2"));
  const bool any = seed == 0 && seed2 == 0;
  spec->has_seeds = !any;
  spec->seed = any ? RandomSeed() : static_cast<uint64_t>(seed);
  spec->seed2 = any ? RandomSeed() : static_cast<uint64_t>(seed2);
  if (spec->min_after_dequeue < 0) {
    return InvalidArgument("min_after_dequeue ", spec->min_after_dequeue, " must be >= 0");
  }
  if (spec->min_after_dequeue >= spec->capacity) {
    return InvalidArgument("min_after_dequeue ", spec->min_after_dequeue, " must be < capacity ",
                           spec->capacity);
  }
  return OkStatus();
}

Result<TensorQueue::Spec> ReadSpec(const KernelConstruction& c, std::string name) {
  TensorQueue::Spec spec;
  spec.kind = c.node().op_name();
  if (spec.kind.ends_with("V2")) spec.kind.resize(spec.kind.size() - 2);
  spec.name = std::move(name);
  ASSIGN_OR_RETURN(spec.types, c.Attr<std::vector<DType>>("component_types"));
  ASSIGN_OR_RETURN(spec.shapes, c.Attr<std::vector<PartialShape>>("shapes"));
  ASSIGN_OR_RETURN(spec.capacity, c.Attr<int64_t>("capacity"));
  if (spec.capacity < 0) spec.capacity = std::numeric_limits<int32_t>::max();
  if (spec.kind == "PriorityQueue") {
    spec.types.insert(spec.types.begin(), DType::kInt64);
    spec.shapes.insert(spec.shapes.begin(), PartialShape(Shape()));
  }
  if (spec.types.empty()) return InvalidArgument("a queue needs at least one component");
  RETURN_IF_ERROR(CheckShapes(spec, spec.kind == "PaddingFIFOQueue"));
  if (spec.kind == "RandomShuffleQueue") RETURN_IF_ERROR(ReadShuffling(c, &spec));
  return spec;
}

// The same, or for queues that pad, such that one tensor may have both.
bool AreAlike(const std::vector<PartialShape>& a, const std::vector<PartialShape>& b, bool pads) {
  if (!pads || a.size() != b.size()) return a == b;
  for (size_t i = 0; i < a.size(); ++i) {
    if (!a[i].IsCompatibleWith(b[i])) return false;
  }
  return true;
}

// A queue that another node has made must be what this one would make.
Status CheckShared(const TensorQueue::Spec& shared, const TensorQueue::Spec& wanted) {
  const auto differs = [&](const char* what, const auto& has, const auto& requested) {
    return InvalidArgument("Shared queue '", shared.name, "' has ", what, " ", has,
                           " but requested ", what, requested);
  };
  if (shared.capacity != wanted.capacity) {
    return differs("capacity", shared.capacity, StrCat(" was ", wanted.capacity));
  }
  if (shared.types != wanted.types) {
    return differs("component types", Listed(shared.types), " were " + Listed(wanted.types));
  }
  if (!AreAlike(shared.shapes, wanted.shapes, wanted.kind == "PaddingFIFOQueue")) {
    return differs("component shapes", Listed(shared.shapes), " were " + Listed(wanted.shapes));
  }
  if (shared.min_after_dequeue != wanted.min_after_dequeue) {
    return differs("min_after_dequeue", shared.min_after_dequeue,
                   StrCat(" was ", wanted.min_after_dequeue));
  }
  if (wanted.has_seeds && (shared.seed != wanted.seed || shared.seed2 != wanted.seed2)) {
    return InvalidArgument("Shared queue '", shared.name, "' has random seeds (", shared.seed, ", ",
                           shared.seed2, ") but requested seeds are (", wanted.seed, ", ",
                           wanted.seed2, ").");
  }
  return OkStatus();
}

class QueueHandleCpu : public HandleKernel {
 public:
  QueueHandleCpu(const KernelConstruction& c, const ResourceName& name, TensorQueue::Spec spec)
      : HandleKernel(c, name, "tensorflow::QueueInterface"),
        spec_(std::move(spec)),
        op_(c.node().op_name()) {}
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    ASSIGN_OR_RETURN(const ResourceName name, ResourceName::Of(c));
    ASSIGN_OR_RETURN(TensorQueue::Spec spec, ReadSpec(c, name.name));
    return std::unique_ptr<Kernel>(std::make_unique<QueueHandleCpu>(c, name, std::move(spec)));
  }

 private:
  Result<RefPtr<Resource>> Get(ResourceManager& resources) override {
    ASSIGN_OR_RETURN(
        RefPtr<TensorQueue> queue,
        resources.LookupOrCreate<TensorQueue>(
            place().container, place().name, [&]() -> Result<RefPtr<TensorQueue>> {
              return RefPtr<TensorQueue>::Adopt(std::make_unique<TensorQueue>(spec_).release());
            }));
    if (queue->spec().kind != spec_.kind) {
      return InvalidArgument("Expected ", queue->spec().kind, ", found ", op_, ": '", place().name,
                             "' is shared");
    }
    RETURN_IF_ERROR(CheckShared(queue->spec(), spec_));
    return RefPtr<Resource>::Adopt(queue.release());
  }

  const TensorQueue::Spec spec_;
  const std::string op_;
};

Status FakeQueue(Context& ctx) {
  ASSIGN_OR_RETURN(RefPtr<TensorQueue> queue, ResourceOf<TensorQueue>(ctx));
  ctx.set_output(0, Tensor::Reference(RefPtr<Resource>::Adopt(queue.release()), DType::kString));
  return OkStatus();
}

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(queue_handle, cpu) {
  for (const char* op :
       {"FIFOQueue", "FIFOQueueV2", "PaddingFIFOQueue", "PaddingFIFOQueueV2", "PriorityQueue",
        "PriorityQueueV2", "RandomShuffleQueue", "RandomShuffleQueueV2"}) {
    registry.Add<QueueHandleCpu>(op, kCpu).Cost(KernelCost::kCheap);
  }
  registry.AddFunction<FakeQueue>("FakeQueue", kCpu).Cost(KernelCost::kCheap);
}
