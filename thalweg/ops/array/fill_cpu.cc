// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "thalweg/compute/move/strided_copy.h"
#include "thalweg/kernel/history_value.h"
#include "thalweg/kernel/kernel_registry.h"
#include "thalweg/kernel/optional_value.h"
#include "thalweg/tensor/integers.h"

namespace thalweg {
namespace {

Status Fill(Context& ctx) {
  ASSIGN_OR_RETURN(const Shape shape, ShapeOf(ctx.input(0), "dims"));
  const Tensor& value = ctx.input(1);
  if (value.rank() != 0)
    return InvalidArgument("value must be a scalar, got shape ", value.shape());
  ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, value.dtype(), shape));
  return compute::FillElements(ctx.work(), value.dtype(), value.raw_data(), out->mutable_raw_data(),
                               out->num_elements());
}

// Histories of loops in loops; more is no history that a gradient makes.
constexpr int kMaxHistoryDepth = 64;

Result<Tensor> ZerosOf(Context& ctx, const Tensor& x, int depth = 0);

// As many records, with zeros for those values that can have a gradient.
Result<Variant> ZerosOfHistory(Context& ctx, const HistoryValue& history, int depth) {
  if (depth > kMaxHistoryDepth) {
    return InvalidArgument("histories are nested more than ", kMaxHistoryDepth, " deep");
  }
  std::vector<const HistoryValue*> records;
  for (const HistoryValue* h = &history; h->length() > 0; h = h->earlier().get()) {
    records.push_back(h);
  }
  auto zeros = std::make_shared<const HistoryValue>();
  for (auto record = records.rbegin(); record != records.rend(); ++record) {
    std::vector<Tensor> values;
    for (const Tensor& value : (*record)->latest()) {
      const DType type = value.dtype();
      if (!IsFloating(type) && !IsComplex(type) && type != DType::kVariant) continue;
      ASSIGN_OR_RETURN(Tensor zero, ZerosOf(ctx, value, depth + 1));
      values.push_back(std::move(zero));
    }
    zeros = std::make_shared<const HistoryValue>(std::move(zeros), std::move(values));
  }
  return Variant(std::move(zeros));
}

// Of optionals: optionals of zeros, and none where there is none. OptionalValue bounds the depth.
Result<Tensor> ZerosOf(Context& ctx, const Tensor& x, int depth) {
  ASSIGN_OR_RETURN(Tensor zeros, Tensor::Allocate(ctx.allocator(), x.dtype(), x.shape()));
  if (x.dtype() != DType::kVariant) {
    RETURN_IF_ERROR(
        compute::FillZeros(ctx.work(), x.dtype(), zeros.mutable_raw_data(), zeros.num_elements()));
    return zeros;
  }
  for (int64_t i = 0; i < x.num_elements(); ++i) {
    if (const auto* const history = x.data<Variant>()[i].As<HistoryValue>(); history != nullptr) {
      ASSIGN_OR_RETURN(zeros.mutable_data<Variant>()[i], ZerosOfHistory(ctx, *history, depth));
      continue;
    }
    const auto* const optional = x.data<Variant>()[i].As<OptionalValue>();
    if (optional == nullptr) return Unimplemented("zeros like this variant are not known");
    auto value = std::make_shared<const OptionalValue>();
    if (optional->has_value()) {
      std::vector<Tensor> components;
      for (const Tensor& component : optional->components()) {
        ASSIGN_OR_RETURN(Tensor zero, ZerosOf(ctx, component, depth + 1));
        components.push_back(std::move(zero));
      }
      value = std::make_shared<const OptionalValue>(std::move(components));
    }
    zeros.mutable_data<Variant>()[i] = Variant(std::move(value));
  }
  return zeros;
}

Status ZerosLike(Context& ctx) {
  const Tensor& x = ctx.input(0);
  if (x.dtype() == DType::kResource) {
    return Unimplemented("zeros like a resource have no meaning here");
  }
  if (x.dtype() == DType::kVariant) {
    ASSIGN_OR_RETURN(Tensor zeros, ZerosOf(ctx, x));
    ctx.set_output(0, std::move(zeros));
    return OkStatus();
  }
  ASSIGN_OR_RETURN(Tensor * out, ctx.TakeOrAllocateOutput({0}, 0, x.dtype(), x.shape()));
  return compute::FillZeros(ctx.work(), out->dtype(), out->mutable_raw_data(), out->num_elements());
}

template <class T>
Status OnesLike(Context& ctx) {
  const Shape shape = ctx.input(0).shape();
  ASSIGN_OR_RETURN(Tensor * out, ctx.TakeOrAllocateOutput({0}, 0, kDTypeOf<T>, shape));
  const T one = static_cast<T>(1.0f);
  return compute::FillElements(ctx.work(), kDTypeOf<T>, &one, out->mutable_raw_data(),
                               out->num_elements());
}

// Zeros whatever `init` says, so that the same graph gives the same bits.
class EmptyCpu : public Kernel {
 public:
  explicit EmptyCpu(const KernelConstruction& c) : dtype_(c.output_type(0)) {}

  Status Compute(Context& ctx) override {
    ASSIGN_OR_RETURN(const Shape shape, ShapeOf(ctx.input(0), "shape"));
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, dtype_, shape));
    return compute::FillZeros(ctx.work(), dtype_, out->mutable_raw_data(), out->num_elements());
  }

 private:
  const DType dtype_;
};

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(fill, cpu) {
  registry.AddFunction<Fill>("Fill", kCpu);
  registry.AddFunction<ZerosLike>("ZerosLike", kCpu);
  registry.Add<EmptyCpu>("Empty", kCpu);
  ForEachType<PodTypes>([&]<class T>() {
    registry.AddFunction<OnesLike<T>>("OnesLike", kCpu, {{"T", kDTypeOf<T>}});
  });
}
