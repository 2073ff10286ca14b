// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>

#include "thalweg/ops/queue/queue_node.h"
#include "thalweg/ops/queue/staging_map.h"
#include "thalweg/tensor/integers.h"

namespace thalweg {
namespace {

// A kind of its own, so that ordered and other maps may have the same name.
class OrderedStagingMap final : public StagingMap {
 public:
  using StagingMap::StagingMap;
};

// What the attributes that all these operations have say.
struct MapNode {
  ResourceName name;
  StagingMap::Spec spec;
  std::vector<DType> types;

  static Result<MapNode> Of(const KernelConstruction& c) {
    MapNode node;
    ASSIGN_OR_RETURN(node.name, ResourceName::Of(c));
    ASSIGN_OR_RETURN(node.spec.capacity, c.Attr<int64_t>("capacity"));
    ASSIGN_OR_RETURN(node.spec.memory_limit, c.Attr<int64_t>("memory_limit"));
    ASSIGN_OR_RETURN(node.types, c.Attr<std::vector<DType>>("dtypes"));
    node.spec.name = node.name.name;
    node.spec.ordered = c.node().op_name().starts_with("Ordered");
    if (node.spec.capacity >= 0 && node.spec.memory_limit >= 0) return node;
    return InvalidArgument("capacity and memory_limit must not be negative, got ",
                           node.spec.capacity, " and ", node.spec.memory_limit);
  }
  template <class T>
  Result<RefPtr<StagingMap>> GetAs(const Context& ctx) const {
    ASSIGN_OR_RETURN(RefPtr<T> map,
                     ctx.step().resources->LookupOrCreate<T>(
                         name.container, name.name, [&]() -> Result<RefPtr<T>> {
                           return RefPtr<T>::Adopt(std::make_unique<T>(spec).release());
                         }));
    return RefPtr<StagingMap>::Adopt(map.release());
  }
  Result<RefPtr<StagingMap>> Get(const Context& ctx) const {
    return spec.ordered ? GetAs<OrderedStagingMap>(ctx) : GetAs<StagingMap>(ctx);
  }
};

template <class K>
Result<std::unique_ptr<Kernel>> MakeOfMap(const KernelConstruction& c) {
  ASSIGN_OR_RETURN(MapNode node, MapNode::Of(c));
  return std::unique_ptr<Kernel>(std::make_unique<K>(std::move(node)));
}

// One for each of `values`; their bounds are the map's to check.
Status CheckIndices(const Tensor& indices, size_t values) {
  if (indices.rank() == 1 && static_cast<size_t>(indices.num_elements()) == values) {
    return OkStatus();
  }
  return InvalidArgument("indices must be a vector of ", values, " elements, one for each value; ",
                         "got shape ", indices.shape());
}

std::vector<int64_t> Listed(const Tensor& indices) {
  const auto values = indices.flat<int32_t>();
  return {values.begin(), values.end()};
}

class WaitingMapKernel : public WaitingKernel {
 public:
  explicit WaitingMapKernel(MapNode node) : node_(std::move(node)) {}
  void Wait(Context& ctx, Done done) final {
    const Result<RefPtr<StagingMap>> map = node_.Get(ctx);
    if (!map.ok()) return std::move(done)(map.status());
    (*map)->Join(MakeWaiter(ctx, std::move(done)));
  }
  std::string WaitsFor(Context& ctx) const final {
    const Result<RefPtr<StagingMap>> map = node_.Get(ctx);
    return map.ok() ? (*map)->DebugString() : "";
  }

 protected:
  virtual std::unique_ptr<Waiter> MakeWaiter(Context& ctx, Done done) = 0;
  const MapNode& node() const { return node_; }

 private:
  const MapNode node_;
};

// Inputs: key, indices, values.
class MapStageCpu : public WaitingMapKernel {
 public:
  using WaitingMapKernel::WaitingMapKernel;
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    return MakeOfMap<MapStageCpu>(c);
  }
  std::optional<Status> TryCompute(Context& ctx) override {
    Status status = Check(ctx);
    if (!status.ok()) return status;
    return std::nullopt;
  }

