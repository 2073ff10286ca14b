// SPDX-License-Identifier: Apache-2.0
#include "thalweg/compute/gemm/gemm.h"

#include <algorithm>
#include <cstring>

#include "thalweg/compute/ew/storage.h"
#include "thalweg/compute/gemm/bfloat16_product.h"
#include "thalweg/compute/gemm/gemm_plain.h"
#include "thalweg/compute/gemm/pack.h"
#include "thalweg/compute/gemm/product.h"
#include "thalweg/compute/inline_work.h"

namespace thalweg::compute {
namespace {

// Fewer rows of a, against a transposed b, take less as dot products than packing b does.
constexpr int64_t kDotRows = 6;

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

// y[x][row] = rows of the matrix times each of `count` vectors: rows are read once.
template <class T>
Status DotRows(Work& work, int64_t rows, int64_t k, const T* matrix, int64_t stride, const T* x,
               int64_t x_step, int64_t x_stride, int64_t count, T* y) {
  Scratch<T> dense(work, x_step == 1 ? 0 : k * count);
  if (!dense) return OutOfScratch();
  if (x_step != 1) {
    for (int64_t v = 0; v < count; ++v) {
      for (int64_t i = 0; i < k; ++i) dense[v * k + i] = x[v * x_stride + i * x_step];
    }
    x = dense.get();
    x_stride = k;
  }
  const GemmKernels<T>& kernels = GemmKernelsOf<T>(work.isa());
  const int64_t grain = std::max<int64_t>(1, 65536 / (k * count));
  return ForBlocks(work, rows, grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      for (int64_t v = 0; v < count; ++v) {
        y[v * rows + i] = kernels.dot(k, matrix + i * stride, x + v * x_stride);
      }
    }
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

// One column, or few rows times a transposed b: dot products, nothing is packed.
template <class T>
Status VectorGemm(Work& work, const GemmShape& s, const T* a, const T* b, T* c,
                  const GemmEpilogue& epilogue) {
  const bool ta = s.a != Transpose::kNo, tb = s.b != Transpose::kNo;
  Scratch<T> y(work, s.m * s.n);
  if (!y) return OutOfScratch();
  if (s.n > 1) {
    RETURN_IF_ERROR(DotRows(work, s.n, s.k, b, s.b_stride, a, ta ? s.a_stride : 1,
                            ta ? 1 : s.a_stride, s.m, y.get()));
  } else {
    const int64_t x_step = tb ? 1 : s.b_stride;
    RETURN_IF_ERROR(ta ? SumRows(work, s.m, s.k, b, x_step, a, s.a_stride, y.get())
                       : DotRows(work, s.m, s.k, a, s.a_stride, b, x_step, 0, 1, y.get()));
  }
  FinishRows(s, y.get(), c, epilogue);
  return OkStatus();
}

// Rows at this distance share so few sets of a cache that they drive each other out.
template <class T>
bool CollidesInCache(const GemmShape& s) {
  const int64_t distance = s.a_stride * static_cast<int64_t>(sizeof(T)) % 4096;
  return s.m > 8 && (distance < 256 || distance > 4096 - 256);
}

// Where b is described; pack_b of the product reads it.
template <class T>
void SetB(const GemmShape& s, const Matrix<T>& b, Product<T>* p) {
  const bool tb = s.b != Transpose::kNo;
  p->n = s.n;
  p->k = s.k;
  p->pack_b = tb ? PackTransposed<T> : PackRows<T>;
  p->b_context = &b;
  p->b_direct = tb ? nullptr : b.data;
  p->b_direct_stride = b.stride;
}

// b or, when not null, packed.
template <class T>
Status TiledGemm(Work& work, const GemmShape& s, const T* a, const T* b, const T* packed, T* c,
                 const GemmEpilogue& epilogue) {
  const bool ta = s.a != Transpose::kNo;
  const Matrix<T> a_matrix{a, s.a_stride};
  const Matrix<T> b_matrix{b, s.b_stride, &GemmKernelsOf<T>(work.isa())};
  Product<T> p;
  SetB(s, b_matrix, &p);
  p.b_packed = packed;
  p.m = s.m;
  p.fill_a = ta ? FillColumns<T> : FillRows<T>;
  p.a_context = &a_matrix;
  p.a_k_major = ta;
  p.a_strips = ta;
  p.a_direct = ta || CollidesInCache<T>(s) ? nullptr : a;
  p.a_direct_stride = s.a_stride;
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
Status FloatGemm(Work& work, const GemmShape& s, const void* a, const void* b, const void* packed,
                 void* c, const GemmEpilogue& epilogue) {
  const T* at = static_cast<const T*>(a);
  const T* bt = static_cast<const T*>(b);
  T* ct = static_cast<T*>(c);
  if (s.k == 0) {
    FinishRows<T>(s, nullptr, ct, epilogue);
    return OkStatus();
  }
  const bool dots = s.n == 1 || (s.b != Transpose::kNo && s.m <= kDotRows);
  return packed == nullptr && dots
             ? VectorGemm(work, s, at, bt, ct, epilogue)
             : TiledGemm(work, s, at, bt, static_cast<const T*>(packed), ct, epilogue);
}

// Rows of a stored half or bfloat16 matrix as floats without gaps, and back.
constexpr int64_t kConvertGrain = 32768;
Status Widen(Work& work, const StorageType& type, const void* from, int64_t rows, int64_t cols,
             int64_t stride, float* to) {
  if (cols == 0) return OkStatus();
  const int64_t grain = std::max<int64_t>(1, kConvertGrain / cols);
  return ForBlocks(work, rows, grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      type.widen(*work.isa().half, to + i * cols,
                 static_cast<const char*>(from) + i * stride * type.size, cols);
    }
  });
}

Bfloat16Unit UnitOf(const IsaTable& isa, DType dtype) {
  return dtype == DType::kBfloat16 ? Bfloat16UnitOf(isa) : Bfloat16Unit::kNone;
}

Status HalfGemm(Work& work, DType dtype, const GemmShape& s, const void* a, const void* b,
                const void* packed, void* c, const GemmEpilogue& epilogue) {
  if (const Bfloat16Unit unit = UnitOf(work.isa(), dtype); unit != Bfloat16Unit::kNone && s.k > 0) {
    return Bfloat16Gemm(work, unit, s, a, b, packed, c, epilogue);
  }
  const StorageType type = StorageTypeOf(dtype);
  const bool ta = s.a != Transpose::kNo, tb = s.b != Transpose::kNo;
  const bool bias = epilogue.bias != nullptr, residual = epilogue.residual != nullptr;
  const bool wide_b = packed == nullptr;
  Scratch<float> a_wide(work, s.m * s.k), b_wide(work, wide_b ? s.k * s.n : 0),
      c_wide(work, s.m * s.n), bias_wide(work, bias ? s.n : 0),
      residual_wide(work, residual ? s.m * s.n : 0);
  if (!a_wide || !b_wide || !c_wide || !bias_wide || !residual_wide) return OutOfScratch();
  RETURN_IF_ERROR(Widen(work, type, a, ta ? s.k : s.m, ta ? s.m : s.k, s.a_stride, a_wide.get()));
  if (wide_b) {
    RETURN_IF_ERROR(Widen(work, type, b, tb ? s.n : s.k, tb ? s.k : s.n, s.b_stride, b_wide.get()));
  }
  if (bias) RETURN_IF_ERROR(Widen(work, type, epilogue.bias, 1, s.n, s.n, bias_wide.get()));
  if (residual) {
    RETURN_IF_ERROR(
        Widen(work, type, epilogue.residual, s.m, s.n, s.c_stride, residual_wide.get()));
  }
  const GemmEpilogue wide{bias ? bias_wide.get() : nullptr,
                          residual ? residual_wide.get() : nullptr, epilogue.relu};
  RETURN_IF_ERROR(FloatGemm<float>(work, GemmShape::Dense(s.m, s.n, s.k, s.a, s.b), a_wide.get(),
                                   b_wide.get(), packed, c_wide.get(), wide));
  return ForBlocks(
      work, s.m, std::max<int64_t>(1, kConvertGrain / s.n), [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          type.narrow(*work.isa().half, static_cast<char*>(c) + i * s.c_stride * type.size,
                      c_wide.get() + i * s.n, s.n);
        }
      });
}

}  // namespace

