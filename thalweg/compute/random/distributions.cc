// SPDX-License-Identifier: Apache-2.0
#include "thalweg/compute/random/distributions.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>
#include <type_traits>

#include "thalweg/compute/random/philox_fill.h"

namespace thalweg::compute {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr int kMostTries = 1000000;  // of loops that end with probability one

void NormalPair(double a, double b, double* first, double* second) {
  const double radius = std::sqrt(-2.0 * std::log(std::max(a, 1.0e-7)));
  const double angle = 2.0 * std::numbers::pi * b;
  *first = std::sin(angle) * radius;
  *second = std::cos(angle) * radius;
}

// log(k!) less Stirling's approximation.
double StirlingRest(double k) {
  static constexpr double kTable[] = {0.0810614667953272,  0.0413406959554092, 0.0276779256849983,
                                      0.02079067210376509, 0.0166446911898211, 0.0138761288230707,
                                      0.0118967099458917,  0.010411265261972,  0.00925546218271273,
                                      0.00833056343336287};
  if (k <= 9) return kTable[static_cast<int>(k)];
  const double square = (k + 1) * (k + 1);
  return (1.0 / 12 - (1.0 / 360 - 1.0 / 1260 / square) / square) / (k + 1);
}

double BinomialByWaiting(DoublePairs& numbers, double count, double p) {
  double waited = 0, successes = 0;
  const double log_failure = std::log1p(-p);
  for (int tries = 0; tries < kMostTries; ++tries) {
    waited += std::ceil(std::log(numbers.Uniform()) / log_failure);
    if (waited > count) return successes;
    ++successes;
  }
  return successes;
}

double BinomialByRejection(DoublePairs& numbers, double count, double p) {
  const double deviation = std::sqrt(count * p * (1 - p));
  const double b = 1.15 + 2.53 * deviation, a = -0.0873 + 0.0248 * b + 0.01 * p;
  const double c = count * p + 0.5, v_r = 0.92 - 4.2 / b, r = p / (1 - p);
  const double alpha = (2.83 + 5.1 / b) * deviation, m = std::floor((count + 1) * p);
  for (int tries = 0; tries < kMostTries; ++tries) {
    const double u = numbers.Uniform() - 0.5;
    double v = numbers.Uniform();
    const double us = 0.5 - std::abs(u), k = std::floor((2 * a / us + b) * u + c);
    if (us >= 0.07 && v <= v_r) return k;
    if (k < 0 || k > count) continue;
    v = std::log(v * alpha / (a / (us * us) + b));
    const double bound = (m + 0.5) * std::log((m + 1) / (r * (count - m + 1))) +
                         (count + 1) * std::log((count - m + 1) / (count - k + 1)) +
                         (k + 0.5) * std::log(r * (count - k + 1) / (k + 1)) + StirlingRest(m) +
                         StirlingRest(count - m) - StirlingRest(k) - StirlingRest(count - k);
    if (v <= bound) return k;
  }
  return kNan;
}

double PoissonByRejection(DoublePairs& numbers, double rate, double limit) {
  const double log_rate = std::log(rate), b = 0.931 + 2.53 * std::sqrt(rate);
  const double a = -0.059 + 0.02483 * b, inverse_alpha = 1.1239 + 1.1328 / (b - 3.4);
  // Forty deviations above what the type holds every number would be refused, one by one.
  if (rate - 40 * std::sqrt(rate) > limit) return kNan;
  for (int tries = 0; tries < kMostTries; ++tries) {
    const double u = numbers.Uniform() - 0.5, v = numbers.Uniform();
    const double us = 0.5 - std::abs(u), k = std::floor((2 * a / us + b) * u + rate + 0.43);
    if (k > limit) continue;
    if (us >= 0.07 && v <= 0.9277 - 3.6224 / (b - 2)) return k;
    if (k < 0 || (us < 0.013 && v > us)) continue;
    if (std::log(v * inverse_alpha / (a / (us * us) + b)) <=
        k * log_rate - rate - std::lgamma(k + 1)) {
      return k;
    }
  }
  return kNan;
}

// The numbers of one block: four floats or two doubles.
template <class T>
struct Group {
  static constexpr int kSize = std::is_same_v<T, double> ? 2 : 4;
  std::array<T, kSize> value;
};

template <class T>
Group<T> UniformGroup(Philox& stream) {
  const Philox::Block block = stream.Next();
  Group<T> group;
  for (int i = 0; i < Group<T>::kSize; ++i) {
    if constexpr (std::is_same_v<T, double>) {
      group.value[i] = UniformDouble(block[2 * i], block[2 * i + 1]);
    } else {
      group.value[i] = UniformFloat(block[i]);
    }
  }
  return group;
}

template <class T>
Group<T> NormalGroup(Philox& stream) {
  Group<T> group = UniformGroup<T>(stream);
  for (int i = 0; i < Group<T>::kSize; i += 2) {
    const T radius = std::sqrt(T(-2) * std::log(std::max(group.value[i], T(1.0e-7f))));
    const T angle = static_cast<T>(2.0 * std::numbers::pi * group.value[i + 1]);
    group.value[i] = std::sin(angle) * radius;
    group.value[i + 1] = std::cos(angle) * radius;
  }
  return group;
}

// One row of truncated normals: bounds in units of the deviation, the nearer one first.
template <class T>
struct Bounds {
  T mean, deviation, low, high;
};

// try_one(candidates of a block, i, &z): whether candidate i was taken, as z.
template <class T, class Draw, class Accept>
bool FillByRejection(Philox& stream, const Bounds<T>& bounds, int64_t n, T* out, int stride,
                     const Draw& draw, const Accept& accept) {
  constexpr int kTriesOfNumber = 1000;
  int tries = 0;
  for (int64_t taken = 0; taken < n;) {
    const auto group = draw(stream);
    for (int i = 0; i < Group<T>::kSize && taken < n; i += stride) {
      T z;
      if (accept(group, i, &z)) {
        out[taken++] = z * bounds.deviation + bounds.mean;
        tries = 0;
      } else if (++tries > kTriesOfNumber) {
        return false;
      }
    }
  }
  return true;
}

template <class T>
bool FillFromNormals(Philox& stream, const Bounds<T>& bounds, int64_t n, T* out) {
  return FillByRejection(stream, bounds, n, out, 1, NormalGroup<T>,
                         [&](const Group<T>& group, int i, T* z) {
                           *z = group.value[i];
                           return *z >= bounds.low && *z <= bounds.high;
                         });
}

// For narrow bounds: uniform candidates.
template <class T>
bool FillFromUniforms(Philox& stream, const Bounds<T>& bounds, int64_t n, T* out) {
  struct Both {
    Group<T> candidates, thresholds;
  };
  const T offset = bounds.low < 0 ? T(0) : bounds.low * bounds.low;
  const auto draw = [](Philox& s) {
    const Group<T> candidates = UniformGroup<T>(s);
    return Both{candidates, UniformGroup<T>(s)};
  };
  return FillByRejection(stream, bounds, n, out, 1, draw, [&](const Both& both, int i, T* z) {
    *z = both.candidates.value[i] * (bounds.high - bounds.low) + bounds.low;
    return both.thresholds.value[i] <= std::exp((offset - *z * *z) / T(2));
  });
}

// For a tail: exponential candidates (Robert 1995); pairs of a block.
template <class T>
bool FillFromExponentials(Philox& stream, const Bounds<T>& bounds, int64_t n, T* out) {
  const T alpha = (bounds.low + std::sqrt(bounds.low * bounds.low + T(4))) / T(2);
  return FillByRejection(stream, bounds, n, out, 2, UniformGroup<T>,
                         [&](const Group<T>& group, int i, T* z) {
                           *z = -std::log(group.value[i]) / alpha + bounds.low;
                           const T x = bounds.low < alpha ? alpha - *z : bounds.low - alpha;
                           return group.value[i + 1] <= std::exp(-x * x / T(2)) && *z < bounds.high;
                         });
}

double Digamma(double x) {
  double shift = 0;
  for (; x < 10; ++x) shift -= 1 / x;
  const double s = 1 / (x * x);
  return shift + std::log(x) - 0.5 / x -
         s * (1.0 / 12 - s * (1.0 / 120 - s * (1.0 / 252 - s * (1.0 / 240 - s / 132))));
}

// A value and its derivative by alpha.
struct Dual {
  double value, slope;
};
Dual operator+(Dual a, Dual b) { return {a.value + b.value, a.slope + b.slope}; }
Dual operator*(Dual a, Dual b) {
  return {a.value * b.value, a.value * b.slope + a.slope * b.value};
}
Dual Inverse(Dual a) { return {1 / a.value, -a.slope / (a.value * a.value)}; }

// x > alpha + 1: the upper probability over the density by Lentz's continued fraction.
double DerivativeByFraction(double alpha, double x) {
  constexpr double kTiny = 1e-300;
  Dual b{x + 1 - alpha, -1}, c{1 / kTiny, 0}, d = Inverse(b), h = d;
  for (int i = 1; i < 10000; ++i) {
    const Dual a{-i * (i - alpha), static_cast<double>(i)};
    b.value += 2;
    d = Inverse(a * d + b);
    c = a * Inverse(c) + b;
    const Dual step = c * d;
    h = h * step;
    if (std::abs(step.value - 1) < 1e-16 && std::abs(step.slope) < 1e-14) break;
  }
  // Q = density * x * h; dQ/dalpha over the density.
  return x * (h.slope + h.value * (std::log(x) - Digamma(alpha)));
}

// The series of the lower probability.
double DerivativeBySeries(double alpha, double x) {
  const double log_x = std::log(x);
  double term = 1 / alpha, psi = Digamma(alpha + 1), sum = 0;
  for (int n = 0; n < 100000; ++n) {
    const double piece = term * (log_x - psi);
    sum += piece;
    if (n > x - alpha && std::abs(piece) <= 1e-17 * std::abs(sum)) break;
    term *= x / (alpha + n + 1);
    psi += 1 / (alpha + n + 1);
  }
  return -x * sum;
}

}  // namespace

