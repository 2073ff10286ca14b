// SPDX-License-Identifier: Apache-2.0
#include "thalweg/compute/reduce/sparse_segment.h"

#include <algorithm>
#include <type_traits>

#include "thalweg/compute/arithmetic.h"
#include "thalweg/compute/sort.h"

namespace thalweg::compute {
namespace {

constexpr int64_t kColumns = 256;      // of a shard: the sums of one tile of every segment
constexpr int64_t kWholeRows = 16384;  // elements below which one shard does all

template <class T>
using Wide = std::conditional_t<std::is_integral_v<T>, uint64_t, double>;

template <class T>
Wide<T> Widened(T value) {
  return static_cast<Wide<T>>(ValueOf(value));
}

struct Call {
  const SparseSegmentShape& shape;
  const int64_t* indices;
  const int64_t* order;  // of the indices: segment by segment
  const int64_t* segments;
  const double* scale;
};

// Columns [begin, end) of every segment.
template <class T>
void AddColumns(const Call& call, const T* data, int64_t begin, int64_t end, T* out) {
  using W = Wide<T>;
  W sum[kColumns];
  const int64_t inner = call.shape.inner, width = end - begin;
  for (int64_t i = 0; i < call.shape.count;) {
    const int64_t segment = call.segments[call.order[i]];
    std::fill(sum, sum + width, W(0));
    for (; i < call.shape.count && call.segments[call.order[i]] == segment; ++i) {
      const int64_t k = call.order[i];
      const T* row = data + call.indices[k] * inner + begin;
      if (call.scale == nullptr) {
        for (int64_t c = 0; c < width; ++c) sum[c] += Widened(row[c]);
      } else {
        const W factor = static_cast<W>(call.scale[k]);
        for (int64_t c = 0; c < width; ++c) sum[c] += Widened(row[c]) * factor;
      }
    }
    T* to = out + segment * inner + begin;
    for (int64_t c = 0; c < width; ++c) to[c] = ElementOf<T>(sum[c]);
  }
}

}  // namespace

Status SparseSegment(Work& work, DType dtype, const SparseSegmentShape& shape, const void* data,
                     const int64_t* indices, const int64_t* segments, const double* scale,
                     void* out) {
  Scratch<int64_t> order(work, shape.count);
  if (!order) return OutOfScratch();
  for (int64_t i = 0; i < shape.count; ++i) order[i] = i;
  if (!std::is_sorted(segments, segments + shape.count)) {
    RETURN_IF_ERROR(StableSort(work, order.get(), order.get() + shape.count,
                               [&](int64_t a, int64_t b) { return segments[a] < segments[b]; }));
  }
  const Call call{shape, indices, order.get(), segments, scale};
  Status status = Unimplemented("segments of elements of type ", dtype);
  ForEachType<RealTypes>([&]<class T> {
    if (kDTypeOf<T> != dtype) return;
    const auto run = [&](int64_t begin, int64_t end) {
      for (; begin < end; begin += kColumns) {
        AddColumns(call, static_cast<const T*>(data), begin, std::min(begin + kColumns, end),
                   static_cast<T*>(out));
      }
    };
    const bool small = shape.count < kWholeRows / std::max<int64_t>(1, shape.inner);
    status =
        ForBlocks(work, shape.inner, small ? std::max<int64_t>(1, shape.inner) : kColumns, run);
  });
  return status;
}

}  // namespace thalweg::compute