Status Gemm(Work& work, DType dtype, const GemmShape& shape, const void* a, const void* b, void* c,
            const GemmEpilogue& epilogue) {
  if (shape.m == 0 || shape.n == 0) return OkStatus();
  switch (dtype) {
    case DType::kFloat:
      return FloatGemm<float>(work, shape, a, b, nullptr, c, epilogue);
    case DType::kDouble:
      return FloatGemm<double>(work, shape, a, b, nullptr, c, epilogue);
    case DType::kHalf:
    case DType::kBfloat16:
      return HalfGemm(work, dtype, shape, a, b, nullptr, c, epilogue);
    default:
      return PlainGemm(work, dtype, shape, a, b, c, epilogue);
  }
}

DType PackedType(DType dtype) {
  const bool half = dtype == DType::kHalf || dtype == DType::kBfloat16;
  if (half || dtype == DType::kFloat) return DType::kFloat;
  return dtype == DType::kDouble ? DType::kDouble : DType::kInvalid;
}

Result<int64_t> PackedSize(const IsaTable& isa, DType dtype, int64_t n, int64_t k) {
  if (PackedType(dtype) == DType::kInvalid) {
    return Unimplemented("packed matrices of elements of type ", dtype);
  }
  int64_t elements;
  if (UnitOf(isa, dtype) != Bfloat16Unit::kNone) {
    const int64_t bytes = PackedBfloat16Bytes(n, k);
    elements = bytes < 0 ? bytes : bytes / static_cast<int64_t>(sizeof(float));
  } else {
    elements = dtype == DType::kDouble ? PackedElements<double>(isa, n, k)
                                       : PackedElements<float>(isa, n, k);
  }
  if (elements < 0) return InvalidArgument("a matrix of ", k, " x ", n, " is too large to pack");
  return elements;
}