double DoublePairs::Uniform() {
  if (uniforms_ == 0) {
    const Philox::Block block = stream_.Next();
    uniform_[0] = UniformDouble(block[0], block[1]);
    uniform_[1] = UniformDouble(block[2], block[3]);
    uniforms_ = 2;
  }
  return uniform_[--uniforms_];
}

double DoublePairs::Normal() {
  if (normals_ == 0) {
    const Philox::Block block = stream_.Next();
    NormalPair(UniformDouble(block[0], block[1]), UniformDouble(block[2], block[3]), &normal_[0],
               &normal_[1]);
    normals_ = 2;
  }
  return normal_[--normals_];
}

double DrawGamma(DoublePairs& numbers, double alpha) {
  if (!(alpha > 0) || !std::isfinite(alpha)) return kNan;
  if (alpha == 1) return -std::log1p(-numbers.Uniform());
  const bool is_small = alpha < 1;
  const double d = alpha + (is_small ? 1 - 1.0 / 3 : -1.0 / 3), c = 1.0 / 3 / std::sqrt(d);
  for (int tries = 0; tries < kMostTries; ++tries) {
    const double x = numbers.Normal();
    double v = 1 + c * x;
    if (v <= 0) continue;
    v = v * v * v;
    const double u = numbers.Uniform();
    if (u < 1 - 0.0331 * (x * x) * (x * x) ||
        std::log(u) < 0.5 * x * x + d * (1 - v + std::log(v))) {
      return is_small ? d * v * std::pow(numbers.Uniform(), 1 / alpha) : d * v;
    }
  }
  return kNan;
}