 private:
  Status Check(Context& ctx) const {
    RETURN_IF_ERROR(IntScalar(ctx.input(0), "key").status());
    const auto count = static_cast<size_t>(ctx.num_inputs()) - 2;
    RETURN_IF_ERROR(CheckIndices(ctx.input(1), count));
    size_t bytes = 0;
    for (size_t i = 0; i < count; ++i) {
      const Tensor& value = ctx.input(static_cast<int>(i) + 2);
      const int32_t at = ctx.input(1).data<int32_t>()[i];
      bytes += value.bytes();
      if (at < 0 || static_cast<size_t>(at) >= node().types.size()) continue;
      const DType wanted = node().types[static_cast<size_t>(at)];
      if (value.dtype() != wanted) {
        return InvalidArgument("part ", at, " must be of type ", wanted, ", got ", value.dtype());
      }
    }
    ASSIGN_OR_RETURN(const RefPtr<StagingMap> map, node().Get(ctx));
    const int64_t limit = map->spec().memory_limit;
    if (limit == 0 || bytes <= static_cast<size_t>(limit)) return OkStatus();
    return ResourceExhausted("Attempted to insert tensors with combined size of '", bytes,
                             "' bytes into Staging Area with a memory limit of '", limit, "'.");
  }
  std::unique_ptr<Waiter> MakeWaiter(Context& ctx, Done done) override {
    std::vector<Tensor> values;
    for (int i = 2; i < ctx.num_inputs(); ++i) values.push_back(ctx.input(i));
    return std::make_unique<StagingMap::Put>(ctx, std::move(done), ctx.input(0).scalar<int64_t>(),
                                             Listed(ctx.input(1)), std::move(values),
                                             node().types.size());
  }
};

// Inputs: key, indices.
template <size_t kLine>
class MapGetCpu : public WaitingMapKernel {
 public:
  using WaitingMapKernel::WaitingMapKernel;
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    return MakeOfMap<MapGetCpu>(c);
  }
  std::optional<Status> TryCompute(Context& ctx) override {
    Status status = IntScalar(ctx.input(0), "key").status();
    if (status.ok()) status = CheckIndices(ctx.input(1), node().types.size());
    if (!status.ok()) return status;
    return std::nullopt;
  }

 private:
  std::unique_ptr<Waiter> MakeWaiter(Context& ctx, Done done) override {
    return std::make_unique<StagingMap::Get>(kLine, ctx, std::move(done),
                                             ctx.input(0).scalar<int64_t>(), Listed(ctx.input(1)),
                                             node().types);
  }
};

class MapUnstageNoKeyCpu : public WaitingMapKernel {
 public:
  using WaitingMapKernel::WaitingMapKernel;
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    return MakeOfMap<MapUnstageNoKeyCpu>(c);
  }
  std::optional<Status> TryCompute(Context& ctx) override {
    Status status = CheckIndices(ctx.input(0), node().types.size());
    if (!status.ok()) return status;
    return std::nullopt;
  }

 private:
  std::unique_ptr<Waiter> MakeWaiter(Context& ctx, Done done) override {
    return std::make_unique<StagingMap::Get>(StagingMap::kTakes, ctx, std::move(done), std::nullopt,
                                             Listed(ctx.input(0)), node().types);
  }
};

template <int64_t (StagingMap::*kSize)() const>
class MapSizeCpu : public Kernel {
 public:
  explicit MapSizeCpu(MapNode node) : node_(std::move(node)) {}
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    return MakeOfMap<MapSizeCpu>(c);
  }
  Status Compute(Context& ctx) override {
    ASSIGN_OR_RETURN(const RefPtr<StagingMap> map, node_.Get(ctx));
    constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
    const int64_t size = std::min((map.get()->*kSize)(), kMost);
    ctx.set_output(0, Tensor::Scalar(static_cast<int32_t>(size)));
    return OkStatus();
  }

 private:
  const MapNode node_;
};

class MapClearCpu : public Kernel {
 public:
  explicit MapClearCpu(MapNode node) : node_(std::move(node)) {}
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    return MakeOfMap<MapClearCpu>(c);
  }
  Status Compute(Context& ctx) override {
    ASSIGN_OR_RETURN(const RefPtr<StagingMap> map, node_.Get(ctx));
    map->Clear();
    return OkStatus();
  }

 private:
  const MapNode node_;
};

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(staging_map, cpu) {
  for (const char* kind : {"", "Ordered"}) {
    const auto name = [kind](const char* op) { return StrCat(kind, op); };
    registry.Add<MapStageCpu>(name("MapStage"), kCpu);
    registry.Add<MapGetCpu<StagingMap::kTakes>>(name("MapUnstage"), kCpu);
    registry.Add<MapGetCpu<StagingMap::kPeeks>>(name("MapPeek"), kCpu);
    registry.Add<MapUnstageNoKeyCpu>(name("MapUnstageNoKey"), kCpu);
    registry.Add<MapSizeCpu<&StagingMap::size>>(name("MapSize"), kCpu).Cost(KernelCost::kCheap);
    registry.Add<MapSizeCpu<&StagingMap::incomplete_size>>(name("MapIncompleteSize"), kCpu)
        .Cost(KernelCost::kCheap);
    registry.Add<MapClearCpu>(name("MapClear"), kCpu).Cost(KernelCost::kCheap);
  }
}
