// SPDX-License-Identifier: Apache-2.0
// accuracy_benchmark > docs/accuracy.md: how far the fast ways of the kernels are from double
// precision, at every instruction set level of this processor, as a page. No figure is of time.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "thalweg/base/str_cat.h"
#include "thalweg/compute/conv/conv2d.h"
#include "thalweg/compute/ew/ew.h"
#include "thalweg/compute/gemm/bfloat16_blocks.h"
#include "thalweg/compute/gemm/gemm.h"
#include "thalweg/compute/isa/components.h"
#include "thalweg/compute/reduce/reduce.h"
#include "thalweg/compute/softmax/softmax.h"
#include "thalweg/compute/work.h"
#include "thalweg/tensor/half.h"

namespace thalweg::compute {
namespace {

constexpr const char* kHead =
    R"(# Accuracy of the fast ways

Written by `build/release/bin/accuracy_benchmark > docs/accuracy.md`; do not edit. Every figure is the largest error that was seen, beside the
same in double precision, of values that are the same in every run: a bound that was met, not one that was proved.

## Functions

Of float, in units in the last place of the true result, over every 613th of all finite floats (7 million) whose true result is a float that
is neither infinite nor below 2^-126; half a unit is a result that was rounded once. Beside it the argument where that was seen.

)";

constexpr const char* kSums = R"(
## Sums

In units of `r |y| + 2^-24 (|a_1 b_1| + |a_2 b_2| + ...)`, where `y` is the true result and `r` what rounding it once may change: 2^-24 of
float, 2^-8 of bfloat16. At 1 the error is what one rounding of the result and one of each term may make; sums of float in any order stay below
the number of their terms. Values lie between -1 and 1. *Component*: oneDNN, where it takes the convolution, of the highest level alone.

)";

struct Worst {
  double error = 0, at = 0;
  void See(double found, double where) {
    if (!(found <= error)) error = found, at = where;
  }
};

double UnitInTheLastPlace(double y) {
  int exponent;
  std::frexp(y, &exponent);
  return std::ldexp(1, exponent - 24);
}

using True = double (*)(double);

const std::vector<std::pair<UnaryOp, True>>& Functions() {
  static const std::vector<std::pair<UnaryOp, True>> functions = {
      {UnaryOp::kExp, [](double x) { return std::exp(x); }},
      {UnaryOp::kExpm1, [](double x) { return std::expm1(x); }},
      {UnaryOp::kLog, [](double x) { return std::log(x); }},
      {UnaryOp::kLog1p, [](double x) { return std::log1p(x); }},
      {UnaryOp::kTanh, [](double x) { return std::tanh(x); }},
      {UnaryOp::kSigmoid, [](double x) { return 1 / (1 + std::exp(-x)); }},
      {UnaryOp::kErf, [](double x) { return std::erf(x); }},
      {UnaryOp::kErfc, [](double x) { return std::erfc(x); }},
      {UnaryOp::kSin, [](double x) { return std::sin(x); }},
      {UnaryOp::kCos, [](double x) { return std::cos(x); }},
      {UnaryOp::kTan, [](double x) { return std::tan(x); }},
      {UnaryOp::kSqrt, [](double x) { return std::sqrt(x); }},
      {UnaryOp::kRsqrt, [](double x) { return 1 / std::sqrt(x); }},
      {UnaryOp::kReciprocal, [](double x) { return 1 / x; }},
      {UnaryOp::kElu, [](double x) { return x < 0 ? std::expm1(x) : x; }},
      {UnaryOp::kSoftplus,
       [](double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x))); }},
      {UnaryOp::kSoftsign, [](double x) { return x / (1 + std::abs(x)); }},
  };
  return functions;
}

Worst OfFunction(Work& work, UnaryOp op, True truth) {
  std::vector<float> x;
  for (uint64_t bits = 0; bits < uint64_t{1} << 32; bits += 613) {
    const auto word = static_cast<uint32_t>(bits);
    float value;
    std::memcpy(&value, &word, sizeof value);
    if (std::isfinite(value)) x.push_back(value);
  }
  std::vector<float> y(x.size());
  RunUnary(work, op, DType::kFloat, static_cast<int64_t>(x.size()), x.data(), y.data())
      .IgnoreError();
  Worst worst;
  for (size_t i = 0; i < x.size(); ++i) {
    const double expected = truth(x[i]), size = std::abs(expected);
    if (!std::isfinite(static_cast<float>(expected)) || size < 0x1p-126) continue;
    worst.See(std::abs(y[i] - expected) / UnitInTheLastPlace(expected), x[i]);
  }
  return worst;
}

