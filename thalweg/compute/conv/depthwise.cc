// SPDX-License-Identifier: Apache-2.0
#include "thalweg/compute/conv/depthwise.h"

#include <algorithm>

#include "thalweg/compute/arithmetic.h"
#include "thalweg/compute/isa/leaf.h"

namespace thalweg::compute {
namespace {

constexpr int64_t kGrain = 32768;  // products of a shard
constexpr int64_t kMostGroups = 4;

int64_t PixelGrain(const DepthwiseShape& s) {
  return std::max<int64_t>(1, kGrain / std::max<int64_t>(1, s.Taps() * s.out_channels()));
}

constexpr int64_t kMostTaps = 49;  // that are summed in registers

// The operands of one sum of products: pairs of rows of channels.
template <class T>
struct TapRows {
  const T* first[kMostTaps];
  const T* second[kMostTaps];
  int64_t count = 0;
};
template <class T>
struct ByTap {
  const TapRows<T>* rows;
  const T* a(int64_t t) const { return rows->first[t]; }
  const T* b(int64_t t) const { return rows->second[t]; }
};
template <class T>
struct ByStride {
  const T *first, *second;
  int64_t first_step, second_step;
  const T* a(int64_t t) const { return first + t * first_step; }
  const T* b(int64_t t) const { return second + t * second_step; }
};

// y[i] = the sum over t of a(t)[i] * b(t)[i], in order, a block of channels in registers.
template <class T, class Operands>
struct SumProducts {
  [[gnu::always_inline]] static void Run(Operands o, int64_t count, int64_t n, T* __restrict y) {
    typedef T Vector __attribute__((vector_size(32), aligned(alignof(T)), may_alias));
    constexpr auto kLanes = static_cast<int64_t>(32 / sizeof(T));
    int64_t c = 0;
    for (; c + 4 * kLanes <= n; c += 4 * kLanes) {
      Vector s0{}, s1{}, s2{}, s3{};
      for (int64_t t = 0; t < count; ++t) {
        const auto* a = reinterpret_cast<const Vector*>(o.a(t) + c);
        const auto* b = reinterpret_cast<const Vector*>(o.b(t) + c);
        s0 += a[0] * b[0];
        s1 += a[1] * b[1];
        s2 += a[2] * b[2];
        s3 += a[3] * b[3];
      }
      auto* to = reinterpret_cast<Vector*>(y + c);
      to[0] = s0;
      to[1] = s1;
      to[2] = s2;
      to[3] = s3;
    }
    for (; c < n; ++c) {
      T sum = 0;
      for (int64_t t = 0; t < count; ++t) sum += o.a(t)[c] * o.b(t)[c];
      y[c] = sum;
    }
  }
};

// One product for each channel and tap, in a type with vectors.
template <class T>
bool IsPlain(const DepthwiseShape& s) {
  return !kIsHalf<T> && s.multiplier == 1 && s.Taps() <= kMostTaps;
}

template <class T>
void SumTaps(const IsaTable& isa, const TapRows<T>& rows, int64_t n, T* y) {
  RunLeaf<SumProducts<T, ByTap<T>>>(isa, ByTap<T>{&rows}, rows.count, n, y);
}

// sum[i] += x[i] * f[i].
template <class T>
struct MultiplyInto {
  [[gnu::always_inline]] static void Run(const T* __restrict x, const T* __restrict f, int64_t n,
                                         Value<T>* __restrict sum) {
    for (int64_t i = 0; i < n; ++i) sum[i] += ValueOf(x[i]) * ValueOf(f[i]);
  }
};

// sum[c * multiplier + m] += x[c] * f[c * multiplier + m].
template <class T>
void MultiplyAdd(const IsaTable& isa, const DepthwiseShape& s, const T* x, const T* f,
                 Value<T>* sum) {
  if (s.multiplier == 1) {
    RunLeaf<MultiplyInto<T>>(isa, x, f, s.in_channels, sum);
    return;
  }
  for (int64_t c = 0; c < s.in_channels; ++c) {
    const Value<T> value = ValueOf(x[c]);
    for (int64_t i = c * s.multiplier; i < (c + 1) * s.multiplier; ++i) {
      sum[i] += value * ValueOf(f[i]);
    }
  }
}

template <class T>
Status Forward(Work& work, const DepthwiseShape& s, const T* x, const T* f, T* y) {
  const int64_t out = s.out_channels(), pixels = s.batch * s.OutPixels(), grain = PixelGrain(s);
  return ForShards(work, (pixels + grain - 1) / grain, [&](int64_t shard) {
    Scratch<Value<T>> sum(work, out);
    if (!sum) return false;
    for (int64_t p = shard * grain; p < std::min(pixels, (shard + 1) * grain); ++p) {
      const int64_t place = p % s.OutPixels();
      const int64_t row0 = place / s.columns.output * s.rows.stride - s.rows.pad_before;
      const int64_t column0 = place % s.columns.output * s.columns.stride - s.columns.pad_before;
      TapRows<T> rows;
      const bool plain = IsPlain<T>(s);
      std::fill_n(sum.get(), out, Value<T>(0));
      for (int64_t tap = 0; tap < s.Taps(); ++tap) {
        const int64_t row = row0 + tap / s.columns.size * s.rows.dilation;
        const int64_t column = column0 + tap % s.columns.size * s.columns.dilation;
        if (row < 0 || row >= s.rows.input || column < 0 || column >= s.columns.input) continue;
        const int64_t pixel = p / s.OutPixels() * s.InPixels() + row * s.columns.input + column;
        const T *from = x + pixel * s.in_channels, *filter = f + tap * out;
        if (plain) {
          rows.first[rows.count] = from;
          rows.second[rows.count++] = filter;
        } else {
          MultiplyAdd(work.isa(), s, from, filter, sum.get());
        }
      }
      if constexpr (!kIsHalf<T>) {
        if (plain) {
          SumTaps(work.isa(), rows, out, y + p * out);
          continue;
        }
      }
      for (int64_t c = 0; c < out; ++c) y[p * out + c] = T(sum[c]);
    }
    return true;
  });
}

// sum[c] += the filters of channel c times their outputs' gradients.
template <class T>
void MultiplyBack(const IsaTable& isa, const DepthwiseShape& s, const T* dy, const T* f,
                  Value<T>* sum) {
  if (s.multiplier == 1) {
    RunLeaf<MultiplyInto<T>>(isa, dy, f, s.in_channels, sum);
    return;
  }
  for (int64_t c = 0; c < s.in_channels; ++c) {
    Value<T> own = 0;
    for (int64_t i = c * s.multiplier; i < (c + 1) * s.multiplier; ++i)
      own += ValueOf(dy[i]) * ValueOf(f[i]);
    sum[c] += own;
  }
}

// The output place that sees input place `in` through tap `tap`; -1 for none.
int64_t Seer(const Window& w, int64_t in, int64_t tap) {
  const int64_t at = in + w.pad_before - tap * w.dilation;
  if (at < 0 || at % w.stride != 0 || at / w.stride >= w.output) return -1;
  return at / w.stride;
}

template <class T>
Status BackwardInput(Work& work, const DepthwiseShape& s, const T* f, const T* dy, T* dx) {
  const int64_t in = s.in_channels, out = s.out_channels();
  const int64_t pixels = s.batch * s.InPixels(), grain = PixelGrain(s);
  return ForShards(work, (pixels + grain - 1) / grain, [&](int64_t shard) {
    Scratch<Value<T>> sum(work, in);
    if (!sum) return false;
    for (int64_t p = shard * grain; p < std::min(pixels, (shard + 1) * grain); ++p) {
      const int64_t place = p % s.InPixels();
      TapRows<T> rows;
      const bool plain = IsPlain<T>(s);
      std::fill_n(sum.get(), in, Value<T>(0));
      for (int64_t tap = 0; tap < s.Taps(); ++tap) {
        const int64_t row = Seer(s.rows, place / s.columns.input, tap / s.columns.size);
        const int64_t column = Seer(s.columns, place % s.columns.input, tap % s.columns.size);
        if (row < 0 || column < 0) continue;
        const int64_t pixel = p / s.InPixels() * s.OutPixels() + row * s.columns.output + column;
        if (plain) {
          rows.first[rows.count] = dy + pixel * out;
          rows.second[rows.count++] = f + tap * out;
        } else {
          MultiplyBack(work.isa(), s, dy + pixel * out, f + tap * out, sum.get());
        }
      }
      if constexpr (!kIsHalf<T>) {
        if (plain) {
          SumTaps(work.isa(), rows, in, dx + p * in);
          continue;
        }
      }
      for (int64_t c = 0; c < in; ++c) dx[p * in + c] = T(sum[c]);
    }
    return true;
  });
}

// One tap over images [begin, end): a sum for each row in `row_sum`, added up in double.
template <class T>
void SumTap(const IsaTable& isa, const DepthwiseShape& s, int64_t tap, int64_t begin, int64_t end,
            const T* x, const T* dy, Value<T>* row_sum, double* total) {
  const int64_t in = s.in_channels, out = s.out_channels();
  for (int64_t r = begin * s.rows.output; r < end * s.rows.output; ++r) {
    const int64_t row = r % s.rows.output * s.rows.stride - s.rows.pad_before +
                        tap / s.columns.size * s.rows.dilation;
    if (row < 0 || row >= s.rows.input) continue;
    const int64_t first = tap % s.columns.size * s.columns.dilation - s.columns.pad_before;
    std::fill_n(row_sum, out, Value<T>(0));
    if constexpr (!kIsHalf<T>) {
      if (s.multiplier == 1) {
        // Outputs [o, o_end) see a column inside.
        const int64_t stride = s.columns.stride;
        const int64_t o = first >= 0 ? 0 : (-first + stride - 1) / stride;
        const int64_t inside = s.columns.input - first;
        const int64_t o_end =
            inside <= 0 ? 0 : std::min(s.columns.output, (inside + stride - 1) / stride);
        if (o >= o_end) continue;
        const int64_t pixel =
            (r / s.rows.output * s.rows.input + row) * s.columns.input + o * stride + first;
        const ByStride<T> operands{x + pixel * in, dy + (r * s.columns.output + o) * out,
                                   stride * in, out};
        RunLeaf<SumProducts<T, ByStride<T>>>(isa, operands, o_end - o, out, row_sum);
        for (int64_t c = 0; c < out; ++c) total[c] += static_cast<double>(row_sum[c]);
        continue;
      }
    }
    for (int64_t o = 0; o < s.columns.output; ++o) {
      const int64_t column =
          o * s.columns.stride - s.columns.pad_before + tap % s.columns.size * s.columns.dilation;
      if (column < 0 || column >= s.columns.input) continue;
      const int64_t pixel = (r / s.rows.output * s.rows.input + row) * s.columns.input + column;
      MultiplyAdd(isa, s, x + pixel * in, dy + (r * s.columns.output + o) * out, row_sum);
    }
    for (int64_t c = 0; c < out; ++c) total[c] += static_cast<double>(row_sum[c]);
  }
}

template <class T>
Status BackwardFilter(Work& work, const DepthwiseShape& s, const T* x, const T* dy, T* df) {
  const int64_t out = s.out_channels(), taps = s.Taps();
  const int64_t groups = std::clamp<int64_t>(s.batch, 1, kMostGroups);
  Scratch<double> totals(work, groups * taps * out);
  if (!totals) return OutOfScratch();
  RETURN_IF_ERROR(ForShards(work, groups * taps, [&](int64_t shard) {
    const int64_t group = shard / taps;
    double* total = totals.get() + shard * out;
    std::fill_n(total, out, 0.0);
    Scratch<Value<T>> row_sum(work, out);
    if (!row_sum) return false;
    SumTap(work.isa(), s, shard % taps, s.batch * group / groups, s.batch * (group + 1) / groups, x,
           dy, row_sum.get(), total);
    return true;
  }));
  for (int64_t i = 0; i < taps * out; ++i) {
    double sum = 0;
    for (int64_t group = 0; group < groups; ++group) sum += totals[group * taps * out + i];
    df[i] = ElementOf<T>(sum);
  }
  return OkStatus();
}

}  // namespace

Status Depthwise(Work& work, DType dtype, const DepthwiseShape& shape, const void* input,
                 const void* filter, void* output) {
  if (shape.out_channels() == 0) return OkStatus();
  return WithType<FloatTypes>(dtype, "depthwise convolution", [&]<class T>() {
    return Forward(work, shape, static_cast<const T*>(input), static_cast<const T*>(filter),
                   static_cast<T*>(output));
  });
}

Status DepthwiseBackwardInput(Work& work, DType dtype, const DepthwiseShape& shape,
                              const void* filter, const void* output_grad, void* input_grad) {
  if (shape.in_channels == 0) return OkStatus();
  return WithType<FloatTypes>(dtype, "depthwise convolution", [&]<class T>() {
    if (shape.multiplier == 0) {
      std::fill_n(static_cast<T*>(input_grad), shape.batch * shape.InPixels() * shape.in_channels,
                  T(0));
      return OkStatus();
    }
    return BackwardInput(work, shape, static_cast<const T*>(filter),
                         static_cast<const T*>(output_grad), static_cast<T*>(input_grad));
  });
}

Status DepthwiseBackwardFilter(Work& work, DType dtype, const DepthwiseShape& shape,
                               const void* input, const void* output_grad, void* filter_grad) {
  if (shape.out_channels() == 0) return OkStatus();
  return WithType<FloatTypes>(dtype, "depthwise convolution", [&]<class T>() {
    return BackwardFilter(work, shape, static_cast<const T*>(input),
                          static_cast<const T*>(output_grad), static_cast<T*>(filter_grad));
  });
}

}  // namespace thalweg::compute
