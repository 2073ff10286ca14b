// SPDX-License-Identifier: Apache-2.0
// Sparse tensors kept between operations, so that a queue need carry only their handles.
#include <unordered_map>

#include "thalweg/kernel/kernel_registry.h"
#include "thalweg/ops/sparse/sparse_stack.h"

namespace thalweg {
namespace {

// Handles count from 0 and are not used again. Threads: any.
class SparseMap final : public Resource {
 public:
  explicit SparseMap(std::string name) : name_(std::move(name)) {}

  int64_t Add(SparseParts parts) EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    kept_.emplace(next_, std::move(parts));
    return next_++;
  }
  Result<SparseParts> Take(int64_t handle) EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    const auto found = kept_.find(handle);
    if (found == kept_.end()) {
      return InvalidArgument("Unable to find SparseTensor: ", handle, " in map: ", name_);
    }
    SparseParts parts = std::move(found->second);
    kept_.erase(found);
    return parts;
  }
  std::string DebugString() const override {
    MutexLock lock(mutex_);
    return StrCat("map of ", kept_.size(), " sparse tensors '", name_, "'");
  }

 private:
  const std::string name_;
  mutable Mutex mutex_;
  int64_t next_ GUARDED_BY(mutex_) = 0;
  std::unordered_map<int64_t, SparseParts> kept_ GUARDED_BY(mutex_);
};

class MapKernel : public Kernel {
 public:
  Status Read(const KernelConstruction& c) {
    ASSIGN_OR_RETURN(container_, c.Attr<std::string>("container"));
    ASSIGN_OR_RETURN(name_, c.Attr<std::string>("shared_name"));
    if (name_.empty()) name_ = c.node().name();
    return OkStatus();
  }
  template <class K>
  static Result<std::unique_ptr<Kernel>> Make(const KernelConstruction& c) {
    auto kernel = std::make_unique<K>(c);
    RETURN_IF_ERROR(kernel->Read(c));
    return std::unique_ptr<Kernel>(std::move(kernel));
  }

 protected:
  Result<RefPtr<SparseMap>> Map(const Context& ctx) const {
    return ctx.step().resources->LookupOrCreate<SparseMap>(
        container_, name_, [this]() -> Result<RefPtr<SparseMap>> {
          return RefPtr<SparseMap>::Adopt(std::make_unique<SparseMap>(name_).release());
        });
  }

 private:
  std::string container_, name_;
};

class AddCpu : public MapKernel {
 public:
  explicit AddCpu(const KernelConstruction&) {}
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    return Make<AddCpu>(c);
  }
  Status Compute(Context& ctx) override {
    RETURN_IF_ERROR(SparseInput::Of(ctx.input(0), ctx.input(1), ctx.input(2)).status());
    ASSIGN_OR_RETURN(const RefPtr<SparseMap> map, Map(ctx));
    ctx.set_output(0, Tensor::Scalar(map->Add({ctx.input(0), ctx.input(1), ctx.input(2)})));
    return OkStatus();
  }
};

class AddManyCpu : public MapKernel {
 public:
  explicit AddManyCpu(const KernelConstruction&) {}
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    return Make<AddManyCpu>(c);
  }
  Status Compute(Context& ctx) override {
    ASSIGN_OR_RETURN(std::vector<SparseParts> parts, SplitFirstDim(ctx));
    ASSIGN_OR_RETURN(const RefPtr<SparseMap> map, Map(ctx));
    ASSIGN_OR_RETURN(
        Tensor * handles,
        ctx.AllocateOutput(0, DType::kInt64, Shape{static_cast<int64_t>(parts.size())}));
    int64_t* const made = handles->mutable_data<int64_t>();
    compute::CancelLooks looks(ctx.work());
    for (size_t i = 0; i < parts.size(); ++i) {
      const Status goes_on = looks.Did(kElementsPerPart);
      if (!goes_on.ok()) {
        // Nobody else has these handles.
        for (const int64_t handle : std::span(made, i)) map->Take(handle).status().IgnoreError();
        return goes_on;
      }
      made[i] = map->Add(std::move(parts[i]));
    }
    return OkStatus();
  }
};

class TakeManyCpu : public MapKernel {
 public:
  explicit TakeManyCpu(const KernelConstruction& c) : dtype_(c.output_type(1)) {}
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    return Make<TakeManyCpu>(c);
  }
  Status Compute(Context& ctx) override {
    const Tensor& handles = ctx.input(0);
    if (handles.rank() != 1) {
      return InvalidArgument("sparse_handles should be a vector but received shape ",
                             handles.shape());
    }
    if (handles.dim(0) == 0) {
      return InvalidArgument("Must have at least 1 serialized SparseTensor, but sparse_handles is ",
                             "empty");
    }
    ASSIGN_OR_RETURN(const RefPtr<SparseMap> map, Map(ctx));
    std::vector<SparseParts> parts;
    compute::CancelLooks looks(ctx.work());
    for (const int64_t handle : handles.flat<int64_t>()) {
      RETURN_IF_ERROR(looks.Did(kElementsPerPart));
      ASSIGN_OR_RETURN(SparseParts part, map->Take(handle));
      parts.push_back(std::move(part));
    }
    return SetStacked(ctx, dtype_, {handles.dim(0)}, parts);
  }

 private:
  const DType dtype_;
};

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(sparse_map, cpu) {
  registry.Add<AddCpu>("AddSparseToTensorsMap", kCpu);
  registry.Add<AddManyCpu>("AddManySparseToTensorsMap", kCpu);
  registry.Add<TakeManyCpu>("TakeManySparseFromTensorsMap", kCpu);
}
