// SPDX-License-Identifier: Apache-2.0
#include "thalweg/compute/gemm/gemm.h"

#include <algorithm>
#include <cstring>

#include "thalweg/compute/gemm/gemm_plain.h"
#include "thalweg/compute/gemm/pack.h"
#include "thalweg/compute/gemm/product.h"
#include "thalweg/compute/inline_work.h"

namespace thalweg::compute {
namespace {

// c = sums plus the epilogue; sums null: nothing was summed.
template <class T>
void FinishRows(const GemmShape& s, const T* sums, T* c, const GemmEpilogue& epilogue) {
  const T* bias = static_cast<const T*>(epilogue.bias);
  const T* residual = static_cast<const T*>(epilogue.residual);
  for (int64_t i = 0; i < s.m; ++i) {
    for (int64_t j = 0; j < s.n; ++j) {
      T v = sums != nullptr ? sums[i * s.n + j] : T(0);
      if (bias != nullptr) v = v + bias[j];
      if (residual != nullptr) v = v + residual[i * s.c_stride + j];
      if (epilogue.relu) v = v < 0 ? T(0) : v;
      c[i * s.c_stride + j] = v;
    }
  }
}

// y = matrix * x where rows of the matrix are contiguous: one dot product per row.
template <class T>
Status DotRows(Work& work, int64_t rows, int64_t k, const T* matrix, int64_t stride, const T* x,
               int64_t x_stride, T* y) {
  Scratch<T> dense(work, x_stride == 1 ? 0 : k);
  if (!dense) return OutOfScratch();
  if (x_stride != 1) {
    for (int64_t i = 0; i < k; ++i) dense[i] = x[i * x_stride];
    x = dense.get();
  }
  const GemmKernels<T>& kernels = GemmKernelsOf<T>(work.isa());
  return ForBlocks(work, rows, std::max<int64_t>(1, 65536 / k), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) y[i] = kernels.dot(k, matrix + i * stride, x);
  });
}

// y = x * matrix where rows of the matrix are contiguous: a sum of scaled rows, by blocks of
// columns.
template <class T>
Status SumRows(Work& work, int64_t n, int64_t k, const T* x, int64_t x_stride, const T* matrix,
               int64_t stride, T* y) {
  const GemmKernels<T>& kernels = GemmKernelsOf<T>(work.isa());
  const int64_t most = std::max<int64_t>(64, (65536 / k + 63) / 64 * 64);
  return ForBlocks(work, n, std::min<int64_t>(most, 2048), [&](int64_t begin, int64_t end) {
    kernels.axpy(end - begin, k, x, x_stride, matrix + begin, stride, y + begin, false);
  });
}

template <class T>
Status VectorGemm(Work& work, const GemmShape& s, const T* a, const T* b, T* c,
                  const GemmEpilogue& epilogue) {
  const bool ta = s.a != Transpose::kNo, tb = s.b != Transpose::kNo;
  Scratch<T> y(work, s.m * s.n);
  if (!y) return OutOfScratch();
  if (s.m == 1) {
    const int64_t x_stride = ta ? s.a_stride : 1;
    RETURN_IF_ERROR(tb ? DotRows(work, s.n, s.k, b, s.b_stride, a, x_stride, y.get())
                       : SumRows(work, s.n, s.k, a, x_stride, b, s.b_stride, y.get()));
  } else {
    const int64_t x_stride = tb ? 1 : s.b_stride;
    RETURN_IF_ERROR(ta ? SumRows(work, s.m, s.k, b, x_stride, a, s.a_stride, y.get())
                       : DotRows(work, s.m, s.k, a, s.a_stride, b, x_stride, y.get()));
  }
  FinishRows(s, y.get(), c, epilogue);
  return OkStatus();
}

template <class T>
Status PackedGemm(Work& work, const GemmShape& s, const T* a, const T* b, T* c,
                  const GemmEpilogue& epilogue) {
  const bool ta = s.a != Transpose::kNo, tb = s.b != Transpose::kNo;
  const Matrix<T> a_matrix{a, s.a_stride}, b_matrix{b, s.b_stride};
  Product<T> p;
  p.m = s.m;
  p.n = s.n;
  p.k = s.k;
  p.fill_a = ta ? FillColumns<T> : FillRows<T>;
  p.a_context = &a_matrix;
  p.a_k_major = ta;
  p.pack_b = tb ? PackTransposed<T> : PackRows<T>;
  p.b_context = &b_matrix;
  p.b_direct = tb ? nullptr : b;
  p.b_direct_stride = s.b_stride;
  p.c = c;
  p.c_stride = s.c_stride;
  p.bias = static_cast<const T*>(epilogue.bias);
  p.residual = static_cast<const T*>(epilogue.residual);
  p.relu = epilogue.relu;
  if (p.residual == c && s.k > kGemmDepth) {  // passes after the first would overwrite it
    p.residual = nullptr;
    p.accumulate = true;
  }
  return RunProduct(work, p);
}

