// SPDX-License-Identifier: Apache-2.0
#include "thalweg/compute/conv/conv2d_float.h"

#include <algorithm>

#include "thalweg/compute/conv/gather.h"
#include "thalweg/compute/gemm/pack.h"
#include "thalweg/compute/gemm/product.h"
#include "thalweg/compute/inline_work.h"

namespace thalweg::compute {
namespace {

template <class T>
void FillImageRows(const void* context, int64_t row, int64_t rows, int64_t k0, int64_t depth,
                   T* tile) {
  static_cast<const ImageRows<T>*>(context)->Copy(row, rows, k0, depth, tile, kGemmTileStride);
}

// The same matrix transposed: the pixels are the depth.
template <class T>
void FillImageColumns(const void* context, int64_t row, int64_t rows, int64_t k0, int64_t depth,
                      T* tile) {
  static_cast<const ImageRows<T>*>(context)->Copy(k0, depth, row, rows, tile, rows);
}

bool IsPointwise(const Conv2DShape& s) {
  return s.Taps() == 1 && s.rows.stride == 1 && s.columns.stride == 1 &&
         s.rows.output == s.rows.input && s.columns.output == s.columns.input &&
         s.rows.pad_before == 0 && s.columns.pad_before == 0;
}

// The input pixels of one residue modulo the strides. All of them see the output through the same
// taps, so that a strided gradient is a few dense ones.
template <class T>
struct Phase {
  struct Tap {
    int64_t index;        // in the filter
    int64_t row, column;  // pixel (i, j) of the phase sees output place (i + row, j + column)
  };
  const Conv2DShape& shape;
  const T* filter;
  const T* output_grad;
  int64_t rows, columns;  // pixels per image
  Tap* taps;
  int64_t tap_count;
  const GemmKernels<T>* kernels;

  void FillRow(int64_t pixel, int64_t k0, int64_t depth, T* to) const {
    const int64_t per_image = rows * columns;
    const int64_t i = pixel % per_image / columns, j = pixel % columns;
    const int64_t channels = shape.out_channels;
    const T* image = output_grad + pixel / per_image * shape.OutPixels() * channels;
    const int64_t end = k0 + depth;
    while (k0 < end) {
      const Tap& tap = taps[k0 / channels];
      const int64_t offset = k0 % channels;
      const int64_t n = std::min(channels - offset, end - k0);
      const int64_t row = i + tap.row, column = j + tap.column;
      const bool inside =
          row >= 0 && row < shape.rows.output && column >= 0 && column < shape.columns.output;
      CopyOrZero(
          inside ? image + (row * shape.columns.output + column) * channels + offset : nullptr, n,
          to);
      to += n;
      k0 += n;
    }
  }
};

template <class T>
void FillPhaseRows(const void* context, int64_t row, int64_t rows, int64_t k0, int64_t depth,
                   T* tile) {
  const auto& phase = *static_cast<const Phase<T>*>(context);
  for (int64_t r = 0; r < rows; ++r) phase.FillRow(row + r, k0, depth, tile + r * kGemmTileStride);
}

// Each tap of the filter, [in, out], transposed.
template <class T>
void PackPhaseFilter(const void* context, int64_t k0, int64_t depth, int64_t col, int64_t cols,
                     int64_t width, T* panel) {
  const auto& phase = *static_cast<const Phase<T>*>(context);
  const int64_t in = phase.shape.in_channels, out = phase.shape.out_channels;
  const int64_t end = k0 + depth;
  while (k0 < end) {
    const int64_t offset = k0 % out;
    const int64_t n = std::min(out - offset, end - k0);
    const Matrix<T> tap{phase.filter + phase.taps[k0 / out].index * in * out, out, phase.kernels};
    PackTransposed<T>(&tap, offset, n, col, cols, width, panel);
    panel += n * width;
    k0 += n;
  }
}

int64_t CountFrom(int64_t first, int64_t size, int64_t step) {
  return (size - first + step - 1) / step;
}

// Copies the phase's dense result to its places.
template <class T>
Status Scatter(Work& work, const Phase<T>& phase, int64_t row0, int64_t column0, const T* from,
               T* input_grad) {
  const Conv2DShape& s = phase.shape;
  const int64_t in = s.in_channels;
  const int64_t grain = std::max<int64_t>(1, 16384 / (phase.columns * in));
  return ForBlocks(work, s.batch * phase.rows, grain, [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      const int64_t row = r / phase.rows * s.rows.input + row0 + r % phase.rows * s.rows.stride;
      T* to = input_grad + (row * s.columns.input + column0) * in;
      for (int64_t j = 0; j < phase.columns; ++j) {
        CopyOrZero(from + (r * phase.columns + j) * in, in, to + j * s.columns.stride * in);
      }
    }
  });
}

template <class T>
Status RunPhase(Work& work, const Phase<T>& phase, int64_t row0, int64_t column0, T* input_grad) {
  const Conv2DShape& s = phase.shape;
  const bool dense = s.rows.stride == 1 && s.columns.stride == 1;
  const int64_t pixels = s.batch * phase.rows * phase.columns;
  Scratch<T> scattered(work, dense ? 0 : pixels * s.in_channels);
  if (!scattered) return OutOfScratch();
  T* result = dense ? input_grad : scattered.get();
  if (phase.tap_count == 0) {
    std::fill_n(result, pixels * s.in_channels, T(0));
  } else {
    Product<T> p;
    p.m = pixels;
    p.n = s.in_channels;
    p.k = phase.tap_count * s.out_channels;
    p.fill_a = FillPhaseRows<T>;
    p.a_context = &phase;
    p.pack_b = PackPhaseFilter<T>;
    p.b_context = &phase;
    p.c = result;
    p.c_stride = s.in_channels;
    RETURN_IF_ERROR(RunProduct(work, p));
  }
  return dense ? OkStatus() : Scatter(work, phase, row0, column0, result, input_grad);
}

}  // namespace

