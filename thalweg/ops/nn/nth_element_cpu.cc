// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "thalweg/compute/arithmetic.h"
#include "thalweg/compute/sort.h"
#include "thalweg/kernel/element_wise.h"
#include "thalweg/ops/nn/wide_integer.h"
#include "thalweg/tensor/integers.h"

namespace thalweg {
namespace {

// A total order: NaN, which compares with nothing, is the largest.
template <class T>
bool Less(T a, T b) {
  const auto x = compute::ValueOf(a), y = compute::ValueOf(b);
  return x < y || (y != y && x == x);
}

// Element n of each row were it in order.
template <class T>
Status NthOfRows(compute::Work& work, const Tensor& x, int64_t n, Tensor* y) {
  using W = WideInteger<T>;
  const int64_t columns = x.dim(x.rank() - 1);
  const T* from = x.data<T>();
  T* to = y->mutable_data<T>();
  const int64_t rows = y->num_elements(), grain = std::max<int64_t>(1, 16384 / columns);
  return compute::ForShards(work, (rows + grain - 1) / grain, [&](int64_t shard) {
    const compute::Scratch<W> own(work, columns);
    if (!own) return false;
    W* const begin = own.get();
    for (int64_t row = shard * grain; row < std::min(rows, (shard + 1) * grain); ++row) {
      std::copy_n(from + row * columns, columns, begin);
      if (!compute::NthElement(work, begin, begin + n, begin + columns, Less<W>).ok()) break;
      to[row] = static_cast<T>(begin[n]);
    }
    return true;
  });
}

class NthElementCpu : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    auto kernel = std::make_unique<NthElementCpu>();
    ASSIGN_OR_RETURN(kernel->reverse_, c.Attr<bool>("reverse"));
    return std::unique_ptr<Kernel>(std::move(kernel));
  }

  Status Compute(Context& ctx) override {
    const Tensor& x = ctx.input(0);
    ASSIGN_OR_RETURN(int64_t n, IntScalar(ctx.input(1), "n"));
    if (n < 0) return InvalidArgument("n must not be negative, got ", n);
    if (x.rank() < 1) return InvalidArgument("Input must be at least rank 1 but is rank 0");
    const int64_t columns = x.dim(x.rank() - 1);
    if (columns <= n) {
      return InvalidArgument("input must have more than n = ", n, " columns, got ", x.shape());
    }
    if (reverse_) n = columns - 1 - n;
    Dims dims = x.shape().dims();
    dims.resize(x.rank() - 1);
    ASSIGN_OR_RETURN(Tensor * y, ctx.AllocateOutput(0, x.dtype(), Shape(dims)));
    return compute::WithType<RealTypes>(
        x.dtype(), "NthElement", [&]<class T>() { return NthOfRows<T>(ctx.work(), x, n, y); });
  }

 private:
  bool reverse_ = false;
};

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(nth_element, cpu) {
  ForEachType<RealTypes>([&]<class T> {
    registry.Add<NthElementCpu>("NthElement", kCpu, {{"T", kDTypeOf<T>}});
  });
}
