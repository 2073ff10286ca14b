// SPDX-License-Identifier: Apache-2.0
#include <deque>

#include "thalweg/ops/queue/queue_node.h"
#include "thalweg/resources/waiter_queues.h"
#include "thalweg/tensor/integers.h"

namespace thalweg {
namespace {

using Element = std::vector<Tensor>;

size_t BytesOf(const Element& element) {
  size_t bytes = 0;
  for (const Tensor& tensor : element) bytes += tensor.bytes();
  return bytes;
}

// Elements between steps, bounded in number and bytes; first in, first out.
class StagingArea final : public WaiterQueues {
 public:
  static constexpr size_t kPuts = 0, kTakes = 1, kPeeks = 2;
  struct Put : Waiter {
    Put(Context& c, Done d, Element e) : Waiter(kPuts, c, std::move(d)), element(std::move(e)) {}
    Element element;
  };
  // Reads the element `index`; a take reads the first.
  struct Get : Waiter {
    Get(size_t l, Context& c, Done d, int64_t i, const std::vector<DType>& t)
        : Waiter(l, c, std::move(d)), index(i), types(t) {}
    const int64_t index;
    const std::vector<DType>& types;  // of the kernel, which outlives the call
    Element element;
  };

  // 0: no bound.
  StagingArea(std::string name, int64_t capacity, int64_t memory_limit)
      : WaiterQueues({Order::kFirst, Order::kFirst, Order::kAny}),
        name_(std::move(name)),
        capacity_(capacity),
        memory_limit_(memory_limit) {}

  int64_t memory_limit() const { return memory_limit_; }
  int64_t size() const EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    return static_cast<int64_t>(elements_.size());
  }
  void Clear() EXCLUDES(mutex_) {
    Ended ended;
    {
      MutexLock lock(mutex_);
      elements_.clear();
      bytes_ = 0;
      AdvanceAll(&ended);
    }
    End(std::move(ended));
  }
  std::string DebugString() const override {
    MutexLock lock(mutex_);
    return StrCat("staging area '", name_, "' (", elements_.size(), " elements, ", bytes_,
                  " bytes)");
  }

 private:
  Progress Advance(Waiter& waiter) override REQUIRES(mutex_) {
    if (waiter.line == kPuts) return AdvancePut(static_cast<Put&>(waiter));
    auto& get = static_cast<Get&>(waiter);
    if (get.index >= static_cast<int64_t>(elements_.size())) return Progress::kNone;
    const auto at = elements_.begin() + get.index;
    if (!HasTypes(*at, get.types)) {
      get.status = InvalidArgument("the element in staging area '", name_,
                                   "' has other types than this node's dtypes");
    } else if (get.line == kPeeks) {
      get.element = *at;
    } else {
      get.element = std::move(*at);
      bytes_ -= BytesOf(get.element);
      elements_.pop_front();
    }
    return Progress::kEnded;
  }
  Progress AdvancePut(Put& put) REQUIRES(mutex_) {
    const size_t bytes = BytesOf(put.element);
    if (capacity_ > 0 && static_cast<int64_t>(elements_.size()) >= capacity_) {
      return Progress::kNone;
    }
    if (memory_limit_ > 0 && bytes_ + bytes > static_cast<size_t>(memory_limit_)) {
      return Progress::kNone;
    }
    elements_.push_back(std::move(put.element));
    bytes_ += bytes;
    return Progress::kEnded;
  }
  Status Finish(Waiter& waiter) override {
    if (waiter.line == kPuts) return OkStatus();
    auto& get = static_cast<Get&>(waiter);
    for (size_t i = 0; i < get.element.size(); ++i) {
      get.ctx.set_output(static_cast<int>(i), std::move(get.element[i]));
    }
    return OkStatus();
  }
  static bool HasTypes(const Element& element, const std::vector<DType>& types) {
    bool same = element.size() == types.size();
    for (size_t i = 0; i < types.size() && same; ++i) same = element[i].dtype() == types[i];
    return same;
  }

  const std::string name_;
  const int64_t capacity_;
  const int64_t memory_limit_;
  std::deque<Element> elements_ GUARDED_BY(mutex_);
  size_t bytes_ GUARDED_BY(mutex_) = 0;
};

// What the attributes that all these operations have say.
struct StagingNode {
  ResourceName name;
  int64_t capacity = 0;
  int64_t memory_limit = 0;
  std::vector<DType> types;

  static Result<StagingNode> Of(const KernelConstruction& c) {
    StagingNode node;
    ASSIGN_OR_RETURN(node.name, ResourceName::Of(c));
    ASSIGN_OR_RETURN(node.capacity, c.Attr<int64_t>("capacity"));
    ASSIGN_OR_RETURN(node.memory_limit, c.Attr<int64_t>("memory_limit"));
    ASSIGN_OR_RETURN(node.types, c.Attr<std::vector<DType>>("dtypes"));
    if (node.capacity >= 0 && node.memory_limit >= 0) return node;
    return InvalidArgument("capacity and memory_limit must not be negative, got ", node.capacity,
                           " and ", node.memory_limit);
  }
  Result<RefPtr<StagingArea>> Get(const Context& ctx) const {
    return ctx.step().resources->LookupOrCreate<StagingArea>(
        name.container, name.name, [&]() -> Result<RefPtr<StagingArea>> {
          return RefPtr<StagingArea>::Adopt(
              std::make_unique<StagingArea>(name.name, capacity, memory_limit).release());
        });
  }
};

template <class Base>
class StagingKernel : public Base {
 public:
  explicit StagingKernel(StagingNode node) : node_(std::move(node)) {}