template <class T>
Status ConvForward(Work& work, const Conv2DShape& s, const T* input, const T* filter, T* output,
                   const GemmEpilogue& given, const T* packed) {
  const int64_t m = s.batch * s.OutPixels(), k = s.Taps() * s.in_channels;
  // A residual that is the output would be added before the products, and round otherwise.
  const auto* residual = static_cast<const T*>(given.residual);
  Scratch<T> apart(work, residual == output ? m * s.out_channels : 0);
  if (!apart) return OutOfScratch();
  if (residual == output) {
    std::copy_n(output, m * s.out_channels, apart.get());
    residual = apart.get();
  }
  const GemmEpilogue epilogue{given.bias, residual, given.relu};
  if (IsPointwise(s) || k == 0) {
    const GemmShape shape = GemmShape::Dense(m, s.out_channels, k);
    if (packed != nullptr) {
      return PackedGemm(work, kDTypeOf<T>, shape, input, packed, output, epilogue);
    }
    return Gemm(work, kDTypeOf<T>, shape, input, filter, output, epilogue);
  }
  const ImageRows<T> image{input, s.rows, s.columns, s.in_channels};
  const Matrix<T> b{filter, s.out_channels, &GemmKernelsOf<T>(work.isa())};
  Product<T> p;
  p.m = m;
  p.n = s.out_channels;
  p.k = k;
  p.fill_a = FillImageRows<T>;
  p.a_context = &image;
  p.pack_b = PackRows<T>;
  p.b_context = &b;
  p.b_direct = packed == nullptr ? filter : nullptr;
  p.b_direct_stride = s.out_channels;
  p.b_packed = packed;
  p.c = output;
  p.c_stride = s.out_channels;
  p.bias = static_cast<const T*>(epilogue.bias);
  p.residual = static_cast<const T*>(epilogue.residual);
  p.relu = epilogue.relu;
  return RunProduct(work, p);
}

