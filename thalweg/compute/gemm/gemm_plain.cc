// SPDX-License-Identifier: Apache-2.0
#include "thalweg/compute/gemm/gemm_plain.h"

#include <algorithm>
#include <complex>
#include <type_traits>

namespace thalweg::compute {
namespace {

// Elements as they are summed: unsigned, so that integers wrap instead of overflowing.
template <class T>
struct Summed {
  using Type = std::make_unsigned_t<T>;
  static void MultiplyAdd(Type x, Type y, Type& sum) { sum += x * y; }
  static T Conjugate(T v) { return v; }
  static T Relu(T v) { return v < 0 ? T(0) : v; }
};
template <class R>
struct Summed<std::complex<R>> {
  using Type = std::complex<R>;
  // Written out: operator* repairs NaN by a slow call.
  static void MultiplyAdd(Type x, Type y, Type& sum) {
    sum = {sum.real() + (x.real() * y.real() - x.imag() * y.imag()),
           sum.imag() + (x.real() * y.imag() + x.imag() * y.real())};
  }
  static Type Conjugate(Type v) { return {v.real(), -v.imag()}; }
  static Type Relu(Type v) { return v; }
};

template <class T>
struct Plain {
  using S = Summed<T>;
  using Sum = typename S::Type;

  static Status Run(Work& work, const GemmShape& s, const T* a, const T* b, T* c,
                    const GemmEpilogue& epilogue) {
    Scratch<Sum> rows(work, s.b == Transpose::kNo ? 0 : s.k * s.n);
    if (!rows) return OutOfScratch();
    const Sum* b_rows = reinterpret_cast<const Sum*>(b);
    int64_t b_stride = s.b_stride;
    if (s.b != Transpose::kNo) {
      TransposeB(s, b, rows.get());
      b_rows = rows.get();
      b_stride = s.n;
    }
    const int64_t rows_wanted = 65536 / std::max<int64_t>(1, s.k * s.n);
    const int64_t grain = std::clamp<int64_t>((rows_wanted + kRows - 1) / kRows * kRows, kRows,
                                              std::max<int64_t>(s.m, kRows));
    return ForShards(work, (s.m + grain - 1) / grain, [&](int64_t shard) {
      const int64_t end = std::min(s.m, (shard + 1) * grain);
      for (int64_t j = 0; j < s.n; j += kCols) {
        for (int64_t i = shard * grain; i < end; i += kRows) {
          RunBlock(s, i, std::min(kRows, end - i), j, std::min(kCols, s.n - j), a, b_rows, b_stride,
                   c, epilogue);
        }
      }
      return true;
    });
  }

 private:
  // A block of c: its sums stay in the first-level cache, and a row of b serves kRows of them.
  static constexpr int64_t kRows = 4, kCols = 256;

  static void RunBlock(const GemmShape& s, int64_t i, int64_t rows, int64_t j, int64_t cols,
                       const T* a, const Sum* b, int64_t b_stride, T* c,
                       const GemmEpilogue& epilogue) {
    Sum sums[kRows][kCols] = {};
    for (int64_t k = 0; k < s.k; ++k) {
      Sum x[kRows] = {};
      for (int64_t r = 0; r < rows; ++r) x[r] = Element(s, a, i + r, k);
      const Sum* from = b + k * b_stride + j;
      for (int64_t l = 0; l < cols; ++l) {
        const Sum y = from[l];
        for (int64_t r = 0; r < kRows; ++r) S::MultiplyAdd(x[r], y, sums[r][l]);
      }
    }
    for (int64_t r = 0; r < rows; ++r) Finish(s, i + r, j, cols, sums[r], c, epilogue);
  }

  static Sum Element(const GemmShape& s, const T* a, int64_t i, int64_t k) {
    const T v = s.a == Transpose::kNo ? a[i * s.a_stride + k] : a[k * s.a_stride + i];
    return static_cast<Sum>(s.a == Transpose::kConjugate ? S::Conjugate(v) : v);
  }

  static void TransposeB(const GemmShape& s, const T* b, Sum* rows) {
    for (int64_t j = 0; j < s.n; ++j) {
      for (int64_t k = 0; k < s.k; ++k) {
        const T v = b[j * s.b_stride + k];
        rows[k * s.n + j] = static_cast<Sum>(s.b == Transpose::kConjugate ? S::Conjugate(v) : v);
      }
    }
  }

  static void Finish(const GemmShape& s, int64_t i, int64_t j, int64_t cols, const Sum* sums, T* c,
                     const GemmEpilogue& epilogue) {
    const T* bias = static_cast<const T*>(epilogue.bias);
    const T* residual = static_cast<const T*>(epilogue.residual);
    for (int64_t l = 0; l < cols; ++l) {
      Sum sum = sums[l];
      if (bias != nullptr) sum += static_cast<Sum>(bias[j + l]);
      if (residual != nullptr) sum += static_cast<Sum>(residual[i * s.c_stride + j + l]);
      const T v = static_cast<T>(sum);
      c[i * s.c_stride + j + l] = epilogue.relu ? S::Relu(v) : v;
    }
  }
};

template <class T>
Status RunAs(Work& work, const GemmShape& shape, const void* a, const void* b, void* c,
             const GemmEpilogue& epilogue) {
  return Plain<T>::Run(work, shape, static_cast<const T*>(a), static_cast<const T*>(b),
                       static_cast<T*>(c), epilogue);
}

}  // namespace

Status PlainGemm(Work& work, DType dtype, const GemmShape& shape, const void* a, const void* b,
                 void* c, const GemmEpilogue& epilogue) {
  switch (dtype) {
    case DType::kInt32:
      return RunAs<int32_t>(work, shape, a, b, c, epilogue);
    case DType::kInt64:
      return RunAs<int64_t>(work, shape, a, b, c, epilogue);
    case DType::kComplex64:
      return RunAs<std::complex<float>>(work, shape, a, b, c, epilogue);
    case DType::kComplex128:
      return RunAs<std::complex<double>>(work, shape, a, b, c, epilogue);
    default:
      return Unimplemented("matrix product of elements of type ", dtype);
  }
}

}  // namespace thalweg::compute