// A true sum and that of the sizes of its terms.
struct Sum {
  void Add(double term) {
    value += term;
    sizes += std::abs(term);
  }
  template <class T>
  double ErrorOf(T y) const {
    const double rounding = sizeof(T) == 2 ? 0x1p-8 : 0x1p-24;
    return std::abs(static_cast<double>(static_cast<float>(y)) - value) /
           (rounding * std::abs(value) + 0x1p-24 * sizes);
  }
  double value = 0, sizes = 0;
};

template <class T>
std::vector<T> Values(int64_t n, uint32_t seed) {
  std::mt19937 engine(seed);
  std::uniform_real_distribution<float> distribution(-1, 1);
  std::vector<T> values(static_cast<size_t>(n));
  for (T& value : values) value = T(distribution(engine));
  return values;
}

template <class T>
double At(const std::vector<T>& values, int64_t i) {
  return static_cast<double>(static_cast<float>(values[static_cast<size_t>(i)]));
}

template <class T>
double Largest(const std::vector<Sum>& expected, const std::vector<T>& made) {
  Worst worst;
  for (size_t i = 0; i < made.size(); ++i) worst.See(expected[i].ErrorOf(made[i]), 0);
  return worst.error;
}

template <class T>
double OfProduct(Work& work, int64_t m, int64_t n, int64_t k) {
  const auto a = Values<T>(m * k, 1), b = Values<T>(k * n, 2);
  std::vector<T> c(static_cast<size_t>(m * n));
  Gemm(work, kDTypeOf<T>, GemmShape::Dense(m, n, k), a.data(), b.data(), c.data()).IgnoreError();
  std::vector<Sum> expected(c.size());
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t p = 0; p < k; ++p) {
      for (int64_t j = 0; j < n; ++j) expected[i * n + j].Add(At(a, i * k + p) * At(b, p * n + j));
    }
  }
  return Largest(expected, c);
}

// Of a convolution, its input's gradient and its filter's.
template <class T>
std::array<double, 3> OfConvolution(Work& work, ConvPlans* plans) {
  const Window w = *MakeWindow(20, 3, 1, 1, Padding::kSame);
  const Conv2DShape s{2, w, w, 64, 64};
  constexpr int64_t kIn = 64, kOut = 64;
  const auto x = Values<T>(s.batch * s.InPixels() * kIn, 1);
  const auto f = Values<T>(s.Taps() * kIn * kOut, 2);
  const auto g = Values<T>(s.batch * s.OutPixels() * kOut, 3);
  std::vector<T> y(g.size()), dx(x.size()), df(f.size());
  const DType t = kDTypeOf<T>;
  Conv2D(work, t, s, x.data(), f.data(), y.data(), {}, plans).IgnoreError();
  Conv2DBackwardInput(work, t, s, f.data(), g.data(), dx.data(), plans).IgnoreError();
  Conv2DBackwardFilter(work, t, s, x.data(), g.data(), df.data(), plans).IgnoreError();
  std::vector<Sum> of_y(y.size()), of_dx(dx.size()), of_df(df.size());
  for (int64_t p = 0; p < s.batch * s.OutPixels(); ++p) {
    const int64_t image = p / s.OutPixels(), row = p / 20 % 20, column = p % 20;
    for (int64_t tap = 0; tap < 9; ++tap) {
      const int64_t r = row + tap / 3 - 1, c = column + tap % 3 - 1;
      if (r < 0 || r >= 20 || c < 0 || c >= 20) continue;
      const int64_t pixel = (image * 20 + r) * 20 + c;
      for (int64_t i = 0; i < kIn; ++i) {
        for (int64_t o = 0; o < kOut; ++o) {
          const int64_t in = pixel * kIn + i, out = p * kOut + o, k = (tap * kIn + i) * kOut + o;
          of_y[out].Add(At(x, in) * At(f, k));
          of_dx[in].Add(At(f, k) * At(g, out));
          of_df[k].Add(At(x, in) * At(g, out));
        }
      }
    }
  }
  return {Largest(of_y, y), Largest(of_dx, dx), Largest(of_df, df)};
}

