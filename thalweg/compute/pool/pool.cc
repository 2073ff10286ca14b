// SPDX-License-Identifier: Apache-2.0
#include "thalweg/compute/pool/pool.h"

#include <algorithm>
#include <atomic>
#include <limits>
#include <type_traits>

#include "thalweg/compute/arithmetic.h"
#include "thalweg/compute/isa/leaf.h"

namespace thalweg::compute {
namespace {

constexpr int64_t kGrain = 16384;   // input elements that a shard looks at
constexpr int64_t kChannels = 256;  // taken together

// Integers wrap.
template <class T>
T Sum(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    using U = std::make_unsigned_t<T>;
    return static_cast<T>(static_cast<U>(static_cast<U>(a) + static_cast<U>(b)));
  } else {
    return T(static_cast<Value<T>>(a) + static_cast<Value<T>>(b));
  }
}

template <class T>
T Least() {
  if constexpr (std::is_same_v<T, Half>) {
    return T(-65504.0f);
  } else if constexpr (std::is_same_v<T, Bfloat16>) {
    return T(-0x1.fep127f);
  } else {
    return std::numeric_limits<T>::lowest();
  }
}

// The taps of one output position that lie inside the input: input places begin, begin + step, ...
// below end.
struct Span {
  Span(const Window& w, int64_t out) {
    const int64_t first = out * w.stride - w.pad_before;
    const int64_t skipped = first < 0 ? (-first + w.dilation - 1) / w.dilation : 0;
    begin = first + skipped * w.dilation;
    end = std::min(w.input, first + (w.size - 1) * w.dilation + 1);
    step = w.dilation;
  }
  int64_t count() const { return end > begin ? (end - begin + step - 1) / step : 0; }
  int64_t begin, end, step;
};

// What one output position sees of its image.
struct View {
  Span planes, rows, columns;
  int64_t count() const { return planes.count() * rows.count() * columns.count(); }
};

// Calls body(output pixel, image, view) for output pixels [begin, end) counted over the batch.
template <class Body>
void ForWindows(const PoolShape& s, int64_t begin, int64_t end, const Body& body) {
  for (int64_t p = begin; p < end; ++p) {
    const int64_t place = p % s.OutPixels(), row = place / s.columns.output;
    body(p, p / s.OutPixels(),
         View{Span(s.planes, row / s.rows.output), Span(s.rows, row % s.rows.output),
              Span(s.columns, place % s.columns.output)});
  }
}

// body(first pixel of the row) for every row of the image in view.
template <class Body>
void ForRows(const PoolShape& s, int64_t image, const Span& planes, const Span& rows,
             const Body& body) {
  for (int64_t d = planes.begin; d < planes.end; d += planes.step) {
    for (int64_t r = rows.begin; r < rows.end; r += rows.step) {
      body(((image * s.planes.input + d) * s.rows.input + r) * s.columns.input);
    }
  }
}

template <class Body>
void ForPixels(const PoolShape& s, int64_t image, const View& view, const Body& body) {
  ForRows(s, image, view.planes, view.rows, [&](int64_t row) {
    for (int64_t c = view.columns.begin; c < view.columns.end; c += view.columns.step) {
      body(row + c);
    }
  });
}

// Windows may be far larger than the image.
int64_t SaturatedWindow(const PoolShape& s) {
  return std::min(s.planes.size, s.planes.input) * std::min(s.rows.size, s.rows.input) *
         std::min(s.columns.size, s.columns.input);
}

int64_t PixelGrain(const PoolShape& s) {
  return std::max<int64_t>(1, kGrain / std::max<int64_t>(1, SaturatedWindow(s) * s.channels));
}

// max(a, b); NaN in `b` loses.
template <class T>
[[gnu::always_inline]] inline T Larger(T a, T b) {
  return static_cast<Value<T>>(b) > static_cast<Value<T>>(a) ? b : a;
}

// to[i] = max(to[i], from[i]).
template <class T>
struct MaximumInto {
  [[gnu::always_inline]] static void Run(const T* __restrict from, int64_t n, T* __restrict to) {
    for (int64_t i = 0; i < n; ++i) to[i] = Larger(to[i], from[i]);
  }
};

// to[i] = the largest of a[i], b[i] and the least finite value.
template <class T>
struct MaximumOfTwo {
  [[gnu::always_inline]] static void Run(const T* a, const T* b, int64_t n, T* __restrict to) {
    const T least = Least<T>();
    for (int64_t i = 0; i < n; ++i) to[i] = Larger(Larger(least, a[i]), b[i]);
  }
};

// One row of outputs: first the maximum down the rows in view, which are contiguous and long, then
// along that row.
template <class T>
void MaxPoolRow(const IsaTable& isa, const PoolShape& s, int64_t out_row, const T* x, T* buffer,
                T* y) {
  const int64_t in_length = s.columns.input * s.channels, c = s.channels;
  const int64_t image = out_row / (s.planes.output * s.rows.output);
  const int64_t place = out_row % (s.planes.output * s.rows.output);
  // The first two rows in view make the buffer, the others follow.
  const T* first = nullptr;
  bool started = false;
  ForRows(s, image, Span(s.planes, place / s.rows.output), Span(s.rows, place % s.rows.output),
          [&](int64_t row) {
            const T* from = x + row * c;
            if (started) {
              RunLeaf<MaximumInto<T>>(isa, from, in_length, buffer);
            } else if (first != nullptr) {
              RunLeaf<MaximumOfTwo<T>>(isa, first, from, in_length, buffer);
              started = true;
            } else {
              first = from;
            }
          });
  if (!started && first != nullptr) {
    RunLeaf<MaximumOfTwo<T>>(isa, first, first, in_length, buffer);
  } else if (!started) {
    std::fill_n(buffer, in_length, Least<T>());
  }
  for (int64_t o = 0; o < s.columns.output; ++o) {
    const Span span(s.columns, o);
    T* to = y + (out_row * s.columns.output + o) * c;
    if (span.count() == 0) {
      std::fill_n(to, c, Least<T>());
      continue;
    }
    std::copy_n(buffer + span.begin * c, c, to);
    for (int64_t at = span.begin + span.step; at < span.end; at += span.step) {
      RunLeaf<MaximumInto<T>>(isa, buffer + at * c, c, to);
    }
  }
}

template <class T>
Status MaxPoolAs(Work& work, const PoolShape& s, const void* in, void* out) {
  const int64_t in_length = s.columns.input * s.channels;
  const int64_t rows = s.batch * s.planes.output * s.rows.output;
  const int64_t looked =
      std::min(s.planes.size, s.planes.input) * std::min(s.rows.size, s.rows.input) * in_length;
  const int64_t grain = std::max<int64_t>(1, 8 * kGrain / std::max<int64_t>(1, looked));
  if (s.columns.output * s.channels == 0) return OkStatus();
  return ForShards(work, (rows + grain - 1) / grain, [&](int64_t shard) {
    Scratch<T> buffer(work, in_length);
    if (!buffer) return false;
    for (int64_t r = shard * grain; r < std::min(rows, (shard + 1) * grain); ++r) {
      MaxPoolRow(work.isa(), s, r, static_cast<const T*>(in), buffer.get(), static_cast<T*>(out));
    }
    return true;
  });
}

// Where from is larger, best and the number of its tap are replaced.
template <class T>
struct TakeLarger {
  [[gnu::always_inline]] static void Run(const T* __restrict from, int64_t n, int32_t tap,
                                         Value<T>* __restrict best, int32_t* __restrict tap_of) {
    for (int64_t c = 0; c < n; ++c) {
      const auto v = static_cast<Value<T>>(from[c]);
      const bool larger = v > best[c];
      best[c] = larger ? v : best[c];
      tap_of[c] = larger ? tap : tap_of[c];
    }
  }
};

// Channels [channel, channel + count) of one window: the largest values and their taps, counted
// over those in view; false when it sees nothing.
template <class T>
bool FindPlaces(const IsaTable& isa, const PoolShape& s, int64_t image, const View& view,
                int64_t channel, int64_t count, const T* x, Value<T>* best, int32_t* tap_of) {
  int32_t tap = 0;
  ForPixels(s, image, view, [&](int64_t pixel) {
    const T* from = x + pixel * s.channels + channel;
    if (tap == 0) {
      for (int64_t c = 0; c < count; ++c) best[c] = static_cast<Value<T>>(from[c]);
      std::fill_n(tap_of, count, 0);
    } else {
      RunLeaf<TakeLarger<T>>(isa, from, count, tap, best, tap_of);
    }
    ++tap;
  });
  return tap > 0;
}

int64_t PixelOfTap(const PoolShape& s, int64_t image, const View& view, int64_t tap) {
  const int64_t columns = view.columns.count(), rows = view.rows.count();
  const int64_t plane = view.planes.begin + tap / columns / rows * view.planes.step;
  const int64_t row = view.rows.begin + tap / columns % rows * view.rows.step;
  const int64_t column = view.columns.begin + tap % columns * view.columns.step;
  return ((image * s.planes.input + plane) * s.rows.input + row) * s.columns.input + column;
}

Status CheckTaps(const PoolShape& s) {
  if (SaturatedWindow(s) < std::numeric_limits<int32_t>::max()) return OkStatus();
  return Unimplemented("places in a pooling window of ", SaturatedWindow(s), " elements");
}

template <class T>
Status MaxPoolPlacesAs(Work& work, const PoolShape& s, bool include_batch, const void* in,
                       void* out, int64_t* places) {
  const T* x = static_cast<const T*>(in);
  T* y = static_cast<T*>(out);
  RETURN_IF_ERROR(CheckTaps(s));
  return ForBlocks(work, s.batch * s.OutPixels(), PixelGrain(s), [&](int64_t begin, int64_t end) {
    Value<T> best[kChannels];
    int32_t tap_of[kChannels];
    ForWindows(s, begin, end, [&](int64_t p, int64_t image, const View& view) {
      const int64_t base = include_batch ? 0 : image * s.InPixels();
      for (int64_t channel = 0; channel < s.channels; channel += kChannels) {
        const int64_t count = std::min(kChannels, s.channels - channel);
        const bool found = FindPlaces(work.isa(), s, image, view, channel, count, x,
                                      static_cast<Value<T>*>(best), static_cast<int32_t*>(tap_of));
        for (int64_t c = 0; c < count; ++c) {
          const int64_t at = p * s.channels + channel + c;
          places[at] = 0;
          if (found) {
            const int64_t pixel = PixelOfTap(s, image, view, tap_of[c]) - base;
            places[at] = pixel * s.channels + channel + c;
          }
          if (y != nullptr) y[at] = found ? T(best[c]) : Least<T>();
        }
      }
    });
  });
}

// to[c] += grad[c] where the tap is the window's.
template <class T>
struct AddWhere {
  [[gnu::always_inline]] static void Run(const T* __restrict grad, const int32_t* __restrict tap_of,
                                         int32_t tap, int64_t n, T* __restrict to) {
    for (int64_t c = 0; c < n; ++c) to[c] = tap_of[c] == tap ? Sum(to[c], grad[c]) : to[c];
  }
};

// Images and blocks of channels are independent.
template <class T>
Status MaxPoolGradAs(Work& work, const PoolShape& s, const void* in, const void* out_grad,
                     void* in_grad) {
  const T* x = static_cast<const T*>(in);
  const T* dy = static_cast<const T*>(out_grad);
  T* dx = static_cast<T*>(in_grad);
  constexpr int64_t kBlock = 64;
  const int64_t blocks = (s.channels + kBlock - 1) / kBlock;
  RETURN_IF_ERROR(CheckTaps(s));
  return ForBlocks(work, s.batch * blocks, 1, [&](int64_t shard, int64_t) {
    Value<T> best_values[kBlock];
    int32_t taps[kBlock];
    Value<T>* best = best_values;
    int32_t* tap_of = taps;
    const int64_t image = shard / blocks, channel = shard % blocks * kBlock;
    const int64_t count = std::min(kBlock, s.channels - channel);
    for (int64_t p = image * s.InPixels(); p < (image + 1) * s.InPixels(); ++p) {
      std::fill_n(dx + p * s.channels + channel, count, T(0));
    }
    ForWindows(s, image * s.OutPixels(), (image + 1) * s.OutPixels(),
               [&](int64_t p, int64_t, const View& view) {
                 FindPlaces(work.isa(), s, image, view, channel, count, x, best, tap_of);
                 int32_t tap = 0;
                 ForPixels(s, image, view, [&](int64_t pixel) {
                   RunLeaf<AddWhere<T>>(work.isa(), dy + p * s.channels + channel,
                                        static_cast<const int32_t*>(tap_of), tap++, count,
                                        dx + pixel * s.channels + channel);
                 });
               });
  });
}

template <class T>
Status MaxPoolGradOfPlacesAs(Work& work, const PoolShape& s, bool include_batch,
                             const int64_t* places, const void* out_grad, void* in_grad) {
  const T* dy = static_cast<const T*>(out_grad);
  T* dx = static_cast<T*>(in_grad);
  const int64_t in_size = s.InPixels() * s.channels, out_size = s.OutPixels() * s.channels;
  std::atomic<int64_t> bad{-1};
  RETURN_IF_ERROR(ForBlocks(work, s.batch, 1, [&](int64_t image, int64_t) {
    std::fill_n(dx + image * in_size, in_size, T(0));
    const int64_t base = include_batch ? image * in_size : 0;
    for (int64_t i = image * out_size; i < (image + 1) * out_size; ++i) {
      if (places[i] < base || places[i] - base >= in_size) {
        bad = i;
        return;
      }
      T& to = dx[image * in_size + places[i] - base];
      to = Sum(to, dy[i]);
    }
  }));
  if (bad < 0) return OkStatus();
  return InvalidArgument("argmax must lie inside its image of ", in_size, " elements, got ",
                         places[bad]);
}

template <class T>
struct AddInto {
  [[gnu::always_inline]] static void Run(const T* __restrict from, int64_t n,
                                         Value<T>* __restrict sum) {
    for (int64_t c = 0; c < n; ++c) sum[c] += static_cast<Value<T>>(from[c]);
  }
};

template <class T>
Status AvgPoolAs(Work& work, const PoolShape& s, const void* in, void* out) {
  const T* x = static_cast<const T*>(in);
  T* y = static_cast<T*>(out);
  return ForBlocks(work, s.batch * s.OutPixels(), PixelGrain(s), [&](int64_t begin, int64_t end) {
    Value<T> sum[kChannels];
    ForWindows(s, begin, end, [&](int64_t p, int64_t image, const View& view) {
      const auto divisor = static_cast<Value<T>>(view.count());
      for (int64_t channel = 0; channel < s.channels; channel += kChannels) {
        const int64_t count = std::min(kChannels, s.channels - channel);
        std::fill_n(sum, count, Value<T>(0));
        ForPixels(s, image, view, [&](int64_t pixel) {
          const T* from = x + pixel * s.channels + channel;
          RunLeaf<AddInto<T>>(work.isa(), from, count, static_cast<Value<T>*>(sum));
        });
        for (int64_t c = 0; c < count; ++c) y[p * s.channels + channel + c] = T(sum[c] / divisor);
      }
    });
  });
}

template <class T>
Status AvgPoolGradAs(Work& work, const PoolShape& s, const void* out_grad, void* in_grad) {
  const T* dy = static_cast<const T*>(out_grad);
  T* dx = static_cast<T*>(in_grad);
  constexpr int64_t kBlock = 64;
  const int64_t blocks = (s.channels + kBlock - 1) / kBlock;
  return ForShards(work, s.batch * blocks, [&](int64_t shard) {
    const int64_t image = shard / blocks, channel = shard % blocks * kBlock;
    const int64_t count = std::min(kBlock, s.channels - channel);
    // Sums of halves are kept in float until all are in.
    Scratch<Value<T>> sums(work, s.InPixels() * count);
    if (!sums) return false;
    std::fill_n(sums.get(), s.InPixels() * count, Value<T>(0));
    ForWindows(s, image * s.OutPixels(), (image + 1) * s.OutPixels(),
               [&](int64_t p, int64_t, const View& view) {
                 const auto divisor = static_cast<Value<T>>(view.count());
                 const T* from = dy + p * s.channels + channel;
                 ForPixels(s, 0, view, [&](int64_t pixel) {
                   Value<T>* to = sums.get() + pixel * count;
                   for (int64_t c = 0; c < count; ++c)
                     to[c] += static_cast<Value<T>>(from[c]) / divisor;
                 });
               });
    for (int64_t p = 0; p < s.InPixels(); ++p) {
      T* to = dx + (image * s.InPixels() + p) * s.channels + channel;
      for (int64_t c = 0; c < count; ++c) to[c] = T(sums[p * count + c]);
    }
    return true;
  });
}

}  // namespace

