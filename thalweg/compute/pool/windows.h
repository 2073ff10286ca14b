// SPDX-License-Identifier: Apache-2.0
// What a pooling window sees of its image. Private to compute/pool.
// Ownership: shapes, rooms and gradients are the caller's, and outlive the objects.
// Threads: one for each object; ForRowBlocks runs its body on the Work's.
// Errors: those of work.h, of ForRowBlocks alone.
#pragma once

#include <algorithm>
#include <cstring>
#include <limits>
#include <type_traits>

#include "thalweg/compute/arithmetic.h"
#include "thalweg/compute/interruptible.h"
#include "thalweg/compute/pool/pool.h"

namespace thalweg::compute {

constexpr int64_t kPoolGrain = 16384;  // input elements that a shard looks at

// Integers wrap.
template <class T>
T PoolSum(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    using U = std::make_unsigned_t<T>;
    return static_cast<T>(static_cast<U>(static_cast<U>(a) + static_cast<U>(b)));
  } else {
    return T(static_cast<Value<T>>(a) + static_cast<Value<T>>(b));
  }
}

template <class T>
T LeastFinite() {
  if constexpr (std::is_same_v<T, Half>) {
    return T(-65504.0f);
  } else if constexpr (std::is_same_v<T, Bfloat16>) {
    return T(-0x1.fep127f);
  } else {
    return std::numeric_limits<T>::lowest();
  }
}

// Vectors of the values of elements, and of integers of their size, which comparisons give. The
// compiler makes of them what the instruction set has.
template <class T>
struct PoolLanes {
  static constexpr bool kAny = false;
};
template <class T, class Number>
struct StoredLanes {
  static constexpr bool kAny = true;
  static constexpr int64_t kCount = 32 / sizeof(T);
  using Values [[gnu::vector_size(32)]] = T;
  using Numbers [[gnu::vector_size(32)]] = Number;
  [[gnu::always_inline]] static void Load(const T* from, Values& to) {
    std::memcpy(&to, from, sizeof to);
  }
  [[gnu::always_inline]] static void Store(const Values& from, T* to) {
    std::memcpy(to, &from, sizeof from);
  }
};
template <>
struct PoolLanes<float> : StoredLanes<float, int32_t> {};
template <>
struct PoolLanes<double> : StoredLanes<double, int64_t> {};
// Widened and rounded in registers, with the bits of Bfloat16's own conversions. NaN needs no care:
// that of widened elements, and the processor's own, has no bits that rounding could carry.
template <>
struct PoolLanes<Bfloat16> {
  static constexpr bool kAny = true;
  static constexpr int64_t kCount = 8;
  using Values = PoolLanes<float>::Values;
  using Numbers = PoolLanes<float>::Numbers;
  using Bits [[gnu::vector_size(32)]] = uint32_t;
  using Halves [[gnu::vector_size(16)]] = uint16_t;
  [[gnu::always_inline]] static void Load(const Bfloat16* from, Values& to) {
    Halves halves;
    std::memcpy(&halves, &from->bits, sizeof halves);
    to = (Values)(__builtin_convertvector(halves, Bits) << 16);
  }
  [[gnu::always_inline]] static void Store(const Values& from, Bfloat16* to) {
    const Bits bits = (Bits)from;
    const Bits rounded = bits + 0x7fff + ((bits >> 16) & 1);
    const Halves halves = __builtin_convertvector(rounded >> 16, Halves);
    std::memcpy(&to->bits, &halves, sizeof halves);
  }
};

