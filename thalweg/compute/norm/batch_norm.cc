// SPDX-License-Identifier: Apache-2.0
#include "thalweg/compute/norm/batch_norm.h"

#include <algorithm>

#include "thalweg/compute/isa/leaf.h"

namespace thalweg::compute {
namespace {

constexpr int64_t kGrain = 65536;  // elements of a shard
constexpr int64_t kRows = 64;      // that are summed in float, while they are in cache
constexpr int64_t kRun = 1024;     // elements of one channel in a row that are summed in float
constexpr int kLanes = 16;

// Calls f.template operator()<T>() for the element type.
template <class F>
Status ForFloat(DType dtype, F&& f) {
  switch (dtype) {
    case DType::kFloat:
      return f.template operator()<float>();
    case DType::kHalf:
      return f.template operator()<Half>();
    case DType::kBfloat16:
      return f.template operator()<Bfloat16>();
    default:
      return Unimplemented("batch normalization of elements of type ", dtype);
  }
}

template <class T>
float Load(T value) {
  return static_cast<float>(value);
}

// Outer indices of a shard: about kGrain elements, whatever the number of threads.
int64_t OuterGrain(const ChannelShape& s) {
  return std::max<int64_t>(1, kGrain / std::max<int64_t>(1, s.channels * s.inner));
}

// Two operands read at once are more than processors fetch early enough by themselves.
template <class T>
[[gnu::always_inline]] inline void FetchAhead(const T* row, int64_t channels) {
  constexpr int64_t kLine = 64 / sizeof(T), kAhead = 1024 / sizeof(T);
  for (int64_t c = 0; c < channels; c += kLine) __builtin_prefetch(row + c + kAhead);
}

// The sum of f(i) for i below n, in lanes.
template <class F>
float SumLanes(int64_t n, const F& f) {
  float lanes[kLanes] = {};
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (int l = 0; l < kLanes; ++l) lanes[l] += f(i + l);
  }
  for (int l = 0; i < n; ++i, ++l) lanes[l] += f(i);
  for (int width = kLanes / 2; width > 0; width /= 2) {
    for (int l = 0; l < width; ++l) lanes[l] += lanes[l + width];
  }
  return lanes[0];
}

// Count, mean and sum of squared distances from it; of two sets together.
struct Moments {
  double count = 0, mean = 0, squares = 0;
  void Merge(double other_count, double other_mean, double other_squares) {
    if (other_count == 0) return;
    const double delta = other_mean - mean, all = count + other_count;
    mean += delta * (other_count / all);
    squares += other_squares + delta * delta * (count * other_count / all);
    count = all;
  }
};

// Calls add(row, how many) for all rows in order: four at a time, so that sums are loaded and
// stored less often.
template <class T, class Add>
[[gnu::always_inline]] inline void ForRows(const T* x, int64_t rows, int64_t channels,
                                           const Add& add) {
  int64_t r = 0;
  for (; r + 4 <= rows; r += 4) add(x + r * channels, 4);
  for (; r < rows; ++r) add(x + r * channels, 1);
}

template <class T>
struct SumRows {
  [[gnu::always_inline]] static void Run(const T* __restrict x, int64_t rows, int64_t channels,
                                         float* __restrict sum) {
    ForRows(
        x, rows, channels, [&](const T* from, int64_t some) __attribute__((always_inline)) {
          for (int64_t c = 0; c < channels; ++c) {
            float total = sum[c];
#pragma GCC unroll 4
            for (int64_t r = 0; r < some; ++r) total += Load(from[r * channels + c]);
            sum[c] = total;
          }
        });
  }
};

template <class T>
struct SumSquares {
  [[gnu::always_inline]] static void Run(const T* __restrict x, int64_t rows, int64_t channels,
                                         const float* __restrict mean, float* __restrict squares) {
    ForRows(
        x, rows, channels, [&](const T* from, int64_t some) __attribute__((always_inline)) {
          for (int64_t c = 0; c < channels; ++c) {
            float total = squares[c];
#pragma GCC unroll 4
            for (int64_t r = 0; r < some; ++r) {
              const float centered = Load(from[r * channels + c]) - mean[c];
              total += centered * centered;
            }
            squares[c] = total;
          }
        });
  }
};

// Mean and squared distances of a piece are merged with those of what came before it, which has
// one count for all channels, so that the weights are computed once.
struct MergePiece {
  [[gnu::always_inline]] static void Run(const float* __restrict mean,
                                         const float* __restrict squares, int64_t channels,
                                         double before, double piece, double* __restrict means,
                                         double* __restrict distances) {
    const double weight = piece / (before + piece), spread = before * weight;
    for (int64_t c = 0; c < channels; ++c) {
      const double delta = mean[c] - means[c];
      means[c] += delta * weight;
      distances[c] += squares[c] + delta * delta * spread;
    }
  }
};

// Rows of all channels: one pass over memory, two over each piece while it is in cache.
template <class T>
void AddRows(const IsaTable& isa, const T* x, int64_t rows, int64_t channels, float* mean,
             float* squares, double* means, double* distances) {
  for (int64_t row = 0; row < rows; row += kRows) {
    const int64_t n = std::min(kRows, rows - row);
    const T* block = x + row * channels;
    std::fill_n(mean, channels, 0.0f);
    std::fill_n(squares, channels, 0.0f);
    RunWideLeaf<SumRows<T>>(isa, block, n, channels, mean);
    for (int64_t c = 0; c < channels; ++c) mean[c] /= static_cast<float>(n);
    RunWideLeaf<SumSquares<T>>(isa, block, n, channels, mean, squares);
    RunWideLeaf<MergePiece>(isa, mean, squares, channels, static_cast<double>(row),
                            static_cast<double>(n), means, distances);
  }
}

// One channel's elements in a row.
template <class T>
void AddRun(const T* x, int64_t size, Moments& moments) {
  for (int64_t begin = 0; begin < size; begin += kRun) {
    const int64_t n = std::min(kRun, size - begin);
    const T* from = x + begin;
    const float mean =
        SumLanes(n, [&](int64_t i) { return Load(from[i]); }) / static_cast<float>(n);
    const float squares = SumLanes(n, [&](int64_t i) {
      const float centered = Load(from[i]) - mean;
      return centered * centered;
    });
    moments.Merge(static_cast<double>(n), mean, squares);
  }
}

// Calls of Leaf::Run(first element, rows, channels, first channel, arguments): many rows of all
// channels, or one channel's run as rows of one.
template <class Leaf, class... Args>
Status ForElements(Work& work, const ChannelShape& s, Args... args) {
  return ForBlocks(work, s.outer, OuterGrain(s), [&](int64_t o, int64_t end) {
    if (s.inner == 1) {
      RunWideLeaf<Leaf>(work.isa(), o * s.channels, end - o, s.channels, int64_t{0}, args...);
      return;
    }
    for (; o < end; ++o) {
      for (int64_t c = 0; c < s.channels; ++c) {
        RunWideLeaf<Leaf>(work.isa(), (o * s.channels + c) * s.inner, s.inner, int64_t{1}, c,
                          args...);
      }
    }
  });
}

// The gradient at an element, behind a relu if there is one.
template <bool kRelu>
[[gnu::always_inline]] inline float Passed(float dy, float x, float factor, float term) {
  if constexpr (kRelu) return dy * (x * factor + term > 0 ? 1.0f : 0.0f);
  return dy;
}

template <class T, bool kRelu>
struct SumGradRows {
  [[gnu::always_inline]] static void Run(const T* __restrict dy, const T* __restrict x,
                                         int64_t rows, int64_t channels,
                                         const float* __restrict mean, ScaledRelu relu,
                                         float* __restrict sum, float* __restrict dot) {
    const float* factor = kRelu ? relu.factor : mean;
    const float* term = kRelu ? relu.term : mean;
    for (int64_t r = 0; r < rows; ++r) {
      FetchAhead(x + r * channels, channels);
      FetchAhead(dy + r * channels, channels);
      for (int64_t c = 0; c < channels; ++c) {
        const float v = Load(x[r * channels + c]);
        const float g = Passed<kRelu>(Load(dy[r * channels + c]), v, factor[c], term[c]);
        sum[c] += g;
        dot[c] += g * (v - mean[c]);
      }
    }
  }
};

// Sums of dy and of dy * (x - mean), for rows of all channels.
template <class T>
void AddGradRows(const IsaTable& isa, const T* dy, const T* x, int64_t rows, int64_t channels,
                 const float* mean, const ScaledRelu& relu, float* part, double* total) {
  for (int64_t row = 0; row < rows; row += kRows) {
    const int64_t at = row * channels, n = std::min(kRows, rows - row);
    std::fill_n(part, 2 * channels, 0.0f);
    if (relu.factor != nullptr) {
      RunWideLeaf<SumGradRows<T, true>>(isa, dy + at, x + at, n, channels, mean, relu, part,
                                        part + channels);
    } else {
      RunWideLeaf<SumGradRows<T, false>>(isa, dy + at, x + at, n, channels, mean, relu, part,
                                         part + channels);
    }
    for (int64_t i = 0; i < 2 * channels; ++i) total[i] += static_cast<double>(part[i]);
  }
}

template <class T>
void AddGradRun(const T* dy, const T* x, int64_t size, float mean, double* sum, double* dot) {
  for (int64_t begin = 0; begin < size; begin += kRun) {
    const int64_t n = std::min(kRun, size - begin);
    const T *g = dy + begin, *v = x + begin;
    *sum += SumLanes(n, [&](int64_t i) { return Load(g[i]); });
    *dot += SumLanes(n, [&](int64_t i) { return Load(g[i]) * (Load(v[i]) - mean); });
  }
}

template <class T>
void AddReluGradRun(const T* dy, const T* x, int64_t size, float mean, float factor, float term,
                    double* sum, double* dot) {
  for (int64_t begin = 0; begin < size; begin += kRun) {
    const T *g = dy + begin, *v = x + begin;
    const auto passed = [&](int64_t i) {
      return Passed<true>(Load(g[i]), Load(v[i]), factor, term);
    };
    const int64_t n = std::min(kRun, size - begin);
    *sum += SumLanes(n, passed);
    *dot += SumLanes(n, [&](int64_t i) { return passed(i) * (Load(v[i]) - mean); });
  }
}

template <class T>
Status MomentsAs(Work& work, const ChannelShape& s, const T* x, double* mean, double* variance) {
  const int64_t grain = OuterGrain(s), blocks = (s.outer + grain - 1) / grain;
  const int64_t width = 2 * s.channels;  // means, then squared distances
  Scratch<double> partial(work, blocks * width);
  if (!partial) return OutOfScratch();
  RETURN_IF_ERROR(ForShards(work, blocks, [&](int64_t block) {
    double *const means = partial.get() + block * width, *const distances = means + s.channels;
    std::fill_n(means, width, 0.0);
    const int64_t begin = block * grain, end = std::min(s.outer, begin + grain);
    if (s.inner == 1) {
      Scratch<float> sums(work, width);
      if (!sums) return false;
      AddRows(work.isa(), x + begin * s.channels, end - begin, s.channels, sums.get(),
              sums.get() + s.channels, means, distances);
      return true;
    }
    for (int64_t o = begin; o < end; ++o) {
      for (int64_t c = 0; c < s.channels; ++c) {
        Moments own{static_cast<double>((o - begin) * s.inner), means[c], distances[c]};
        AddRun(x + (o * s.channels + c) * s.inner, s.inner, own);
        means[c] = own.mean;
        distances[c] = own.squares;
      }
    }
    return true;
  }));
  for (int64_t c = 0; c < s.channels; ++c) {
    Moments all;
    for (int64_t b = 0; b < blocks; ++b) {
      const int64_t rows = std::min(s.outer, (b + 1) * grain) - b * grain;
      const double* part = partial.get() + b * width;
      all.Merge(static_cast<double>(rows * s.inner), part[c], part[s.channels + c]);
    }
    mean[c] = all.mean;
    variance[c] = all.squares / std::max(1.0, all.count);
  }
  return OkStatus();
}

template <class T>
Status GradSumsAs(Work& work, const ChannelShape& s, const T* dy, const T* x, const float* mean,
                  const ScaledRelu& relu, double* sum, double* dot) {
  const int64_t grain = OuterGrain(s), blocks = (s.outer + grain - 1) / grain;
  const int64_t width = 2 * s.channels;
  Scratch<double> partial(work, blocks * width);
  if (!partial) return OutOfScratch();
  RETURN_IF_ERROR(ForShards(work, blocks, [&](int64_t block) {
    double* own = partial.get() + block * width;
    std::fill_n(own, width, 0.0);
    const int64_t begin = block * grain, end = std::min(s.outer, begin + grain);
    if (s.inner == 1) {
      Scratch<float> part(work, width);
      if (!part) return false;
      AddGradRows(work.isa(), dy + begin * s.channels, x + begin * s.channels, end - begin,
                  s.channels, mean, relu, part.get(), own);
      return true;
    }
    for (int64_t o = begin; o < end; ++o) {
      for (int64_t c = 0; c < s.channels; ++c) {
        const int64_t at = (o * s.channels + c) * s.inner;
        double *const own_sum = own + c, *const own_dot = own + s.channels + c;
        if (relu.factor != nullptr) {
          AddReluGradRun(dy + at, x + at, s.inner, mean[c], relu.factor[c], relu.term[c], own_sum,
                         own_dot);
        } else {
          AddGradRun(dy + at, x + at, s.inner, mean[c], own_sum, own_dot);
        }
      }
    }
    return true;
  }));
  std::fill_n(sum, s.channels, 0.0);
  std::fill_n(dot, s.channels, 0.0);
  for (int64_t b = 0; b < blocks; ++b) {
    for (int64_t c = 0; c < s.channels; ++c) {
      sum[c] += partial[b * width + c];
      dot[c] += partial[b * width + s.channels + c];
    }
  }
  return OkStatus();
}

template <class T, bool kSide, bool kRelu>
struct Scale {
  [[gnu::always_inline]] static void Run(int64_t first, int64_t rows, int64_t channels,
                                         int64_t channel, const T* x, const float* factor,
                                         const float* term, const T* side, T* __restrict y) {
    const auto at = [&](int64_t i, float f, float t) __attribute__((always_inline)) {
      float v = Load(x[i]) * f + t;
      if constexpr (kSide) v = Load(T(v)) + Load(side[i]);
      if constexpr (kRelu) v = v < 0 ? 0.0f : v;
      return T(v);
    };
    if (channels == 1) {
      const float f = factor[channel], t = term[channel];
      for (int64_t i = first; i < first + rows; ++i) y[i] = at(i, f, t);
      return;
    }
    for (int64_t r = 0; r < rows; ++r, first += channels) {
      for (int64_t c = 0; c < channels; ++c) y[first + c] = at(first + c, factor[c], term[c]);
    }
  }
};

// What Center has one of for each channel.
struct CenterTerms {
  const float *mean, *factor, *term, *slope, *relu_factor, *relu_term;
};

template <class T, bool kRelu>
struct Center {
  [[gnu::always_inline]] static void Run(int64_t first, int64_t rows, int64_t channels,
                                         int64_t channel, const T* dy, const T* x,
                                         CenterTerms terms, T* __restrict dx) {
    const auto [mean, factor, term, slope, relu_factor, relu_term] = terms;
    const auto at = [&](int64_t i, float m, float f, float t, float s, float rf, float rt)
        __attribute__((always_inline)) {
      const float v = Load(x[i]);
      return T(f * (Passed<kRelu>(Load(dy[i]), v, rf, rt) - t - (v - m) * s));
    };
    if (channels == 1) {
      const int64_t c = channel;
      const float m = mean[c], f = factor[c], t = term[c], s = slope[c];
      const float rf = relu_factor[c], rt = relu_term[c];
      for (int64_t i = first; i < first + rows; ++i) dx[i] = at(i, m, f, t, s, rf, rt);
      return;
    }
    for (int64_t r = 0; r < rows; ++r, first += channels) {
      FetchAhead(x + first, channels);
      FetchAhead(dy + first, channels);
      for (int64_t c = 0; c < channels; ++c) {
        dx[first + c] =
            at(first + c, mean[c], factor[c], term[c], slope[c], relu_factor[c], relu_term[c]);
      }
    }
  }
};

}  // namespace

