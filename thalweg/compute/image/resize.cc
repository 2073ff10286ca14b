// SPDX-License-Identifier: Apache-2.0
#include "thalweg/compute/image/resize.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <type_traits>

#if defined(__x86_64__)
#include <emmintrin.h>
#endif

#include "thalweg/compute/arithmetic.h"
#include "thalweg/compute/move/element.h"

namespace thalweg::compute {
namespace {

constexpr int64_t kGrain = 16384;  // elements of a shard

// One dimension: where the pixels of the output lie in the input.
struct Axis {
  int64_t in, out;
  bool align_corners, half_pixel_centers;

  float Scale() const {
    return align_corners && out > 1 ? static_cast<float>(in - 1) / static_cast<float>(out - 1)
                                    : static_cast<float>(in) / static_cast<float>(out);
  }
  // Two neighbors and the weight of the second one.
  struct Between {
    int64_t low, high;
    float weight;
  };
  Between At(int64_t i) const {
    const auto x = static_cast<float>(i);
    const float place = half_pixel_centers ? (x + 0.5f) * Scale() - 0.5f : x * Scale();
    const float low = std::floor(place);
    return {std::max(static_cast<int64_t>(low), int64_t{0}),
            std::min(static_cast<int64_t>(std::ceil(place)), in - 1), place - low};
  }
  int64_t Nearest(int64_t i) const {
    const auto x = static_cast<float>(i);
    const float place = half_pixel_centers ? (x + 0.5f) * Scale() : x * Scale();
    const auto nearest =
        static_cast<int64_t>(align_corners ? std::round(place) : std::floor(place));
    return std::clamp(nearest, int64_t{0}, in - 1);
  }
};

Axis Rows(const ResizeShape& s) {
  return {s.rows, s.out_rows, s.align_corners, s.half_pixel_centers};
}
Axis Columns(const ResizeShape& s) {
  return {s.columns, s.out_columns, s.align_corners, s.half_pixel_centers};
}

// body(image, row) for all rows of all outputs.
template <class Body>
Status ForOutRows(Work& work, const ResizeShape& s, const Body& body) {
  const int64_t width = std::max<int64_t>(1, s.out_columns * s.channels);
  return ForBlocks(work, s.batch * s.out_rows, std::max<int64_t>(1, kGrain / width),
                   [&](int64_t begin, int64_t end) {
                     for (int64_t i = begin; i < end; ++i) body(i / s.out_rows, i % s.out_rows);
                   });
}

// A pixel's value by straight lines. V is what is computed in.
template <class V, class T, class Out>
struct BilinearMix {
  Out operator()(const T& a, const T& b, const T& c, const T& d, float x, float y) const {
    const auto value = [](const T& pixel) { return static_cast<V>(ValueOf(pixel)); };
    const V top = value(a) + (value(b) - value(a)) * static_cast<V>(x);
    const V bottom = value(c) + (value(d) - value(c)) * static_cast<V>(x);
    return Out(top + (bottom - top) * static_cast<V>(y));
  }
};

// What is done of a row of three channels in another way: how many columns.
template <class T, class Out, class Mix>
int64_t MixColumns(const ResizeShape&, const Axis::Between*, float, const T*, const T*, const Mix&,
                   Out*) {
  return 0;
}

#if defined(__x86_64__)
// The three channels of a pixel and a byte that follows it.
inline __m128 PixelAt(const uint8_t* at) {
  int32_t bytes;
  std::memcpy(&bytes, at, sizeof(bytes));
  const __m128i zero = _mm_setzero_si128();
  const __m128i words = _mm_unpacklo_epi8(_mm_cvtsi32_si128(bytes), zero);
  return _mm_cvtepi32_ps(_mm_unpacklo_epi16(words, zero));
}

// The channels at once, by the same operations. What follows a pixel is read and written too, so
// the last columns of both pictures are left.
inline int64_t MixColumns(const ResizeShape& s, const Axis::Between* columns, float y,
                          const uint8_t* above, const uint8_t* below,
                          const BilinearMix<float, uint8_t, float>&, float* to) {
  const auto between = [](__m128 from, __m128 until, __m128 weight) {
    return _mm_add_ps(from, _mm_mul_ps(_mm_sub_ps(until, from), weight));
  };
  const __m128 down = _mm_set1_ps(y);
  int64_t column = 0;
  for (; column + 1 < s.out_columns && columns[column].high + 1 < s.columns; ++column, to += 3) {
    const __m128 across = _mm_set1_ps(columns[column].weight);
    const int64_t left = columns[column].low * 3, right = columns[column].high * 3;
    const __m128 top = between(PixelAt(above + left), PixelAt(above + right), across);
    const __m128 bottom = between(PixelAt(below + left), PixelAt(below + right), across);
    _mm_storeu_ps(to, between(top, bottom, down));
  }
  return column;
}
#endif

// One row of the output between two of the input. kChannels: how many there are, 0: any number.
template <int64_t kChannels, class T, class Out, class Mix>
void MixRow(const ResizeShape& s, const Axis::Between* columns, float y, const T* above,
            const T* below, const Mix& mix, Out* to) {
  const int64_t channels = kChannels > 0 ? kChannels : s.channels;
  int64_t column = kChannels == 3 ? MixColumns(s, columns, y, above, below, mix, to) : 0;
  to += column * channels;
  for (; column < s.out_columns; ++column) {
    const Axis::Between& x = columns[column];
    const int64_t left = x.low * channels, right = x.high * channels;
    for (int64_t c = 0; c < channels; ++c) {
      *to++ =
          mix(above[left + c], above[right + c], below[left + c], below[right + c], x.weight, y);
    }
  }
}

// mix(top left, top right, bottom left, bottom right, x weight, y weight) is a pixel's value.
template <class T, class Out, class Mix>
Status MixFour(Work& work, const ResizeShape& s, const T* input, Out* output, const Mix& mix) {
  const Axis rows = Rows(s), columns = Columns(s);
  const int64_t line = s.columns * s.channels;
  // Places of columns are the same in every row.
  Scratch<Axis::Between> places(work, s.out_columns);
  if (!places) return OutOfScratch();
  for (int64_t column = 0; column < s.out_columns; ++column) places[column] = columns.At(column);
  return ForOutRows(work, s, [&](int64_t image, int64_t row) {
    const Axis::Between y = rows.At(row);
    const T* const above = input + (image * s.rows + y.low) * line;
    const T* const below = input + (image * s.rows + y.high) * line;
    Out* const to = output + (image * s.out_rows + row) * s.out_columns * s.channels;
    if (s.channels == 3) {
      MixRow<3>(s, places.get(), y.weight, above, below, mix, to);
    } else {
      MixRow<0>(s, places.get(), y.weight, above, below, mix, to);
    }
  });
}

template <class V, class T, class Out>
Status Bilinear(Work& work, const ResizeShape& s, const T* input, Out* output) {
  return MixFour(work, s, input, output, BilinearMix<V, T, Out>());
}

uint8_t MixBytes(int a, int b, int c, int d, float x_weight, float y_weight) {
  constexpr int kOne = 1 << 7;
  const int x = static_cast<int>(x_weight * kOne), y = static_cast<int>(y_weight * kOne);
  const int top = a * kOne + (b - a) * x, bottom = c * kOne + (d - c) * x;
  return static_cast<uint8_t>((top + (bottom - top) / kOne * y + kOne / 2) / kOne);
}

int32_t MixWords(double a, double b, double c, double d, float x_weight, float y_weight) {
  const auto x = static_cast<double>(x_weight), y = static_cast<double>(y_weight);
  const double top = a + (b - a) * x, bottom = c + (d - c) * x;
  return static_cast<int32_t>(std::nearbyint(top + (bottom - top) * y));
}

// Images one by one, since pixels of the output share those of the input; V is what is summed in.
template <class V, class T, class Add>
Status Scatter(Work& work, const ResizeShape& s, T* input_grad, const Add& add) {
  const int64_t size = s.rows * s.columns * s.channels;
  return ForShards(work, s.batch, [&](int64_t image) {
    Scratch<V> sums(work, size);
    if (!sums) return false;
    std::fill_n(sums.get(), size, V(0));
    add(image, sums.get());
    for (int64_t i = 0; i < size; ++i) input_grad[image * size + i] = T(sums[i]);
    return true;
  });
}

template <class T>
Status BilinearGrad(Work& work, const ResizeShape& s, const float* output_grad, T* input_grad) {
  using V = Value<T>;
  const Axis rows = Rows(s), columns = Columns(s);
  return Scatter<V>(work, s, input_grad, [&](int64_t image, V* sums) {
    const float* from = output_grad + image * s.out_rows * s.out_columns * s.channels;
    for (int64_t row = 0; row < s.out_rows; ++row) {
      const Axis::Between y = rows.At(row);
      for (int64_t column = 0; column < s.out_columns; ++column) {
        const Axis::Between x = columns.At(column);
        V* const top_left = sums + (y.low * s.columns + x.low) * s.channels;
        V* const top_right = sums + (y.low * s.columns + x.high) * s.channels;
        V* const bottom_left = sums + (y.high * s.columns + x.low) * s.channels;
        V* const bottom_right = sums + (y.high * s.columns + x.high) * s.channels;
        for (int64_t c = 0; c < s.channels; ++c) {
          const float grad = *from++;
          top_left[c] += static_cast<V>(grad * (1 - y.weight) * (1 - x.weight));
          top_right[c] += static_cast<V>(grad * (1 - y.weight) * x.weight);
          bottom_left[c] += static_cast<V>(grad * y.weight * (1 - x.weight));
          bottom_right[c] += static_cast<V>(grad * y.weight * x.weight);
        }
      }
    }
  });
}

template <class E>
Status Nearest(Work& work, const ResizeShape& s, const E* input, E* output) {
  const Axis rows = Rows(s), columns = Columns(s);
  return ForOutRows(work, s, [&](int64_t image, int64_t row) {
    const E* const from = input + (image * s.rows + rows.Nearest(row)) * s.columns * s.channels;
    E* to = output + (image * s.out_rows + row) * s.out_columns * s.channels;
    for (int64_t column = 0; column < s.out_columns; ++column) {
      to = std::copy_n(from + columns.Nearest(column) * s.channels, s.channels, to);
    }
  });
}

// Integers wrap.
template <class T>
auto SumType() {
  if constexpr (std::is_integral_v<T>) {
    return std::conditional_t<sizeof(T) < 8, uint32_t, uint64_t>{};
  } else {
    return Value<T>{};
  }
}

template <class T>
Status NearestGrad(Work& work, const ResizeShape& s, const T* output_grad, T* input_grad) {
  using V = decltype(SumType<T>());
  const Axis rows = Rows(s), columns = Columns(s);
  return Scatter<V>(work, s, input_grad, [&](int64_t image, V* sums) {
    const T* from = output_grad + image * s.out_rows * s.out_columns * s.channels;
    for (int64_t row = 0; row < s.out_rows; ++row) {
      V* const line = sums + rows.Nearest(row) * s.columns * s.channels;
      for (int64_t column = 0; column < s.out_columns; ++column) {
        V* const to = line + columns.Nearest(column) * s.channels;
        for (int64_t c = 0; c < s.channels; ++c) to[c] += static_cast<V>(ValueOf(*from++));
      }
    }
  });
}

}  // namespace

Status ResizeBilinear(Work& work, DType dtype, const ResizeShape& shape, const void* input,
                      float* output) {
  return WithType<RealTypes>(dtype, "bilinear resizing", [&]<class T>() {
    return Bilinear<float>(work, shape, static_cast<const T*>(input), output);
  });
}

Status ResizeBilinearSameType(Work& work, DType dtype, const ResizeShape& shape, const void* input,
                              void* output) {
  return WithType<FloatTypes>(dtype, "bilinear resizing", [&]<class T>() {
    return Bilinear<Value<T>>(work, shape, static_cast<const T*>(input), static_cast<T*>(output));
  });
}

Status ResizeBilinearLevels(Work& work, DType dtype, const ResizeShape& shape, const void* input,
                            void* output) {
  if (dtype == DType::kQuint8) {
    return MixFour(work, shape, static_cast<const uint8_t*>(input), static_cast<uint8_t*>(output),
                   MixBytes);
  }
  return MixFour(work, shape, static_cast<const int32_t*>(input), static_cast<int32_t*>(output),
                 MixWords);
}

Status ResizeBilinearGrad(Work& work, DType dtype, const ResizeShape& shape,
                          const float* output_grad, void* input_grad) {
  return WithType<FloatTypes>(dtype, "the gradient of bilinear resizing", [&]<class T>() {
    return BilinearGrad(work, shape, output_grad, static_cast<T*>(input_grad));
  });
}

Status ResizeNearest(Work& work, DType dtype, const ResizeShape& shape, const void* input,
                     void* output) {
  return WithElement(dtype, [&]<class E>() {
    return Nearest(work, shape, static_cast<const E*>(input), static_cast<E*>(output));
  });
}

Status ResizeNearestGrad(Work& work, DType dtype, const ResizeShape& shape, const void* output_grad,
                         void* input_grad) {
  return WithType<RealTypes>(dtype, "the gradient of resizing", [&]<class T>() {
    return NearestGrad(work, shape, static_cast<const T*>(output_grad),
                       static_cast<T*>(input_grad));
  });
}

}  // namespace thalweg::compute
