// SPDX-License-Identifier: Apache-2.0
#include "thalweg/compute/pool/pool2d.h"

#include <algorithm>
#include <limits>
#include <type_traits>

#include "thalweg/compute/ew/ew.h"

namespace thalweg::compute {
namespace {

constexpr int64_t kGrain = 16384;   // input elements that a shard looks at
constexpr int64_t kChannels = 256;  // taken together

template <class T>
constexpr bool kIsHalf = std::is_same_v<T, Half> || std::is_same_v<T, Bfloat16>;

// Halves are compared and added as floats.
template <class T>
using Value = std::conditional_t<kIsHalf<T>, float, T>;

template <class T>
T Least() {
  if constexpr (kIsHalf<T>) {
    return T(-std::numeric_limits<float>::infinity());
  } else if constexpr (std::numeric_limits<T>::has_infinity) {
    return -std::numeric_limits<T>::infinity();
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

// Calls body(output pixel, rows, columns) for output pixels [begin, end) counted over the batch.
template <class Body>
void ForWindows(const Pool2DShape& s, int64_t begin, int64_t end, const Body& body) {
  for (int64_t p = begin; p < end; ++p) {
    const int64_t place = p % s.OutPixels();
    body(p, p / s.OutPixels(), Span(s.rows, place / s.columns.output),
         Span(s.columns, place % s.columns.output));
  }
}

template <class Body>
void ForPixels(const Pool2DShape& s, int64_t image, const Span& rows, const Span& columns,
               const Body& body) {
  for (int64_t r = rows.begin; r < rows.end; r += rows.step) {
    for (int64_t c = columns.begin; c < columns.end; c += columns.step) {
      body((image * s.rows.input + r) * s.columns.input + c);
    }
  }
}

int64_t PixelGrain(const Pool2DShape& s) {
  return std::max<int64_t>(
      1, kGrain / (s.rows.size * s.columns.size * std::max<int64_t>(1, s.channels)));
}

// The type's maximum as a loop of the element-wise tables; null for types that have none of their
// own.
template <class T>
BinaryFn MaximumOf(const IsaTable& isa) {
  constexpr int kMaximum = static_cast<int>(BinaryOp::kMaximum);
  if constexpr (std::is_same_v<T, float>) return isa.ew[kEwFloat]->binary[kMaximum].vv;
  if constexpr (std::is_same_v<T, double>) return isa.ew[kEwDouble]->binary[kMaximum].vv;
  if constexpr (std::is_same_v<T, int32_t>) return isa.ew[kEwInt32]->binary[kMaximum].vv;
  if constexpr (std::is_same_v<T, int64_t>) return isa.ew[kEwInt64]->binary[kMaximum].vv;
  return nullptr;
}

template <class T>
Status MaxPoolAs(Work& work, const Pool2DShape& s, const void* in, void* out) {
  const T* x = static_cast<const T*>(in);
  T* y = static_cast<T*>(out);
  const BinaryFn maximum = MaximumOf<T>(work.isa());
  return ForBlocks(work, s.batch * s.OutPixels(), PixelGrain(s), [&](int64_t begin, int64_t end) {
    uint32_t flags = 0;
    ForWindows(s, begin, end, [&](int64_t p, int64_t image, const Span& rows, const Span& columns) {
      T* to = y + p * s.channels;
      bool first = true;
      ForPixels(s, image, rows, columns, [&](int64_t pixel) {
        const T* from = x + pixel * s.channels;
        if (first) {
          std::copy_n(from, s.channels, to);
        } else if (maximum != nullptr) {
          maximum(to, to, from, s.channels, &flags);
        } else {
          for (int64_t c = 0; c < s.channels; ++c) {
            to[c] = static_cast<Value<T>>(from[c]) > static_cast<Value<T>>(to[c]) ? from[c] : to[c];
          }
        }
        first = false;
      });
      if (first) std::fill_n(to, s.channels, Least<T>());
    });
  });
}

// Channels [channel, channel + count) of one window: the largest values and their pixels; false
// when it sees nothing.
template <class T>
bool FindPlaces(const Pool2DShape& s, int64_t image, const Span& rows, const Span& columns,
                int64_t channel, int64_t count, const T* x, Value<T>* best, int64_t* pixel_of) {
  bool first = true;
  ForPixels(s, image, rows, columns, [&](int64_t pixel) {
    const T* from = x + pixel * s.channels + channel;
    for (int64_t c = 0; c < count; ++c) {
      const auto v = static_cast<Value<T>>(from[c]);
      const bool better = first || v > best[c];
      best[c] = better ? v : best[c];
      pixel_of[c] = better ? pixel : pixel_of[c];
    }
    first = false;
  });
  return !first;
}

template <class T>
Status MaxPoolPlacesAs(Work& work, const Pool2DShape& s, bool include_batch, const void* in,
                       void* out, int64_t* places) {
  const T* x = static_cast<const T*>(in);
  T* y = static_cast<T*>(out);
  return ForBlocks(work, s.batch * s.OutPixels(), PixelGrain(s), [&](int64_t begin, int64_t end) {
    Value<T> best[kChannels];
    int64_t pixel_of[kChannels];
    ForWindows(s, begin, end, [&](int64_t p, int64_t image, const Span& rows, const Span& columns) {
      const int64_t base = include_batch ? 0 : image * s.InPixels();
      for (int64_t channel = 0; channel < s.channels; channel += kChannels) {
        const int64_t count = std::min(kChannels, s.channels - channel);
        const bool found = FindPlaces(s, image, rows, columns, channel, count, x, best, pixel_of);
        for (int64_t c = 0; c < count; ++c) {
          const int64_t at = p * s.channels + channel + c;
          places[at] = found ? (pixel_of[c] - base) * s.channels + channel + c : 0;
          if (y != nullptr) y[at] = found ? T(best[c]) : Least<T>();
        }
      }
    });
  });
}

// Images and blocks of channels are independent.
template <class T>
Status MaxPoolGradAs(Work& work, const Pool2DShape& s, const void* in, const void* out_grad,
                     void* in_grad) {
  const T* x = static_cast<const T*>(in);
  const T* dy = static_cast<const T*>(out_grad);
  T* dx = static_cast<T*>(in_grad);
  constexpr int64_t kBlock = 64;
  const int64_t blocks = (s.channels + kBlock - 1) / kBlock;
  return ForBlocks(work, s.batch * blocks, 1, [&](int64_t shard, int64_t) {
    Value<T> best[kBlock];
    int64_t pixel_of[kBlock];
    const int64_t image = shard / blocks, channel = shard % blocks * kBlock;
    const int64_t count = std::min(kBlock, s.channels - channel);
    for (int64_t p = image * s.InPixels(); p < (image + 1) * s.InPixels(); ++p) {
      std::fill_n(dx + p * s.channels + channel, count, T(0));
    }
    ForWindows(s, image * s.OutPixels(), (image + 1) * s.OutPixels(),
               [&](int64_t p, int64_t, const Span& rows, const Span& columns) {
                 if (!FindPlaces(s, image, rows, columns, channel, count, x, best, pixel_of))
                   return;
                 for (int64_t c = 0; c < count; ++c) {
                   T& to = dx[pixel_of[c] * s.channels + channel + c];
                   const auto g = static_cast<Value<T>>(dy[p * s.channels + channel + c]);
                   to = T(static_cast<Value<T>>(static_cast<Value<T>>(to) + g));
                 }
               });
  });
}

template <class T>
Status AvgPoolAs(Work& work, const Pool2DShape& s, const void* in, void* out) {
  const T* x = static_cast<const T*>(in);
  T* y = static_cast<T*>(out);
  return ForBlocks(work, s.batch * s.OutPixels(), PixelGrain(s), [&](int64_t begin, int64_t end) {
    Value<T> sum[kChannels];
    ForWindows(s, begin, end, [&](int64_t p, int64_t image, const Span& rows, const Span& columns) {
      const auto divisor = static_cast<Value<T>>(rows.count() * columns.count());
      for (int64_t channel = 0; channel < s.channels; channel += kChannels) {
        const int64_t count = std::min(kChannels, s.channels - channel);
        std::fill_n(sum, count, Value<T>(0));
        ForPixels(s, image, rows, columns, [&](int64_t pixel) {
          const T* from = x + pixel * s.channels + channel;
          for (int64_t c = 0; c < count; ++c) sum[c] += static_cast<Value<T>>(from[c]);
        });
        for (int64_t c = 0; c < count; ++c) y[p * s.channels + channel + c] = T(sum[c] / divisor);
      }
    });
  });
}

template <class T>
Status AvgPoolGradAs(Work& work, const Pool2DShape& s, const void* out_grad, void* in_grad) {
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
               [&](int64_t p, int64_t, const Span& rows, const Span& columns) {
                 const auto divisor = static_cast<Value<T>>(rows.count() * columns.count());
                 const T* from = dy + p * s.channels + channel;
                 ForPixels(s, 0, rows, columns, [&](int64_t pixel) {
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

// f.template operator()<T>() for the T of dtype.
template <class List, class F>
Status Dispatch(const char* what, DType dtype, F&& f) {
  Status status = Unimplemented(what, " of elements of type ", dtype);
  ForEachType<List>([&]<class T>() {
    if (dtype == kDTypeOf<T>) status = f.template operator()<T>();
  });
  return status;
}

}  // namespace

Status MaxPool(Work& work, DType dtype, const Pool2DShape& shape, const void* in, void* out) {
  return Dispatch<RealTypes>("maximum pooling", dtype,
                             [&]<class T>() { return MaxPoolAs<T>(work, shape, in, out); });
}

Status MaxPoolPlaces(Work& work, DType dtype, const Pool2DShape& shape, bool include_batch,
                     const void* in, void* out, int64_t* places) {
  return Dispatch<RealTypes>("maximum pooling", dtype, [&]<class T>() {
    return MaxPoolPlacesAs<T>(work, shape, include_batch, in, out, places);
  });
}

Status MaxPoolGrad(Work& work, DType dtype, const Pool2DShape& shape, const void* in,
                   const void* out_grad, void* in_grad) {
  return Dispatch<RealTypes>("gradient of maximum pooling", dtype, [&]<class T>() {
    return MaxPoolGradAs<T>(work, shape, in, out_grad, in_grad);
  });
}

Status AvgPool(Work& work, DType dtype, const Pool2DShape& shape, const void* in, void* out) {
  return Dispatch<FloatTypes>("average pooling", dtype,
                              [&]<class T>() { return AvgPoolAs<T>(work, shape, in, out); });
}

Status AvgPoolGrad(Work& work, DType dtype, const Pool2DShape& shape, const void* out_grad,
                   void* in_grad) {
  return Dispatch<FloatTypes>("gradient of average pooling", dtype, [&]<class T>() {
    return AvgPoolGradAs<T>(work, shape, out_grad, in_grad);
  });
}

}  // namespace thalweg::compute