Status ChannelMoments(Work& work, DType dtype, const ChannelShape& s, const void* x, double* mean,
                      double* variance) {
  return ForFloat(
      dtype, [&]<class T> { return MomentsAs(work, s, static_cast<const T*>(x), mean, variance); });
}

Status ScaleChannels(Work& work, DType dtype, const ChannelShape& s, const void* x,
                     const float* factor, const float* term, void* y, const AfterScale& after) {
  return ForFloat(dtype, [&]<class T> {
    const T* in = static_cast<const T*>(x);
    const T* side = static_cast<const T*>(after.side);
    T* out = static_cast<T*>(y);
    if (side != nullptr && after.relu) {
      return ForElements<Scale<T, true, true>>(work, s, in, factor, term, side, out);
    }
    if (side != nullptr) {
      return ForElements<Scale<T, true, false>>(work, s, in, factor, term, side, out);
    }
    if (after.relu) {
      return ForElements<Scale<T, false, true>>(work, s, in, factor, term, in, out);
    }
    return ForElements<Scale<T, false, false>>(work, s, in, factor, term, in, out);
  });
}

Status ChannelGradSums(Work& work, DType dtype, const ChannelShape& s, const void* dy,
                       const void* x, const float* mean, double* sum, double* dot,
                       const ScaledRelu& relu) {
  return ForFloat(dtype, [&]<class T> {
    return GradSumsAs(work, s, static_cast<const T*>(dy), static_cast<const T*>(x), mean, relu, sum,
                      dot);
  });
}

Status CenteredGrad(Work& work, DType dtype, const ChannelShape& s, const void* dy, const void* x,
                    const float* mean, const float* factor, const float* term, const float* slope,
                    void* dx, const ScaledRelu& relu) {
  return ForFloat(dtype, [&]<class T> {
    const T* grad = static_cast<const T*>(dy);
    const T* in = static_cast<const T*>(x);
    T* out = static_cast<T*>(dx);
    if (relu.factor != nullptr) {
      return ForElements<Center<T, true>>(
          work, s, grad, in, CenterTerms{mean, factor, term, slope, relu.factor, relu.term}, out);
    }
    return ForElements<Center<T, false>>(work, s, grad, in,
                                         CenterTerms{mean, factor, term, slope, mean, mean}, out);
  });
}

}  // namespace thalweg::compute
