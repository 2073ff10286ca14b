// SPDX-License-Identifier: Apache-2.0
#include "thalweg/compute/move/diagonals.h"

#include "thalweg/compute/move/element.h"

namespace thalweg::compute {
namespace {

constexpr int64_t kGrain = 32 * 1024;

// Calls f(place in the packed form, place in the matrices, length) for each diagonal of each
// matrix.
template <class F>
Status ForDiagonals(Work& work, const DiagonalShape& s, const F& f) {
  const int64_t count = s.count();
  const int64_t grain = std::max<int64_t>(1, kGrain / std::max<int64_t>(1, s.longest));
  return ForBlocks(work, s.batch * count, grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t d = s.upper - i % count;
      const int64_t length = s.length(d);
      if (length == 0) continue;
      const bool right = d >= 0 ? s.upper_right : s.lower_right;
      const int64_t row = std::max<int64_t>(-d, 0);
      const int64_t column = std::max<int64_t>(d, 0);
      f(i * s.longest + (right ? s.longest - length : 0),
        (i / count * s.rows + row) * s.columns + column, length);
    }
  });
}

}  // namespace

Status PackDiagonals(Work& work, DType dtype, const DiagonalShape& shape, const void* matrices,
                     void* packed) {
  return WithElement(dtype, [&]<class E>() {
    const E* const from = static_cast<const E*>(matrices);
    E* const to = static_cast<E*>(packed);
    const int64_t step = shape.columns + 1;
    return ForDiagonals(work, shape, [&](int64_t in_row, int64_t in_matrix, int64_t n) {
      for (int64_t i = 0; i < n; ++i) to[in_row + i] = from[in_matrix + i * step];
    });
  });
}

Status UnpackDiagonals(Work& work, DType dtype, const DiagonalShape& shape, const void* packed,
                       void* matrices) {
  return WithElement(dtype, [&]<class E>() {
    const E* const from = static_cast<const E*>(packed);
    E* const to = static_cast<E*>(matrices);
    const int64_t step = shape.columns + 1;
    return ForDiagonals(work, shape, [&](int64_t in_row, int64_t in_matrix, int64_t n) {
      for (int64_t i = 0; i < n; ++i) to[in_matrix + i * step] = from[in_row + i];
    });
  });
}

Status KeepBand(Work& work, DType dtype, int64_t batch, int64_t rows, int64_t columns,
                int64_t below, int64_t above, const void* in, void* out) {
  const int64_t grain = std::max<int64_t>(1, kGrain / std::max<int64_t>(1, columns));
  return WithElement(dtype, [&]<class E>() {
    const E* const from = static_cast<const E*>(in);
    E* const to = static_cast<E*>(out);
    return ForBlocks(work, batch * rows, grain, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        const int64_t i = row % rows;
        const int64_t first = std::min(columns, below < 0 ? 0 : std::max<int64_t>(0, i - below));
        const int64_t last =
            above < 0 || above >= columns - i ? columns : std::max(first, i + above + 1);
        const E* const source = from + row * columns;
        E* const target = to + row * columns;
        std::fill(target, target + first, E());
        std::copy(source + first, source + last, target + first);
        std::fill(target + last, target + columns, E());
      }
    });
  });
}

}  // namespace thalweg::compute