 protected:
  const StagingNode& node() const { return node_; }

 private:
  const StagingNode node_;
};

template <class K>
Result<std::unique_ptr<Kernel>> MakeStaging(const KernelConstruction& c) {
  ASSIGN_OR_RETURN(StagingNode node, StagingNode::Of(c));
  return std::unique_ptr<Kernel>(std::make_unique<K>(std::move(node)));
}

class WaitingStagingKernel : public StagingKernel<WaitingKernel> {
 public:
  using StagingKernel::StagingKernel;
  void Wait(Context& ctx, Done done) final {
    const Result<RefPtr<StagingArea>> area = node().Get(ctx);
    if (!area.ok()) return std::move(done)(area.status());
    (*area)->Join(MakeWaiter(ctx, std::move(done)));
  }
  std::string WaitsFor(Context& ctx) const final {
    const Result<RefPtr<StagingArea>> area = node().Get(ctx);
    return area.ok() ? (*area)->DebugString() : "";
  }

 protected:
  virtual std::unique_ptr<Waiter> MakeWaiter(Context& ctx, Done done) = 0;
};

class StageCpu : public WaitingStagingKernel {
 public:
  using WaitingStagingKernel::WaitingStagingKernel;
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    return MakeStaging<StageCpu>(c);
  }
  std::optional<Status> TryCompute(Context& ctx) override {
    const Result<RefPtr<StagingArea>> area = node().Get(ctx);
    if (!area.ok()) return area.status();
    const size_t bytes = BytesOf(Inputs(ctx));
    const int64_t limit = (*area)->memory_limit();
    if (limit == 0 || bytes <= static_cast<size_t>(limit)) return std::nullopt;
    return ResourceExhausted("Attempted to insert tensors with combined size of '", bytes,
                             "' bytes into Staging Area with a memory limit of '", limit, "'.");
  }

 private:
  static Element Inputs(const Context& ctx) {
    Element element;
    for (int i = 0; i < ctx.num_inputs(); ++i) element.push_back(ctx.input(i));
    return element;
  }
  std::unique_ptr<Waiter> MakeWaiter(Context& ctx, Done done) override {
    return std::make_unique<StagingArea::Put>(ctx, std::move(done), Inputs(ctx));
  }
};

class UnstageCpu : public WaitingStagingKernel {
 public:
  using WaitingStagingKernel::WaitingStagingKernel;
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    return MakeStaging<UnstageCpu>(c);
  }
  std::optional<Status> TryCompute(Context&) override { return std::nullopt; }

 private:
  std::unique_ptr<Waiter> MakeWaiter(Context& ctx, Done done) override {
    return std::make_unique<StagingArea::Get>(StagingArea::kTakes, ctx, std::move(done), 0,
                                              node().types);
  }
};

class StagePeekCpu : public WaitingStagingKernel {
 public:
  using WaitingStagingKernel::WaitingStagingKernel;
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    return MakeStaging<StagePeekCpu>(c);
  }
  std::optional<Status> TryCompute(Context& ctx) override {
    const Result<int64_t> index = IntScalar(ctx.input(0), "index");
    if (!index.ok()) return index.status();
    if (*index >= 0) return std::nullopt;
    return InvalidArgument("index must not be negative, got ", *index);
  }

 private:
  std::unique_ptr<Waiter> MakeWaiter(Context& ctx, Done done) override {
    return std::make_unique<StagingArea::Get>(StagingArea::kPeeks, ctx, std::move(done),
                                              ctx.input(0).scalar<int32_t>(), node().types);
  }
};

class StageSizeCpu : public StagingKernel<Kernel> {
 public:
  using StagingKernel::StagingKernel;
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    return MakeStaging<StageSizeCpu>(c);
  }
  Status Compute(Context& ctx) override {
    ASSIGN_OR_RETURN(const RefPtr<StagingArea> area, node().Get(ctx));
    ctx.set_output(0, Tensor::Scalar(static_cast<int32_t>(area->size())));
    return OkStatus();
  }
};

class StageClearCpu : public StagingKernel<Kernel> {
 public:
  using StagingKernel::StagingKernel;
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    return MakeStaging<StageClearCpu>(c);
  }
  Status Compute(Context& ctx) override {
    ASSIGN_OR_RETURN(const RefPtr<StagingArea> area, node().Get(ctx));
    area->Clear();
    return OkStatus();
  }
};

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(staging, cpu) {
  registry.Add<StageCpu>("Stage", kCpu);
  registry.Add<UnstageCpu>("Unstage", kCpu);
  registry.Add<StagePeekCpu>("StagePeek", kCpu);
  registry.Add<StageSizeCpu>("StageSize", kCpu).Cost(KernelCost::kCheap);
  registry.Add<StageClearCpu>("StageClear", kCpu).Cost(KernelCost::kCheap);
}
