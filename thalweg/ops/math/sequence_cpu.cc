// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <limits>

#include "thalweg/compute/arithmetic.h"
#include "thalweg/compute/blocks_in_order.h"
#include "thalweg/kernel/kernel_registry.h"
#include "thalweg/tensor/integers.h"
#include "thalweg/tensor/legacy_scalar.h"

namespace thalweg {
namespace {

constexpr int64_t kElementsPerLook = 1 << 18;  // at the cancel flag

// Range takes vectors of one element too, LinSpace does not.
Status CheckScalars(const Context& ctx, std::initializer_list<const char*> names, bool legacy) {
  int i = 0;
  for (const char* name : names) {
    if (!IsLegacyScalar(ctx.input(i)) || (!legacy && ctx.input(i).rank() != 0)) {
      return InvalidArgument(name, " must be a scalar, got shape ", ctx.input(i).shape());
    }
    ++i;
  }
  return OkStatus();
}

// The number of elements; integers without overflow.
template <class T>
Result<int64_t> CountOf(T start, T limit, T delta) {
  if constexpr (std::is_integral_v<T>) {
    const auto from = static_cast<uint64_t>(static_cast<int64_t>(start));
    const auto to = static_cast<uint64_t>(static_cast<int64_t>(limit));
    const uint64_t span = delta > 0 ? to - from : from - to;
    const auto step = static_cast<uint64_t>(static_cast<int64_t>(delta));
    const uint64_t size = delta > 0 ? step : uint64_t{0} - step;
    const uint64_t count = span / size + (span % size != 0 ? 1 : 0);
    if (count > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
      return InvalidArgument("a range of ", count, " elements is too long");
    }
    return static_cast<int64_t>(count);
  } else {
    const double count = std::ceil(std::abs((limit - start) / delta));
    if (!(count < 9e15)) return InvalidArgument("a range of ", count, " elements is too long");
    return static_cast<int64_t>(count);
  }
}

template <class T>
Status Range(Context& ctx) {
  RETURN_IF_ERROR(CheckScalars(ctx, {"start", "limit", "delta"}, true));
  const auto start = compute::ValueOf(ctx.input(0).scalar<T>()),
             limit = compute::ValueOf(ctx.input(1).scalar<T>()),
             delta = compute::ValueOf(ctx.input(2).scalar<T>());
  if (delta == 0) return InvalidArgument("Requires delta != 0: ", delta);
  if ((delta > 0 && start > limit) || (delta < 0 && start < limit)) {
    return InvalidArgument(
        "Requires start ",
        delta > 0 ? "<= limit when delta > 0: " : ">= limit when delta < 0: ", start, "/", limit);
  }
  ASSIGN_OR_RETURN(const int64_t count, CountOf(start, limit, delta));
  ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, kDTypeOf<T>, Shape{count}));
  T* data = out->mutable_data<T>();
  auto value = start;
  return compute::ForBlocksInOrder(ctx.work(), count, kElementsPerLook,
                                   [&](int64_t begin, int64_t end) {
                                     for (int64_t i = begin; i < end; ++i) {
                                       data[i] = T(value);
                                       if (i + 1 < count) value += delta;
                                     }
                                   });
}

template <class T>
Status LinSpace(Context& ctx) {
  RETURN_IF_ERROR(CheckScalars(ctx, {"start", "stop", "num"}, false));
  const T start = ctx.input(0).scalar<T>(), stop = ctx.input(1).scalar<T>();
  const int64_t num = IntAt(ctx.input(2), 0);
  if (num <= 0) return InvalidArgument("Requires num > 0: ", num);
  ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, kDTypeOf<T>, Shape{num}));
  T* data = out->mutable_data<T>();
  const T step = num > 1 ? (stop - start) / static_cast<T>(num - 1) : T(0);
  return compute::ForBlocksInOrder(ctx.work(), num, kElementsPerLook,
                                   [&](int64_t begin, int64_t end) {
                                     for (int64_t i = begin; i < end; ++i)
                                       data[i] = start + step * static_cast<T>(i);
                                     if (end == num && num > 1) data[num - 1] = stop;
                                   });
}

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(sequence, cpu) {
  ForEachType<Types<float, double, Half, Bfloat16, int32_t, int64_t>>([&]<class T> {
    registry.AddFunction<Range<T>>("Range", kCpu, {{"Tidx", kDTypeOf<T>}});
  });
  ForEachType<Types<float, double>>([&]<class T> {
    registry.AddFunction<LinSpace<T>>("LinSpace", kCpu, {{"T", kDTypeOf<T>}});
  });
}
