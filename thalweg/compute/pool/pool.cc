// SPDX-License-Identifier: Apache-2.0
#include "thalweg/compute/isa/leaf.h"
#include "thalweg/compute/pool/windows.h"

namespace thalweg::compute {
namespace {

// max(a, b); NaN in `b` loses.
template <class V>
[[gnu::always_inline]] inline V Larger(V a, V b) {
  return b > a ? b : a;
}

// to[i] = max(to[i], from[i]).
template <class T>
struct MaximumInto {
  [[gnu::always_inline]] static void Run(const T* __restrict from, int64_t n,
                                         Value<T>* __restrict to) {
    for (int64_t i = 0; i < n; ++i) to[i] = Larger(to[i], ValueOf(from[i]));
  }
};

// to[i] = the largest of a[i], b[i] and the least finite value.
template <class T>
struct MaximumOfTwo {
  [[gnu::always_inline]] static void Run(const T* a, const T* b, int64_t n,
                                         Value<T>* __restrict to) {
    const Value<T> least = ValueOf(LeastFinite<T>());
    for (int64_t i = 0; i < n; ++i) {
      to[i] = Larger(Larger(least, ValueOf(a[i])), ValueOf(b[i]));
    }
  }
};

// y[i] = the largest of the least finite value and `count` others: x[i], x[i + step], ...
template <class T>
struct MaximumAlong {
  [[gnu::always_inline]] static void Run(const Value<T>* x, int64_t step, int64_t count, int64_t n,
                                         T* __restrict y) {
    constexpr int64_t kChannels = 64;  // that stay in registers
    const auto along = [&](int64_t c, int64_t some) __attribute__((always_inline)) {
      Value<T> best[kChannels];
      for (int64_t i = 0; i < some; ++i) best[i] = ValueOf(LeastFinite<T>());
      for (int64_t t = 0; t < count; ++t) {
        for (int64_t i = 0; i < some; ++i) best[i] = Larger(best[i], x[t * step + c + i]);
      }
      for (int64_t i = 0; i < some; ++i) y[c + i] = T(best[i]);
    };
    int64_t c = 0;
    for (; c + kChannels <= n; c += kChannels) along(c, kChannels);
    if (c < n) along(c, n - c);
  }
};

// One row of outputs: first the maximum down the rows in view, which are contiguous and long, then
// along that row.
template <class T>
void MaxPoolRow(const IsaTable& isa, const PoolShape& s, int64_t out_row, const T* x,
                Value<T>* buffer, T* y) {
  const int64_t in_length = s.columns.input * s.channels, c = s.channels;
  const int64_t image = out_row / (s.planes.output * s.rows.output);
  const int64_t place = out_row % (s.planes.output * s.rows.output);
  // The first two rows in view make the buffer, the others follow.
  const T* first = nullptr;
  bool started = false;
  ForRows(s, image, PoolSpan(s.planes, place / s.rows.output),
          PoolSpan(s.rows, place % s.rows.output), [&](int64_t row) {
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
    std::fill_n(buffer, in_length, ValueOf(LeastFinite<T>()));
  }
  for (int64_t o = 0; o < s.columns.output; ++o) {
    const PoolSpan span(s.columns, o);
    T* to = y + (out_row * s.columns.output + o) * c;
    RunLeaf<MaximumAlong<T>>(isa, static_cast<const Value<T>*>(buffer + span.begin * c),
                             span.step * c, span.count(), c, to);
  }
}

template <class T>
Status MaxPoolAs(Work& work, const PoolShape& s, const void* in, void* out) {
  const int64_t in_length = s.columns.input * s.channels;
  const int64_t rows = s.batch * s.planes.output * s.rows.output;
  const int64_t looked =
      std::min(s.planes.size, s.planes.input) * std::min(s.rows.size, s.rows.input) * in_length;
  const int64_t grain = std::max<int64_t>(1, 8 * kPoolGrain / std::max<int64_t>(1, looked));
  if (s.columns.output * s.channels == 0) return OkStatus();
  return ForShards(work, (rows + grain - 1) / grain, [&](int64_t shard) {
    Scratch<Value<T>> buffer(work, in_length);
    if (!buffer) return false;
    for (int64_t r = shard * grain; r < std::min(rows, (shard + 1) * grain); ++r) {
      MaxPoolRow(work.isa(), s, r, static_cast<const T*>(in), buffer.get(), static_cast<T*>(out));
    }
    return true;
  });
}

}  // namespace

Status MaxPool(Work& work, DType dtype, const PoolShape& shape, const void* in, void* out) {
  return WithType<RealTypes>(dtype, "maximum pooling",
                             [&]<class T>() { return MaxPoolAs<T>(work, shape, in, out); });
}

}  // namespace thalweg::compute
