// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <type_traits>

#include "thalweg/compute/cancel_looks.h"
#include "thalweg/kernel/kernel_registry.h"
#include "thalweg/ops/ragged/ragged_splits.h"

namespace thalweg {
namespace {

// How many numbers there are from start to limit; nothing for more than int64 holds.
template <class T>
Result<int64_t> LengthOf(T start, T limit, T delta) {
  if (delta == T(0)) return InvalidArgument("Requires delta != 0");
  const auto too_long = [&] {
    return InvalidArgument("Requires ((limit - start) / delta) <= ",
                           std::numeric_limits<int64_t>::max());
  };
  if (delta > T(0) ? limit < start : limit > start) return int64_t{0};
  if constexpr (std::is_integral_v<T>) {
    const uint64_t low = static_cast<uint64_t>(static_cast<int64_t>(delta > 0 ? start : limit));
    const uint64_t high = static_cast<uint64_t>(static_cast<int64_t>(delta > 0 ? limit : start));
    const auto wide = static_cast<uint64_t>(static_cast<int64_t>(delta));
    const uint64_t step = delta > 0 ? wide : 0 - wide;
    const uint64_t whole = (high - low) / step;
    const uint64_t count = whole + (high - low > whole * step ? 1 : 0);
    if (count > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) return too_long();
    return static_cast<int64_t>(count);
  } else {
    const auto count = std::ceil(std::abs((limit - start) / delta));
    if (!(count < T(9.2e18))) return too_long();  // not a number either
    return static_cast<int64_t>(count);
  }
}

// An input with one element for each row, or one for all.
template <class T>
class PerRow {
 public:
  explicit PerRow(const Tensor& tensor) : tensor_(tensor), step_(tensor.rank() == 0 ? 0 : 1) {}
  T operator[](int64_t row) const { return tensor_.data<T>()[row * step_]; }

 private:
  const Tensor tensor_;
  const int64_t step_;
};

Result<int64_t> NumRows(const Context& ctx) {
  int64_t rows = -1;
  constexpr std::string_view kNames[] = {"starts", "limits", "deltas"};
  for (int i = 0; i < 3; ++i) {
    const Tensor& input = ctx.input(i);
    if (input.rank() > 1) {
      return InvalidArgument(kNames[i], " must be a scalar or vector, got shape ", input.shape());
    }
    if (input.rank() == 0) continue;
    if (rows >= 0 && input.dim(0) != rows) {
      return InvalidArgument("starts, limits, and deltas must have the same shape, got ", rows,
                             " and ", input.dim(0), " rows");
    }
    rows = input.dim(0);
  }
  return rows < 0 ? 1 : rows;
}

template <class T>
Status Range(Context& ctx, DType splits_type) {
  ASSIGN_OR_RETURN(const int64_t rows, NumRows(ctx));
  const PerRow<T> starts(ctx.input(0)), limits(ctx.input(1)), deltas(ctx.input(2));
  ASSIGN_OR_RETURN(Tensor splits, NewSplits(ctx, rows + 1));
  auto* const ends = splits.mutable_data<int64_t>();
  compute::CancelLooks looks(ctx.work());
  for (int64_t row = 0; row < rows; ++row) {
    RETURN_IF_ERROR(looks.Did());
    ASSIGN_OR_RETURN(const int64_t length, LengthOf(starts[row], limits[row], deltas[row]));
    if (__builtin_add_overflow(ends[row], length, &ends[row + 1])) {
      return InvalidArgument("the ranges together are longer than ", kMostValues);
    }
  }
  RETURN_IF_ERROR(SetSplits(ctx, 0, splits_type, splits));
  ASSIGN_OR_RETURN(const Shape shape, Shape::Make(Dims{ends[rows]}));
  ASSIGN_OR_RETURN(Tensor * values, ctx.AllocateOutput(1, kDTypeOf<T>, shape));
  T* to = values->mutable_data<T>();
  for (int64_t row = 0; row < rows; ++row) {
    T value = starts[row];
    const T delta = deltas[row];
    RETURN_IF_ERROR(looks.Did());
    for (int64_t i = ends[row]; i < ends[row + 1]; ++i) {
      RETURN_IF_ERROR(looks.Did());
      *to++ = value;
      if constexpr (std::is_integral_v<T>) {  // the one behind the last may wrap around
        value = static_cast<T>(static_cast<uint64_t>(value) + static_cast<uint64_t>(delta));
      } else {
        value += delta;
      }
    }
  }
  return OkStatus();
}

template <class T>
class RangeCpu : public Kernel {
 public:
  explicit RangeCpu(DType splits_type) : splits_type_(splits_type) {}
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    return std::unique_ptr<Kernel>(std::make_unique<RangeCpu<T>>(c.output_type(0)));
  }
  Status Compute(Context& ctx) override { return Range<T>(ctx, splits_type_); }

 private:
  const DType splits_type_;
};

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(ragged_range, cpu) {
  ForEachType<Types<int32_t, int64_t, float, double>>([&]<class T>() {
    registry.Add<RangeCpu<T>>("RaggedRange", kCpu, {{"T", kDTypeOf<T>}});
  });
}