Status PackGemm(Work& work, DType dtype, const GemmShape& s, const void* b, void* packed) {
  if (s.n == 0 || s.k == 0) return OkStatus();
  const bool tb = s.b != Transpose::kNo;
  if (dtype == DType::kDouble) {
    const Matrix<double> matrix{static_cast<const double*>(b), s.b_stride,
                                &GemmKernelsOf<double>(work.isa())};
    Product<double> p;
    SetB(s, matrix, &p);
    return PackWhole(work, p, static_cast<double*>(packed));
  }
  if (UnitOf(work.isa(), dtype) != Bfloat16Unit::kNone) return PackBfloat16(work, s, b, packed);
  const bool half = dtype != DType::kFloat;
  Scratch<float> wide(work, half ? s.n * s.k : 0);
  if (!wide) return OutOfScratch();
  const GemmKernels<float>& kernels = GemmKernelsOf<float>(work.isa());
  Matrix<float> matrix{static_cast<const float*>(b), s.b_stride, &kernels};
  if (half) {
    const int64_t rows = tb ? s.n : s.k, cols = tb ? s.k : s.n;
    RETURN_IF_ERROR(Widen(work, StorageTypeOf(dtype), b, rows, cols, s.b_stride, wide.get()));
    matrix = {wide.get(), cols, &kernels};
  }
  Product<float> p;
  SetB(s, matrix, &p);
  return PackWhole(work, p, static_cast<float*>(packed));
}

Status PackedGemm(Work& work, DType dtype, const GemmShape& shape, const void* a,
                  const void* packed, void* c, const GemmEpilogue& epilogue) {
  if (shape.m == 0 || shape.n == 0) return OkStatus();
  switch (dtype) {
    case DType::kFloat:
      return FloatGemm<float>(work, shape, a, nullptr, packed, c, epilogue);
    case DType::kDouble:
      return FloatGemm<double>(work, shape, a, nullptr, packed, c, epilogue);
    case DType::kHalf:
    case DType::kBfloat16:
      return HalfGemm(work, dtype, shape, a, nullptr, packed, c, epilogue);
    default:
      return Unimplemented("packed matrix product of elements of type ", dtype);
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