double DrawPoisson(DoublePairs& numbers, double rate, double limit) {
  if (!(rate >= 0) || !std::isfinite(rate)) return kNan;
  if (rate >= 10) return PoissonByRejection(numbers, rate, limit);
  const double least = std::exp(-rate);
  double product = 1;
  for (int64_t x = 0; x < kMostTries; ++x) {
    product *= numbers.Uniform();
    if (product <= least && static_cast<double>(x) <= limit) return static_cast<double>(x);
  }
  return kNan;
}

double DrawBinomial(DoublePairs& numbers, double count, double probability) {
  if (!(count >= 0) || !std::isfinite(count) || !(probability >= 0 && probability <= 1)) {
    return kNan;
  }
  const bool mirrored = probability > 0.5;
  const double p = mirrored ? 1 - probability : probability;
  double successes = 0;
  if (p > 0 && count > 0) {
    successes = count * p >= 10 ? BinomialByRejection(numbers, count, p)
                                : BinomialByWaiting(numbers, count, p);
  }
  return mirrored ? count - successes : successes;
}

template <class T>
bool DrawTruncatedNormals(Philox& stream, const TruncatedNormalRow& row, int64_t n, T* out) {
  const T mean = static_cast<T>(row.mean);
  T deviation = static_cast<T>(row.deviation), low = static_cast<T>(row.low),
    high = static_cast<T>(row.high);
  if (!(deviation > 0 && low < high && (std::isfinite(low) || std::isfinite(high)))) return false;
  // The finite or nearer bound becomes the lower one.
  if ((std::isinf(low) && low < 0) || high < mean) {
    std::swap(low, high);
    deviation = -deviation;
  }
  constexpr T kNear = T(1.3);
  const Bounds<T> bounds{mean, deviation, (low - mean) / deviation, (high - mean) / deviation};
  if ((bounds.low < -kNear && bounds.high >= 0) || (bounds.high > kNear && bounds.low <= 0)) {
    return FillFromNormals(stream, bounds, n, out);
  }
  const T root = std::sqrt(bounds.low * bounds.low + T(4));
  const T cut =
      T(2) * std::exp(T(0.5) + (bounds.low * (bounds.low - root)) / T(4)) / (bounds.low + root);
  if (bounds.high - bounds.low < cut) return FillFromUniforms(stream, bounds, n, out);
  return FillFromExponentials(stream, bounds, n, out);
}

template bool DrawTruncatedNormals(Philox&, const TruncatedNormalRow&, int64_t, float*);
template bool DrawTruncatedNormals(Philox&, const TruncatedNormalRow&, int64_t, double*);

double GammaSampleDerivative(double alpha, double sample) {
  if (!(alpha > 0) || !(sample >= 0) || !std::isfinite(alpha) || !std::isfinite(sample))
    return kNan;
  if (sample == 0) return 0;
  if (alpha > 1e5) return 1 + (sample - alpha) / (2 * alpha);  // nearly normal
  return sample > alpha + 1 ? DerivativeByFraction(alpha, sample)
                            : DerivativeBySeries(alpha, sample);
}

}  // namespace thalweg::compute
