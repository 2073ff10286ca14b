// SPDX-License-Identifier: Apache-2.0
#include "thalweg/compute/pool/dilation2d.h"

#include <algorithm>
#include <limits>
#include <type_traits>

#include "thalweg/compute/arithmetic.h"
#include "thalweg/compute/blocks_in_order.h"

namespace thalweg::compute {
namespace {

// Integers wrap.
template <class V>
V Add(V a, V b) {
  if constexpr (std::is_integral_v<V>) {
    using U = std::make_unsigned_t<V>;
    return static_cast<V>(static_cast<U>(static_cast<U>(a) + static_cast<U>(b)));
  } else {
    return a + b;
  }
}

template <class T>
Value<T> Least() {
  if constexpr (std::is_same_v<T, Half>) return -65504.0f;
  if constexpr (std::is_same_v<T, Bfloat16>) return -0x1.fep127f;
  return std::numeric_limits<Value<T>>::lowest();
}

template <class T>
struct Winner {
  Value<T> value;
  int64_t pixel = -1, tap = -1;  // in the image, in the filter; -1: nothing inside
};

// The window of one output place and channel.
template <class T>
Winner<T> FindWinner(const Dilation2DShape& s, int64_t row, int64_t column, int64_t channel,
                     const T* image, const T* filter) {
  Winner<T> best{Least<T>()};
  for (int64_t r = 0; r < s.rows.size; ++r) {
    const int64_t y = row * s.rows.stride - s.rows.pad_before + r * s.rows.dilation;
    if (y < 0 || y >= s.rows.input) continue;
    for (int64_t c = 0; c < s.columns.size; ++c) {
      const int64_t x = column * s.columns.stride - s.columns.pad_before + c * s.columns.dilation;
      if (x < 0 || x >= s.columns.input) continue;
      const int64_t pixel = y * s.columns.input + x, tap = r * s.columns.size + c;
      const auto value = Add(ValueOf(image[pixel * s.channels + channel]),
                             ValueOf(filter[tap * s.channels + channel]));
      if (best.pixel < 0) best.pixel = pixel, best.tap = tap;
      if (value > best.value) best = {value, pixel, tap};
    }
  }
  return best;
}

// How many windows of `channels` channels are searched between two looks at the cancel flag.
int64_t PlacesPerLook(const Dilation2DShape& s, int64_t channels) {
  constexpr int64_t kTapsPerLook = 1 << 18;
  return std::max<int64_t>(
      1, kTapsPerLook / std::max<int64_t>(1, s.rows.size * s.columns.size * channels));
}

// body(output element, channel, winner) for the windows of the output places [begin, end), counted
// over all images, and the channels [first, last).
template <class T, class Body>
void ForWinners(const Dilation2DShape& s, int64_t begin, int64_t end, int64_t first, int64_t last,
                const T* x, const T* filter, const Body& body) {
  for (int64_t place = begin; place < end; ++place) {
    const int64_t column = place % s.columns.output, line = place / s.columns.output;
    const int64_t row = line % s.rows.output, image = line / s.rows.output;
    const T* plane = x + image * s.rows.input * s.columns.input * s.channels;
    for (int64_t c = first; c < last; ++c) {
      body(place * s.channels + c, c, FindWinner(s, row, column, c, plane, filter));
    }
  }
}

template <class T>
Status Forward(Work& work, const Dilation2DShape& s, const T* x, const T* filter, T* y) {
  const int64_t places = s.batch * s.rows.output * s.columns.output;
  return ForBlocks(work, places, PlacesPerLook(s, s.channels), [&](int64_t begin, int64_t end) {
    ForWinners(s, begin, end, 0, s.channels, x, filter,
               [&](int64_t at, int64_t, const Winner<T>& winner) { y[at] = T(winner.value); });
  });
}

template <class T>
void AddTo(T& to, T value) {
  to = T(Add(ValueOf(to), ValueOf(value)));
}

// Windows add to the same pixels: each image by itself, in order.
template <class T>
Status BackwardInput(Work& work, const Dilation2DShape& s, const T* x, const T* filter, const T* dy,
                     T* dx) {
  const int64_t size = s.rows.input * s.columns.input * s.channels;
  const int64_t places = s.rows.output * s.columns.output;
  return ForBlocks(work, s.batch, 1, [&](int64_t image, int64_t) {
    T* plane = dx + image * size;
    std::fill_n(plane, size, T(0));
    const auto add = [&](int64_t at, int64_t c, const Winner<T>& winner) {
      if (winner.pixel >= 0) AddTo(plane[winner.pixel * s.channels + c], dy[at]);
    };
    // ForBlocks says it when this ends early.
    (void)ForBlocksInOrder(work, places, PlacesPerLook(s, s.channels), [&](int64_t b, int64_t e) {
      ForWinners(s, image * places + b, image * places + e, 0, s.channels, x, filter, add);
    });
  });
}

// Each channel's filter by itself, over all images in order.
template <class T>
Status BackwardFilter(Work& work, const Dilation2DShape& s, const T* x, const T* filter,
                      const T* dy, T* df) {
  const int64_t taps = s.rows.size * s.columns.size;
  const int64_t places = s.batch * s.rows.output * s.columns.output;
  return ForBlocks(work, s.channels, 1, [&](int64_t c, int64_t) {
    for (int64_t tap = 0; tap < taps; ++tap) df[tap * s.channels + c] = T(0);
    const auto add = [&](int64_t at, int64_t, const Winner<T>& winner) {
      if (winner.tap >= 0) AddTo(df[winner.tap * s.channels + c], dy[at]);
    };
    (void)ForBlocksInOrder(work, places, PlacesPerLook(s, 1), [&](int64_t begin, int64_t end) {
      ForWinners(s, begin, end, c, c + 1, x, filter, add);
    });
  });
}

}  // namespace

Status Dilation2D(Work& work, DType dtype, const Dilation2DShape& shape, const void* input,
                  const void* filter, void* output) {
  return WithType<RealTypes>(dtype, "dilation", [&]<class T>() {
    return Forward(work, shape, static_cast<const T*>(input), static_cast<const T*>(filter),
                   static_cast<T*>(output));
  });
}

Status Dilation2DBackwardInput(Work& work, DType dtype, const Dilation2DShape& shape,
                               const void* input, const void* filter, const void* output_grad,
                               void* input_grad) {
  return WithType<RealTypes>(dtype, "dilation", [&]<class T>() {
    return BackwardInput(work, shape, static_cast<const T*>(input), static_cast<const T*>(filter),
                         static_cast<const T*>(output_grad), static_cast<T*>(input_grad));
  });
}

Status Dilation2DBackwardFilter(Work& work, DType dtype, const Dilation2DShape& shape,
                                const void* input, const void* filter, const void* output_grad,
                                void* filter_grad) {
  return WithType<RealTypes>(dtype, "dilation", [&]<class T>() {
    return BackwardFilter(work, shape, static_cast<const T*>(input), static_cast<const T*>(filter),
                          static_cast<const T*>(output_grad), static_cast<T*>(filter_grad));
  });
}

}  // namespace thalweg::compute
