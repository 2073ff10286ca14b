// SPDX-License-Identifier: Apache-2.0
#include "thalweg/compute/norm/global_norm.h"

#include <algorithm>
#include <cmath>

#include "thalweg/compute/arithmetic.h"

namespace thalweg::compute {
namespace {

constexpr int64_t kGrain = 16384;  // elements of a shard

using NormTypes = Types<float, double, Half>;

template <class T>
struct Typed {
  explicit Typed(const GlobalNormInputs& in)
      : x(static_cast<const T*>(in.x)),
        mean(static_cast<const T*>(in.mean)),
        variance(static_cast<const T*>(in.variance)),
        gamma(static_cast<const T*>(in.gamma)) {}
  double Mean(int64_t c) const { return ValueOf(mean[c]); }
  double Power(const GlobalNormInputs& in, int64_t c) const {
    return ValueOf(variance[c]) + in.epsilon;
  }
  double Gamma(int64_t c) const { return gamma == nullptr ? 1 : ValueOf(gamma[c]); }
  const T *x, *mean, *variance, *gamma;
};

int64_t RowGrain(const GlobalNormInputs& in) {
  return std::max<int64_t>(1, kGrain / std::max<int64_t>(1, in.channels));
}

template <class T>
Status NormAs(Work& work, const GlobalNormInputs& in, const T* beta, T* y) {
  const Typed<T> t(in);
  Scratch<Value<T>> factor(work, in.channels);
  if (!factor) return OutOfScratch();
  for (int64_t c = 0; c < in.channels; ++c) {
    factor[c] = static_cast<Value<T>>(t.Gamma(c) / std::sqrt(t.Power(in, c)));
  }
  return ForBlocks(work, in.rows, RowGrain(in), [&](int64_t row, int64_t end) {
    for (; row < end; ++row) {
      for (int64_t c = 0; c < in.channels; ++c) {
        const int64_t i = row * in.channels + c;
        const auto centered = ValueOf(t.x[i]) - ValueOf(t.mean[c]);
        y[i] = T(centered * factor[c] + ValueOf(beta[c]));
      }
    }
  });
}

template <class T>
Status GradAs(Work& work, const GlobalNormInputs& in, const T* dy, const GlobalNormGrads& out) {
  const Typed<T> t(in);
  const int64_t grain = RowGrain(in), blocks = (in.rows + grain - 1) / grain;
  const int64_t n = in.channels;
  Scratch<double> partial(work, (blocks + 1) * 2 * n);
  if (!partial) return OutOfScratch();
  double* total = partial.get() + blocks * 2 * n;  // sums of dy, then of dy * (x - mean)
  std::fill_n(total, 2 * n, 0.0);
  T* dx = static_cast<T*>(out.x);
  RETURN_IF_ERROR(ForBlocks(work, in.rows, grain, [&](int64_t row, int64_t end) {
    double* own = partial.get() + row / grain * 2 * n;
    std::fill_n(own, 2 * n, 0.0);
    for (; row < end; ++row) {
      for (int64_t c = 0; c < n; ++c) {
        const double g = ValueOf(dy[row * n + c]);
        own[c] += g;
        own[n + c] += g * (ValueOf(t.x[row * n + c]) - t.Mean(c));
        dx[row * n + c] = ElementOf<T>(g * (t.Gamma(c) / std::sqrt(t.Power(in, c))));
      }
    }
  }));
  for (int64_t b = 0; b < blocks; ++b) {
    for (int64_t i = 0; i < 2 * n; ++i) total[i] += partial[b * 2 * n + i];
  }
  for (int64_t c = 0; c < n; ++c) {
    const double power = t.Power(in, c), deviation = 1 / std::sqrt(power);
    static_cast<T*>(out.mean)[c] = ElementOf<T>(-total[c] * deviation * t.Gamma(c));
    static_cast<T*>(out.variance)[c] =
        ElementOf<T>(-0.5 * total[n + c] * t.Gamma(c) * deviation / power);
    static_cast<T*>(out.beta)[c] = ElementOf<T>(total[c]);
    static_cast<T*>(out.gamma)[c] = ElementOf<T>(t.gamma == nullptr ? 0 : total[n + c] * deviation);
  }
  return OkStatus();
}

}  // namespace

Status GlobalNorm(Work& work, DType dtype, const GlobalNormInputs& in, const void* beta, void* y) {
  return WithType<NormTypes>(dtype, "normalization", [&]<class T>() {
    return NormAs(work, in, static_cast<const T*>(beta), static_cast<T*>(y));
  });
}

Status GlobalNormGrad(Work& work, DType dtype, const GlobalNormInputs& in, const void* dy,
                      const GlobalNormGrads& out) {
  return WithType<NormTypes>(dtype, "normalization", [&]<class T>() {
    return GradAs(work, in, static_cast<const T*>(dy), out);
  });
}

}  // namespace thalweg::compute
