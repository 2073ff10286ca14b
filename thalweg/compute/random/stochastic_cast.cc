// SPDX-License-Identifier: Apache-2.0
#include "thalweg/compute/random/stochastic_cast.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "thalweg/compute/arithmetic.h"
#include "thalweg/compute/random/philox_fill.h"

namespace thalweg::compute {
namespace {

constexpr int64_t kGrain = 8192;

template <class Out>
Out Rounded(double value, double uniform) {
  if (std::isnan(value)) return 0;
  const double down = std::floor(value);
  const double rounded = uniform < value - down ? down + 1 : down;
  return static_cast<Out>(std::clamp(rounded, double{std::numeric_limits<Out>::min()},
                                     double{std::numeric_limits<Out>::max()}));
}

// Each number takes two words of the stream, so that all of a fraction of a double counts.
template <class T, class Out>
Status Cast(Work& work, const Philox& stream, const T* input, Out* output, int64_t n) {
  return ForBlocks(work, n, kGrain, [&](int64_t begin, int64_t end) {
    Philox at = stream;
    at.Skip(static_cast<uint64_t>(begin) / 2);  // a block makes two numbers; blocks begin evenly
    for (int64_t i = begin; i < end; i += 2) {
      const Philox::Block bits = at.Next();
      for (int64_t j = 0; j < 2 && i + j < end; ++j) {
        const double uniform =
            UniformDouble(bits[2 * static_cast<size_t>(j)], bits[2 * static_cast<size_t>(j) + 1]);
        output[i + j] = Rounded<Out>(static_cast<double>(ValueOf(input[i + j])), uniform);
      }
    }
  });
}

}  // namespace

Status StochasticCast(Work& work, DType from, DType to, const Philox& stream, const void* input,
                      void* output, int64_t n) {
  return WithType<FloatTypes>(from, "stochastic rounding", [&]<class T>() {
    return WithType<Types<int8_t, int16_t, int32_t>>(to, "stochastic rounding", [&]<class Out>() {
      return Cast(work, stream, static_cast<const T*>(input), static_cast<Out*>(output), n);
    });
  });
}

}  // namespace thalweg::compute