template <class T>
Status ConvBackwardInput(Work& work, const Conv2DShape& s, const T* filter, const T* output_grad,
                         T* input_grad) {
  if (IsPointwise(s)) {
    const GemmShape shape = GemmShape::Dense(s.batch * s.InPixels(), s.in_channels, s.out_channels,
                                             Transpose::kNo, Transpose::kYes);
    return Gemm(work, kDTypeOf<T>, shape, output_grad, filter, input_grad);
  }
  Scratch<typename Phase<T>::Tap> taps(work, s.Taps());
  if (!taps) return OutOfScratch();
  const int64_t row_phases = std::min(s.rows.stride, s.rows.input);
  const int64_t column_phases = std::min(s.columns.stride, s.columns.input);
  for (int64_t row0 = 0; row0 < row_phases; ++row0) {
    for (int64_t column0 = 0; column0 < column_phases; ++column0) {
      Phase<T> phase{s,
                     filter,
                     output_grad,
                     CountFrom(row0, s.rows.input, s.rows.stride),
                     CountFrom(column0, s.columns.input, s.columns.stride),
                     taps.get(),
                     0,
                     &GemmKernelsOf<T>(work.isa())};
      for (int64_t tap = 0; tap < s.Taps(); ++tap) {
        const int64_t row = row0 + s.rows.pad_before - tap / s.columns.size * s.rows.dilation;
        const int64_t column =
            column0 + s.columns.pad_before - tap % s.columns.size * s.columns.dilation;
        if (row % s.rows.stride != 0 || column % s.columns.stride != 0) continue;
        taps[phase.tap_count++] = {tap, row / s.rows.stride, column / s.columns.stride};
      }
      RETURN_IF_ERROR(RunPhase(work, phase, row0, column0, input_grad));
    }
  }
  return OkStatus();
}

template <class T>
Status ConvBackwardFilter(Work& work, const Conv2DShape& s, const T* input, const T* output_grad,
                          T* filter_grad) {
  const int64_t m = s.Taps() * s.in_channels, n = s.out_channels;
  // A small filter over many pixels: images in up to four groups, partial sums added in order.
  const int64_t groups = m * n >= 1024 * 512 ? 1 : std::min<int64_t>(s.batch, 4);
  Scratch<T> partial(work, (groups - 1) * m * n);
  if (!partial) return OutOfScratch();
  const auto run = [&](Work& inner, int64_t group) {
    const int64_t first = s.batch * group / groups;
    const int64_t images = s.batch * (group + 1) / groups - first;
    const ImageRows<T> image{input + first * s.InPixels() * s.in_channels, s.rows, s.columns,
                             s.in_channels};
    const Matrix<T> b{output_grad + first * s.OutPixels() * n, n, &GemmKernelsOf<T>(work.isa())};
    Product<T> p;
    p.m = m;
    p.n = n;
    p.k = images * s.OutPixels();
    p.fill_a = FillImageColumns<T>;
    p.a_context = &image;
    p.a_k_major = true;
    p.pack_b = PackRows<T>;
    p.b_context = &b;

    p.c = group == 0 ? filter_grad : partial.get() + (group - 1) * m * n;
    p.c_stride = n;
    return RunProduct(inner, p);
  };
  if (groups == 1) return run(work, 0);
  RETURN_IF_ERROR(ForShards(work, groups, [&](int64_t group) {
    InlineWork inner(work);
    return run(inner, group).ok();
  }));
  for (int64_t group = 1; group < groups; ++group) {
    const T* part = partial.get() + (group - 1) * m * n;
    for (int64_t i = 0; i < m * n; ++i) filter_grad[i] += part[i];
  }
  return OkStatus();
}

#define THALWEG_INSTANTIATE(T)                                                             \
  template Status ConvForward<T>(Work&, const Conv2DShape&, const T*, const T*, T*,        \
                                 const GemmEpilogue&, const T*);                           \
  template Status ConvBackwardInput<T>(Work&, const Conv2DShape&, const T*, const T*, T*); \
  template Status ConvBackwardFilter<T>(Work&, const Conv2DShape&, const T*, const T*, T*);
THALWEG_INSTANTIATE(float)
THALWEG_INSTANTIATE(double)
#undef THALWEG_INSTANTIATE

}  // namespace thalweg::compute