template <class T>
Status FloatGemm(Work& work, const GemmShape& s, const void* a, const void* b, void* c,
                 const GemmEpilogue& epilogue) {
  const T* at = static_cast<const T*>(a);
  const T* bt = static_cast<const T*>(b);
  T* ct = static_cast<T*>(c);
  if (s.k == 0) {
    FinishRows<T>(s, nullptr, ct, epilogue);
    return OkStatus();
  }
  return s.m == 1 || s.n == 1 ? VectorGemm(work, s, at, bt, ct, epilogue)
                              : PackedGemm(work, s, at, bt, ct, epilogue);
}

// Rows of a stored half or bfloat16 matrix as floats without gaps.
template <class H>
void Widen(const H* from, int64_t rows, int64_t cols, int64_t stride, float* to) {
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < cols; ++j) to[i * cols + j] = static_cast<float>(from[i * stride + j]);
  }
}

template <class H>
Status HalfGemm(Work& work, const GemmShape& s, const void* a, const void* b, void* c,
                const GemmEpilogue& epilogue) {
  const int64_t a_rows = s.a == Transpose::kNo ? s.m : s.k,
                a_cols = s.a == Transpose::kNo ? s.k : s.m;
  const int64_t b_rows = s.b == Transpose::kNo ? s.k : s.n,
                b_cols = s.b == Transpose::kNo ? s.n : s.k;
  const bool residual = epilogue.residual != nullptr;
  Scratch<float> a_wide(work, s.m * s.k), b_wide(work, s.k * s.n), c_wide(work, s.m * s.n);
  Scratch<float> bias_wide(work, epilogue.bias != nullptr ? s.n : 0),
      residual_wide(work, residual ? s.m * s.n : 0);
  if (!a_wide || !b_wide || !c_wide || !bias_wide || !residual_wide) return OutOfScratch();
  Widen(static_cast<const H*>(a), a_rows, a_cols, s.a_stride, a_wide.get());
  Widen(static_cast<const H*>(b), b_rows, b_cols, s.b_stride, b_wide.get());
  if (epilogue.bias != nullptr)
    Widen(static_cast<const H*>(epilogue.bias), 1, s.n, s.n, bias_wide.get());
  if (residual)
    Widen(static_cast<const H*>(epilogue.residual), s.m, s.n, s.c_stride, residual_wide.get());
  const GemmEpilogue wide{epilogue.bias != nullptr ? bias_wide.get() : nullptr,
                          residual ? residual_wide.get() : nullptr, epilogue.relu};
  RETURN_IF_ERROR(FloatGemm<float>(work, GemmShape::Dense(s.m, s.n, s.k, s.a, s.b), a_wide.get(),
                                   b_wide.get(), c_wide.get(), wide));
  H* out = static_cast<H*>(c);
  for (int64_t i = 0; i < s.m; ++i) {
    for (int64_t j = 0; j < s.n; ++j) out[i * s.c_stride + j] = H(c_wide[i * s.n + j]);
  }
  return OkStatus();
}

}  // namespace

Status Gemm(Work& work, DType dtype, const GemmShape& shape, const void* a, const void* b, void* c,
            const GemmEpilogue& epilogue) {
  if (shape.m == 0 || shape.n == 0) return OkStatus();
  switch (dtype) {
    case DType::kFloat:
      return FloatGemm<float>(work, shape, a, b, c, epilogue);
    case DType::kDouble:
      return FloatGemm<double>(work, shape, a, b, c, epilogue);
    case DType::kHalf:
      return HalfGemm<Half>(work, shape, a, b, c, epilogue);
    case DType::kBfloat16:
      return HalfGemm<Bfloat16>(work, shape, a, b, c, epilogue);
    default:
      return PlainGemm(work, dtype, shape, a, b, c, epilogue);
  }
}

Status BatchedGemm(Work& work, DType dtype, const GemmShape& shape, int64_t batch, const void* a,
                   const int64_t* a_offsets, const void* b, const int64_t* b_offsets, void* c) {
  const auto size = static_cast<int64_t>(DTypeSize(dtype));
  const auto run = [&](Work& inner, int64_t i) {
    return Gemm(inner, dtype, shape, static_cast<const char*>(a) + a_offsets[i] * size,
                static_cast<const char*>(b) + b_offsets[i] * size,
                static_cast<char*>(c) + i * shape.m * shape.c_stride * size);
  };
  const double flops = 2.0 * static_cast<double>(shape.m) * static_cast<double>(shape.n) *
                       static_cast<double>(shape.k);
  if (batch < 4 && flops > 4e6) {  // few large products: each is cut inside
    for (int64_t i = 0; i < batch; ++i) RETURN_IF_ERROR(run(work, i));
    return OkStatus();
  }
  if (batch == 0) return OkStatus();
  // Says once whether the type has a kernel; later failures can only be refused scratch.
  InlineWork first(work);
  RETURN_IF_ERROR(run(first, 0));
  const auto grain = static_cast<int64_t>(std::clamp(2e6 / (flops + 1), 1.0, 4096.0));
  return ForShards(work, (batch - 1 + grain - 1) / grain, [&](int64_t shard) {
    InlineWork inner(work);
    const int64_t end = std::min(batch, 1 + (shard + 1) * grain);
    for (int64_t i = 1 + shard * grain; i < end; ++i) {
      if (!run(inner, i).ok()) return false;
    }
    return true;
  });
}

}  // namespace thalweg::compute
