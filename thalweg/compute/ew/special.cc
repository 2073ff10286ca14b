// SPDX-License-Identifier: Apache-2.0
#include "thalweg/compute/ew/special.h"

#include <algorithm>
#include <cmath>
#include <complex>

#include "thalweg/compute/arithmetic.h"
#include "thalweg/compute/ew/special_functions.h"

namespace thalweg::compute {
namespace {

constexpr int64_t kGrain = 1024;  // elements of a shard: each costs some 20 to 100 ns

using Unary = double (*)(double);
using Binary = double (*)(double, double);

constexpr Unary kUnary[] = {BesselI0,   BesselI0e,  BesselI1,  BesselI1e, BesselJ0,
                            BesselJ1,   BesselK0,   BesselK0e, BesselK1,  BesselK1e,
                            BesselY0,   BesselY1,   Dawsn,     Erfinv,    Expint,
                            FresnelCos, FresnelSin, Ndtri,     Spence};
static_assert(sizeof kUnary / sizeof *kUnary == static_cast<size_t>(SpecialUnary::kSpence) + 1);
constexpr Binary kBinary[] = {Igamma, IgammaGradA, Igammac, PolygammaOf, Xlog1py, Zeta};
static_assert(sizeof kBinary / sizeof *kBinary == static_cast<size_t>(SpecialBinary::kZeta) + 1);

// out[i] = f(i-th elements of the operands) for every element of the broadcast.
template <class T, class F>
Status ForElements(Work& work, const Broadcast& broadcast, const void* const* operands, void* out,
                   const F& f) {
  const int last = broadcast.rank() - 1, count = broadcast.operands();
  const int64_t inner = broadcast.inner();
  const int64_t pieces = std::max<int64_t>(1, (inner + kGrain - 1) / kGrain);
  const int64_t piece = (inner + pieces - 1) / pieces;
  const int64_t grain = pieces > 1 ? 1 : std::max<int64_t>(1, kGrain / std::max<int64_t>(1, inner));
  return ForBlocks(work, broadcast.rows() * pieces, grain, [&](int64_t begin, int64_t end) {
    RowCursor cursor(broadcast, begin / pieces);
    for (int64_t unit = begin; unit < end; ++unit) {
      const int64_t from = unit % pieces * piece, to = std::min(from + piece, inner);
      const T* x[Broadcast::kMaxOperands] = {};
      for (int k = 0; k < count; ++k) {
        x[k] = static_cast<const T*>(operands[k]) + cursor.offset(k);
      }
      T* y = static_cast<T*>(out) + unit / pieces * inner;
      for (int64_t i = from; i < to; ++i) {
        T e[Broadcast::kMaxOperands] = {};
        for (int k = 0; k < count; ++k) e[k] = x[k][i * broadcast.stride(k, last)];
        y[i] = f(e);
      }
      if (unit % pieces == pieces - 1) cursor.Next();
    }
  });
}

Status NoSuchType(DType dtype) {
  return Unimplemented("special functions of elements of type ", dtype);
}

}  // namespace

Status RunSpecial(Work& work, SpecialUnary op, DType dtype, int64_t n, const void* x, void* y) {
  const Unary f = kUnary[static_cast<int>(op)];
  Status status = NoSuchType(dtype);
  ForEachType<FloatTypes>([&]<class T> {
    if (kDTypeOf<T> != dtype) return;
    const void* operands[] = {x};
    status = ForElements<T>(work, Broadcast::Dense(n, 1), operands, y,
                            [f](const T* e) { return ElementOf<T>(f(ValueOf(e[0]))); });
  });
  return status;
}

Status RunSpecial(Work& work, SpecialBinary op, DType dtype, const Broadcast& broadcast,
                  const void* a, const void* b, void* out) {
  const Binary f = kBinary[static_cast<int>(op)];
  Status status = NoSuchType(dtype);
  ForEachType<FloatTypes>([&]<class T> {
    if (kDTypeOf<T> != dtype) return;
    const void* operands[] = {a, b};
    status = ForElements<T>(work, broadcast, operands, out, [f](const T* e) {
      return ElementOf<T>(f(ValueOf(e[0]), ValueOf(e[1])));
    });
  });
  return status;
}

Status RunBetainc(Work& work, DType dtype, const Broadcast& broadcast, const void* a, const void* b,
                  const void* x, void* out) {
  Status status = NoSuchType(dtype);
  ForEachType<FloatTypes>([&]<class T> {
    if (kDTypeOf<T> != dtype) return;
    const void* operands[] = {a, b, x};
    status = ForElements<T>(work, broadcast, operands, out, [](const T* e) {
      return ElementOf<T>(Betainc(ValueOf(e[0]), ValueOf(e[1]), ValueOf(e[2])));
    });
  });
  return status;
}

Status RunNextAfter(Work& work, DType dtype, const Broadcast& broadcast, const void* a,
                    const void* b, void* out) {
  Status status = NoSuchType(dtype);
  ForEachType<Types<float, double>>([&]<class T> {
    if (kDTypeOf<T> != dtype) return;
    const void* operands[] = {a, b};
    status = ForElements<T>(work, broadcast, operands, out,
                            [](const T* e) { return std::nextafter(e[0], e[1]); });
  });
  return status;
}

Status RunTruncateDiv(Work& work, DType dtype, const Broadcast& broadcast, const void* a,
                      const void* b, void* out) {
  Status status = NoSuchType(dtype);
  ForEachType<FloatTypes>([&]<class T> {
    if (kDTypeOf<T> != dtype) return;
    const void* operands[] = {a, b};
    status = ForElements<T>(work, broadcast, operands, out, [](const T* e) {
      return ElementOf<T>(std::trunc(ValueOf(ElementOf<T>(ValueOf(e[0]) / ValueOf(e[1])))));
    });
  });
  return status;
}

Status RunComplexXlog1py(Work& work, DType dtype, const Broadcast& broadcast, const void* x,
                         const void* y, void* out) {
  Status status = NoSuchType(dtype);
  ForEachType<ComplexTypes>([&]<class T> {
    if (kDTypeOf<T> != dtype) return;
    const void* operands[] = {x, y};
    status = ForElements<T>(work, broadcast, operands, out, [](const T* e) {
      using R = typename T::value_type;
      if (e[0] == T(0)) return T(0);
      // |1 + y|^2 - 1 without the cancellation of 1 + y.
      const R re = e[1].real(), im = e[1].imag();
      const bool near = std::abs(re) < R(0.5) && std::abs(im) < R(0.5);
      const R size =
          near ? std::log1p(re * (R(2) + re) + im * im) / 2 : std::log(std::hypot(R(1) + re, im));
      return e[0] * T(size, std::atan2(im, R(1) + re));
    });
  });
  return status;
}

}  // namespace thalweg::compute
