// SPDX-License-Identifier: Apache-2.0
#include "thalweg/compute/isa/leaf.h"
#include "thalweg/compute/pool/windows.h"

namespace thalweg::compute {
namespace {

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
    const T least = LeastFinite<T>();
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
    std::fill_n(buffer, in_length, LeastFinite<T>());
  }
  for (int64_t o = 0; o < s.columns.output; ++o) {
    const PoolSpan span(s.columns, o);
    T* to = y + (out_row * s.columns.output + o) * c;
    if (span.count() == 0) {
      std::fill_n(to, c, LeastFinite<T>());
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
  const int64_t grain = std::max<int64_t>(1, 8 * kPoolGrain / std::max<int64_t>(1, looked));
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

}  // namespace

Status MaxPool(Work& work, DType dtype, const PoolShape& shape, const void* in, void* out) {
  return WithType<RealTypes>(dtype, "maximum pooling",
                             [&]<class T>() { return MaxPoolAs<T>(work, shape, in, out); });
}

}  // namespace thalweg::compute
