// SPDX-License-Identifier: Apache-2.0
#include <complex>
#include <type_traits>

#include "thalweg/kernel/kernel_registry.h"
#include "thalweg/kernel/rows.h"
#include "thalweg/resources/variable.h"

namespace thalweg {
namespace {

using compute::Combine;

struct Named {
  const char* name;
  Combine combine;
};
constexpr Named kRows[] = {{"ScatterAdd", Combine::kAdd}, {"ScatterSub", Combine::kSub},
                           {"ScatterMul", Combine::kMul}, {"ScatterDiv", Combine::kDiv},
                           {"ScatterMin", Combine::kMin}, {"ScatterMax", Combine::kMax}};
constexpr Named kNdRows[] = {{"ScatterNdAdd", Combine::kAdd},
                             {"ScatterNdSub", Combine::kSub},
                             {"ScatterNdMin", Combine::kMin},
                             {"ScatterNdMax", Combine::kMax}};

// The resource forms always lock.
Result<bool> UseLocking(const KernelConstruction& c) {
  if (c.node().FindAttr("use_locking") == nullptr) return true;
  return c.Attr<bool>("use_locking");
}

Combine CombineOf(std::string_view op) {
  for (const Named& row : kRows) {
    if (op.ends_with(row.name)) return row.combine;
  }
  for (const Named& row : kNdRows) {
    if (op.ends_with(row.name)) return row.combine;
  }
  return Combine::kAssign;
}

class ScatterCpu : public Kernel {
 public:
  ScatterCpu(Combine combine, bool use_locking) : combine_(combine), use_locking_(use_locking) {}
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    ASSIGN_OR_RETURN(const bool use_locking, UseLocking(c));
    return std::unique_ptr<Kernel>(
        std::make_unique<ScatterCpu>(CombineOf(c.node().op_name()), use_locking));
  }

  Status Compute(Context& ctx) override {
    ASSIGN_OR_RETURN(const RefPtr<Variable> variable, VariableOf(ctx, 0));
    {
      Variable::Update update(*variable, use_locking_);
      ASSIGN_OR_RETURN(Tensor * target, update.Writable(ctx.allocator()));
      // As in TensorFlow, no row of a resource is looked up, whatever the updates are.
      const bool nothing = ctx.num_outputs() == 0 && ctx.input(1).num_elements() == 0;
      if (!nothing) {
        RETURN_IF_ERROR(CombineIntoRows(ctx, combine_, *target, ctx.input(1), ctx.input(2)));
      }
      update.Commit();
    }
    if (ctx.num_outputs() > 0) ctx.set_output(0, ctx.input(0));
    return OkStatus();
  }

 private:
  const Combine combine_;
  const bool use_locking_;
};

class ScatterNdCpu : public Kernel {
 public:
  ScatterNdCpu(Combine combine, bool use_locking, bool ignore)
      : combine_(combine), use_locking_(use_locking), ignore_bad_indices_(ignore) {}
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    ASSIGN_OR_RETURN(const bool use_locking, UseLocking(c));
    ASSIGN_OR_RETURN(const std::string policy, c.Attr<std::string>("bad_indices_policy"));
    ASSIGN_OR_RETURN(const bool ignore, IgnoresBadIndices(policy));
    return std::unique_ptr<Kernel>(
        std::make_unique<ScatterNdCpu>(CombineOf(c.node().op_name()), use_locking, ignore));
  }

  Status Compute(Context& ctx) override {
    ASSIGN_OR_RETURN(const RefPtr<Variable> variable, VariableOf(ctx, 0));
    {
      Variable::Update update(*variable, use_locking_);
      ASSIGN_OR_RETURN(Tensor * target, update.Writable(ctx.allocator()));
      RETURN_IF_ERROR(CombineIntoNdRows(ctx, combine_, *target, ctx.input(1), ctx.input(2),
                                        ignore_bad_indices_));
      update.Commit();
    }
    if (ctx.num_outputs() > 0) ctx.set_output(0, ctx.input(0));
    return OkStatus();
  }

 private:
  const Combine combine_;
  const bool use_locking_;
  const bool ignore_bad_indices_;
};

template <class T>
constexpr bool kOrdered = true;
template <class T>
constexpr bool kOrdered<std::complex<T>> = false;

// The types that the schemas of ScatterMin and ScatterMax allow; their resource forms allow more.
template <class T>
constexpr bool kOrderedByReference =
    !std::is_integral_v<T> || std::is_same_v<T, int32_t> || std::is_same_v<T, int64_t>;

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(scatter, cpu) {
  // Assignment only moves elements: any type.
  registry.Add<ScatterCpu>("ScatterUpdate", kCpu);
  registry.Add<ScatterCpu>("ResourceScatterUpdate", kCpu);
  registry.Add<ScatterNdCpu>("ScatterNdUpdate", kCpu);
  ForEachType<NumberTypes>([&]<class T>() {
    for (const Named& row : kRows) {
      if (row.combine >= Combine::kMin && !kOrdered<T>) continue;
      if (row.combine < Combine::kMin || kOrderedByReference<T>) {
        registry.Add<ScatterCpu>(row.name, kCpu, {{"T", kDTypeOf<T>}});
      }
      registry.Add<ScatterCpu>(StrCat("Resource", row.name), kCpu, {{"dtype", kDTypeOf<T>}});
    }
  });
  registry.Add<ScatterNdCpu>("ResourceScatterNdUpdate", kCpu);
  ForEachType<PodTypes>([&]<class T>() {
    for (const Named& row : kNdRows) {
      if (row.combine >= Combine::kMin && (!kOrdered<T> || std::is_same_v<T, bool>)) continue;
      // The schemas of the reference forms allow numbers only.
      if (!std::is_same_v<T, bool>) {
        registry.Add<ScatterNdCpu>(row.name, kCpu, {{"T", kDTypeOf<T>}});
      }
      registry.Add<ScatterNdCpu>(StrCat("Resource", row.name), kCpu, {{"T", kDTypeOf<T>}});
    }
  });
}
