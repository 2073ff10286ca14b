// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <vector>

#include "thalweg/kernel/element_wise.h"

namespace thalweg {
namespace {

// Neighboring places that share their mean.
struct Pool {
  double sum;
  int64_t count;
  double mean() const { return sum / static_cast<double>(count); }
};

// Pool adjacent violators: a pool takes in those before it while its mean is not below theirs.
template <class In, class Out>
void FitRow(const In* x, int64_t n, std::vector<Pool>& pools, Out* y, int32_t* segments) {
  pools.clear();
  for (int64_t i = 0; i < n; ++i) {
    Pool pool{
        static_cast<double>(
            static_cast<std::conditional_t<std::is_same_v<In, Half> || std::is_same_v<In, Bfloat16>,
                                           float, In>>(x[i])),
        1};
    while (!pools.empty() && pool.mean() > pools.back().mean()) {
      pool.sum += pools.back().sum;
      pool.count += pools.back().count;
      pools.pop_back();
    }
    pools.push_back(pool);
  }
  int64_t at = 0;
  for (size_t s = 0; s < pools.size(); ++s) {
    for (int64_t i = 0; i < pools[s].count; ++i, ++at) {
      if constexpr (std::is_same_v<Out, Half> || std::is_same_v<Out, Bfloat16>) {
        y[at] = Out(static_cast<float>(pools[s].mean()));
      } else {
        y[at] = static_cast<Out>(pools[s].mean());
      }
      segments[at] = static_cast<int32_t>(s);
    }
  }
}

template <class In, class Out>
class IsotonicCpu : public Kernel {
  Status Compute(Context& ctx) override {
    const Tensor& x = ctx.input(0);
    if (x.rank() < 1) return InvalidArgument("input must be at least a vector, got a scalar");
    ASSIGN_OR_RETURN(Tensor * y, ctx.AllocateOutput(0, kDTypeOf<Out>, x.shape()));
    ASSIGN_OR_RETURN(Tensor * segments, ctx.AllocateOutput(1, DType::kInt32, x.shape()));
    const int64_t n = x.dim(x.rank() - 1);
    if (x.num_elements() == 0) return OkStatus();
    const In* from = x.data<In>();
    Out* to = y->mutable_data<Out>();
    int32_t* of = segments->mutable_data<int32_t>();
    const int64_t grain = std::max<int64_t>(1, 16384 / n);
    return compute::ForBlocks(ctx.work(), x.num_elements() / n, grain,
                              [&](int64_t row, int64_t end) {
                                std::vector<Pool> pools;
                                for (; row < end; ++row) {
                                  FitRow(from + row * n, n, pools, to + row * n, of + row * n);
                                }
                              });
  }
};

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(isotonic_regression, cpu) {
  const auto add = [&]<class In, class Out> {
    registry.Add<IsotonicCpu<In, Out>>("IsotonicRegression", kCpu,
                                       {{"T", kDTypeOf<In>}, {"output_dtype", kDTypeOf<Out>}});
  };
  add.template operator()<Half, Half>();
  add.template operator()<Bfloat16, Bfloat16>();
  add.template operator()<float, float>();
  add.template operator()<int8_t, float>();
  add.template operator()<int16_t, float>();
  add.template operator()<double, double>();
  add.template operator()<int32_t, double>();
  add.template operator()<int64_t, double>();
}