Status MaxPool(Work& work, DType dtype, const PoolShape& shape, const void* in, void* out) {
  return WithType<RealTypes>(dtype, "maximum pooling",
                             [&]<class T>() { return MaxPoolAs<T>(work, shape, in, out); });
}

Status MaxPoolPlaces(Work& work, DType dtype, const PoolShape& shape, bool include_batch,
                     const void* in, void* out, int64_t* places) {
  return WithType<RealTypes>(dtype, "maximum pooling", [&]<class T>() {
    return MaxPoolPlacesAs<T>(work, shape, include_batch, in, out, places);
  });
}

Status MaxPoolGrad(Work& work, DType dtype, const PoolShape& shape, const void* in,
                   const void* out_grad, void* in_grad) {
  return WithType<RealTypes>(dtype, "gradient of maximum pooling", [&]<class T>() {
    return MaxPoolGradAs<T>(work, shape, in, out_grad, in_grad);
  });
}

Status MaxPoolGradOfPlaces(Work& work, DType dtype, const PoolShape& shape, bool include_batch,
                           const int64_t* places, const void* out_grad, void* in_grad) {
  return WithType<RealTypes>(dtype, "gradient of maximum pooling", [&]<class T>() {
    return MaxPoolGradOfPlacesAs<T>(work, shape, include_batch, places, out_grad, in_grad);
  });
}

Status AvgPool(Work& work, DType dtype, const PoolShape& shape, const void* in, void* out) {
  return WithType<FloatTypes>(dtype, "average pooling",
                              [&]<class T>() { return AvgPoolAs<T>(work, shape, in, out); });
}

Status AvgPoolGrad(Work& work, DType dtype, const PoolShape& shape, const void* out_grad,
                   void* in_grad) {
  return WithType<FloatTypes>(dtype, "gradient of average pooling", [&]<class T>() {
    return AvgPoolGradAs<T>(work, shape, out_grad, in_grad);
  });
}

}  // namespace thalweg::compute
