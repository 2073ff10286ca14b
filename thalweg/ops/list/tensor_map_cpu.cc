// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "thalweg/kernel/kernel_registry.h"
#include "thalweg/kernel/made_texts.h"
#include "thalweg/resources/tensor_map.h"

namespace thalweg {
namespace {

Status Empty(Context& ctx) { return SetMapOutput(ctx, 0, std::make_shared<TensorMap>()); }

Status Insert(Context& ctx) {
  const Tensor key = ctx.input(1), value = ctx.input(2);
  ASSIGN_OR_RETURN(MapUpdate map, MapUpdate::Of(ctx, 0));
  RETURN_IF_ERROR(map->Insert(key, value));
  return std::move(map).SetOutput(ctx, 0);
}

Status Erase(Context& ctx) {
  const Tensor key = ctx.input(1);
  ASSIGN_OR_RETURN(MapUpdate map, MapUpdate::Of(ctx, 0));
  if (!map->Erase(key)) {
    return InvalidArgument("Trying to erase non-existent item. Could not find key ",
                           key.ToString());
  }
  return std::move(map).SetOutput(ctx, 0);
}

class LookupCpu : public Kernel {
 public:
  explicit LookupCpu(const KernelConstruction& c) : dtype_(c.output_type(0)) {}
  Status Compute(Context& ctx) override {
    ASSIGN_OR_RETURN(const TensorMap* const map, MapInput(ctx, 0));
    const Tensor* const value = map->Find(ctx.input(1));
    if (value == nullptr) {
      return InvalidArgument("Trying to lookup non-existent key. Could not find key ",
                             ctx.input(1).ToString());
    }
    if (value->dtype() != dtype_) {
      return InvalidArgument("Type mismatch: actual ", value->dtype(), " vs. expect ", dtype_);
    }
    ctx.set_output(0, *value);
    return OkStatus();
  }

 private:
  const DType dtype_;
};

Status HasKey(Context& ctx) {
  ASSIGN_OR_RETURN(const TensorMap* const map, MapInput(ctx, 0));
  ctx.set_output(0, Tensor::Scalar(map->Find(ctx.input(1)) != nullptr));
  return OkStatus();
}

Status Size(Context& ctx) {
  ASSIGN_OR_RETURN(const TensorMap* const map, MapInput(ctx, 0));
  ctx.set_output(0, Tensor::Scalar(static_cast<int32_t>(map->size())));
  return OkStatus();
}

class StackKeysCpu : public Kernel {
 public:
  explicit StackKeysCpu(const KernelConstruction& c) : dtype_(c.output_type(0)) {}
  Status Compute(Context& ctx) override {
    ASSIGN_OR_RETURN(const TensorMap* const map, MapInput(ctx, 0));
    if (map->size() == 0) {
      return InvalidArgument("TensorMapStackKeys cannot be called on empty map.");
    }
    const Tensor& first = map->entries().begin()->second.key;
    for (const auto& [turn, entry] : map->entries()) {
      if (entry.key.dtype() != dtype_) {
        return InvalidArgument("Key does not match requested dtype: a key is of type ",
                               entry.key.dtype(), ", requested was ", dtype_);
      }
      if (entry.key.shape() != first.shape()) {
        return InvalidArgument("Keys must all have the same shape, found ", first.shape(), " and ",
                               entry.key.shape());
      }
    }
    std::vector<int64_t> dims = {map->size()};
    const Shape key_shape = first.shape();
    dims.insert(dims.end(), key_shape.dims().begin(), key_shape.dims().end());
    ASSIGN_OR_RETURN(const Shape shape, Shape::Make(dims));
    ASSIGN_OR_RETURN(Tensor * keys, ctx.AllocateOutput(0, dtype_, shape));
    int64_t at = 0;
    for (const auto& [turn, entry] : map->entries()) {
      RETURN_IF_ERROR(ClaimCopies(ctx, *keys, entry.key));
      CopyElements(entry.key, keys, at);
      at += first.num_elements();
    }
    return OkStatus();
  }

 private:
  // All of `from`, to element `at` of `to`.
  void CopyElements(const Tensor& from, Tensor* to, int64_t at) const {
    if (dtype_ == DType::kString) {
      std::copy_n(from.data<std::string>(), from.num_elements(),
                  to->mutable_data<std::string>() + at);
      return;
    }
    const size_t size = DTypeSize(dtype_);
    std::copy_n(static_cast<const char*>(from.raw_data()), from.bytes(),
                static_cast<char*>(to->mutable_raw_data()) + static_cast<size_t>(at) * size);
  }

  const DType dtype_;
};

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(tensor_map, cpu) {
  registry.AddFunction<Empty>("EmptyTensorMap", kCpu).Cost(KernelCost::kCheap);
  registry.AddFunction<Insert>("TensorMapInsert", kCpu).Cost(KernelCost::kCheap);
  registry.AddFunction<Erase>("TensorMapErase", kCpu).Cost(KernelCost::kCheap);
  registry.Add<LookupCpu>("TensorMapLookup", kCpu).Cost(KernelCost::kCheap);
  registry.AddFunction<HasKey>("TensorMapHasKey", kCpu).Cost(KernelCost::kCheap);
  registry.AddFunction<Size>("TensorMapSize", kCpu).Cost(KernelCost::kCheap);
  registry.Add<StackKeysCpu>("TensorMapStackKeys", kCpu);
}