// The taps of one output position that lie inside the input: input places begin, begin + step, ...
// below end.
struct PoolSpan {
  PoolSpan(const Window& w, int64_t out) {
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
struct PoolView {
  PoolSpan planes, rows, columns;
  int64_t count() const { return planes.count() * rows.count() * columns.count(); }
};

// body(first pixel of the row) for every row of the image in view.
template <class Body>
void ForRows(const PoolShape& s, int64_t image, const PoolSpan& planes, const PoolSpan& rows,
             const Body& body) {
  for (int64_t d = planes.begin; d < planes.end; d += planes.step) {
    for (int64_t r = rows.begin; r < rows.end; r += rows.step) {
      body(((image * s.planes.input + d) * s.rows.input + r) * s.columns.input);
    }
  }
}

// Windows may be far larger than the image.
inline int64_t SaturatedWindow(const PoolShape& s) {
  return std::min(s.planes.size, s.planes.input) * std::min(s.rows.size, s.rows.input) *
         std::min(s.columns.size, s.columns.input);
}

// The pixels that a window sees, as offsets of their elements from their image's first, in
// row-major order.
class PoolTaps {
 public:
  // The room holds SaturatedWindow() offsets.
  PoolTaps(const PoolShape& s, int64_t stride, int64_t* room)
      : shape_(s), stride_(stride), offsets_(room) {}

  void Find(const PoolView& view) {
    count_ = 0;
    ForRows(shape_, 0, view.planes, view.rows, [&](int64_t row) {
      for (int64_t c = view.columns.begin; c < view.columns.end; c += view.columns.step) {
        offsets_[count_++] = (row + c) * stride_;
      }
    });
  }
  const int64_t* offsets() const { return offsets_; }
  int64_t count() const { return count_; }

 private:
  const PoolShape& shape_;
  const int64_t stride_;  // elements of a pixel
  int64_t* const offsets_;
  int64_t count_ = 0;
};

// Calls body(output pixel within the image, view) for rows [begin, end) of an image's outputs.
template <class Body>
void ForWindowsOfRows(const PoolShape& s, int64_t begin, int64_t end, const Body& body) {
  for (int64_t row = begin; row < end; ++row) {
    const PoolSpan planes(s.planes, row / s.rows.output), rows(s.rows, row % s.rows.output);
    for (int64_t column = 0; column < s.columns.output; ++column) {
      Interruption::Look();
      body(row * s.columns.output + column, PoolView{planes, rows, PoolSpan(s.columns, column)});
    }
  }
}

// Channels that a shard of a gradient takes: all, unless there are few images.
inline int64_t ChannelBlock(const PoolShape& s) {
  return s.batch >= 8 ? std::max<int64_t>(1, s.channels) : 64;
}

inline int64_t OutRows(const PoolShape& s) { return s.planes.output * s.rows.output; }

// Calls body(image, first row, its end) for blocks of rows of outputs that look at about kPoolGrain
// inputs.
template <class Body>
Status ForRowBlocks(Work& work, const PoolShape& s, const Body& body) {
  const int64_t looked = std::max<int64_t>(1, SaturatedWindow(s) * s.columns.output * s.channels);
  const int64_t grain =
      std::clamp<int64_t>(kPoolGrain / looked, 1, std::max<int64_t>(1, OutRows(s)));
  const int64_t blocks = (OutRows(s) + grain - 1) / grain;
  return ForLookingShards(work, s.batch * blocks, [&](int64_t shard) {
    const int64_t begin = shard % blocks * grain;
    return body(shard / blocks, begin, std::min(OutRows(s), begin + grain));
  });
}

// Sets an image of gradients to 0 little before it is added to. Pixels [0, seen) are 0 or hold
// sums.
template <class T>
class ZeroAhead {
 public:
  // `count` elements of every pixel, which is `stride` of them.
  ZeroAhead(const PoolShape& s, int64_t stride, int64_t count, T* to)
      : shape_(s), stride_(stride), count_(count), to_(to) {}

  // What the view, of which something is inside, will add to.
  void Reach(const PoolView& view) {
    if (view.planes.end <= view.planes.begin || view.rows.end <= view.rows.begin) return;
    ReachPixel(((view.planes.end - 1) * shape_.rows.input + view.rows.end) * shape_.columns.input);
  }
  void ReachPixel(int64_t end) {
    if (end <= seen_) return;
    if (stride_ == count_) {
      std::fill_n(to_ + seen_ * stride_, (end - seen_) * stride_, T(0));
      seen_ = end;
    }
    for (; seen_ < end; ++seen_) std::fill_n(to_ + seen_ * stride_, count_, T(0));
  }

 private:
  const PoolShape& shape_;
  const int64_t stride_, count_;
  T* const to_;
  int64_t seen_ = 0;
};

}  // namespace thalweg::compute