double OfReduction(Work& work) {
  constexpr int64_t kRows = 20, kColumns = 100000;
  const auto x = Values<float>(kRows * kColumns, 1);
  std::vector<float> y(kRows);
  const std::vector<int64_t> dims = {kRows, kColumns}, axes = {1};
  Reduce(work, ReduceOp::kSum, DType::kFloat, *Reduction::Make(dims, axes), x.data(), y.data())
      .IgnoreError();
  std::vector<Sum> expected(kRows);
  for (int64_t i = 0; i < kRows * kColumns; ++i) expected[i / kColumns].Add(At(x, i));
  return Largest(expected, y);
}

// In units in the last place.
Worst OfSoftmax(Work& work) {
  constexpr int64_t kRows = 1000, kColumns = 1000;
  auto x = Values<float>(kRows * kColumns, 1);
  for (float& value : x) value *= 10;
  std::vector<float> y(x.size());
  Softmax(work, DType::kFloat, kRows, kColumns, x.data(), y.data()).IgnoreError();
  Worst worst;
  for (int64_t row = 0; row < kRows; ++row) {
    double sum = 0;
    for (int64_t c = 0; c < kColumns; ++c) sum += std::exp(At(x, row * kColumns + c));
    for (int64_t i = row * kColumns; i < (row + 1) * kColumns; ++i) {
      const double expected = std::exp(At(x, i)) / sum;
      worst.See(std::abs(At(y, i) - expected) / UnitInTheLastPlace(expected), At(x, i));
    }
  }
  return worst;
}

std::vector<IsaLevel> Levels() {
  std::vector<IsaLevel> levels;
  for (int i = 0; i <= static_cast<int>(BestIsaLevel()); ++i) {
    levels.push_back(static_cast<IsaLevel>(i));
  }
  return levels;
}

void PrintHead(const char* what) {
  std::printf("| %s |", what);
  for (IsaLevel level : Levels()) std::printf(" %s |", IsaLevelName(level));
  std::printf("\n|---|");
  for (size_t i = 0; i < Levels().size(); ++i) std::printf("---|");
  std::printf("\n");
}

void PrintRow(const std::string& name, const std::function<std::string(Work&)>& cell) {
  std::printf("| %s |", name.c_str());
  for (IsaLevel level : Levels()) {
    SerialWork work(GetIsaTable(level));
    std::printf(" %s |", cell(work).c_str());
  }
  std::printf("\n");
  std::fflush(stdout);
}

std::string Show(double error) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2f", error);
  return text;
}

std::string Show(const Worst& worst) {
  char text[64];
  std::snprintf(text, sizeof text, "%.2f at %.6g", worst.error, worst.at);
  return text;
}

std::string Show(const std::array<double, 3>& errors) {
  return StrCat(Show(errors[0]), ", ", Show(errors[1]), ", ", Show(errors[2]));
}

void PrintPage() {
  std::printf("%s", kHead);
  PrintHead("function");
  for (const auto& [op, truth] : Functions()) {
    PrintRow(UnaryOpName(op), [&](Work& work) { return Show(OfFunction(work, op, truth)); });
  }
  PrintRow("softmax of rows of 1000", [](Work& work) { return Show(OfSoftmax(work)); });
  std::printf("%s", kSums);
  PrintHead("what");
  PrintRow("sum of 100,000 floats", [](Work& work) { return Show(OfReduction(work)); });
  PrintRow("product of float, 200 x 1000 x 200",
           [](Work& work) { return Show(OfProduct<float>(work, 200, 200, 1000)); });
  PrintRow("convolution of float, 20 x 20, 3 x 3, 64 in and out; its gradients",
           [](Work& work) { return Show(OfConvolution<float>(work, nullptr)); });
  PrintRow("the same by the component", [](Work& work) {
    ConvPlans plans;
    const bool may = MayUseComponents(work.isa()) && HasConvComponent();
    return may ? Show(OfConvolution<float>(work, &plans)) : "–";
  });
  constexpr std::array<const char*, 3> kUnits = {"by float", "by AVX512_BF16", "by AMX"};
  const auto unit = [&](Work& work) {
    return kUnits[static_cast<int>(Bfloat16UnitOf(work.isa()))];
  };
  PrintRow("product of bfloat16, 200 x 1000 x 200", [&](Work& work) {
    return StrCat(Show(OfProduct<Bfloat16>(work, 200, 200, 1000)), " ", unit(work));
  });
  PrintRow("convolution of bfloat16 as above; its gradients", [&](Work& work) {
    return StrCat(Show(OfConvolution<Bfloat16>(work, nullptr)), " ", unit(work));
  });
}

}  // namespace
}  // namespace thalweg::compute

int main() { thalweg::compute::PrintPage(); }
