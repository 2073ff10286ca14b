// SPDX-License-Identifier: Apache-2.0
#include "thalweg/compute/move/strided_copy.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "thalweg/compute/move/element.h"

namespace thalweg::compute {
namespace {

// Elements that one shard moves at least, so that handing out shards costs little.
constexpr int64_t kGrain = 64 * 1024;
// Edge of the blocks of a transpose: 16 rows of 64 bytes of floats on either side stay in L1.
constexpr int64_t kTile = 16;

struct Loop {
  Dims dims;
  Dims from;
  Dims to;
  int rank() const { return dims.size(); }
};

// Without dimensions of size 1; neighbors that run on without a step become one.
Loop Normalize(std::span<const int64_t> dims, const Dims& from, const Dims& to) {
  Loop loop;
  for (int i = 0; i < static_cast<int>(dims.size()); ++i) {
    if (dims[i] == 1) continue;
    const int last = loop.rank() - 1;
    if (last >= 0 && loop.from[last] == from[i] * dims[i] && loop.to[last] == to[i] * dims[i]) {
      loop.dims[last] *= dims[i];
      loop.from[last] = from[i];
      loop.to[last] = to[i];
      continue;
    }
    loop.dims.push_back(dims[i]);
    loop.from.push_back(from[i]);
    loop.to.push_back(to[i]);
  }
  if (loop.rank() == 0) {
    loop.dims.push_back(1);
    loop.from.push_back(1);
    loop.to.push_back(1);
  }
  return loop;
}

// Walks the indices of the outer dimensions in order and keeps both offsets.
class Odometer {
 public:
  Odometer(const Loop& loop, int rank, int64_t start) : loop_(loop), rank_(rank) {
    index_.resize(rank);
    for (int i = rank - 1; i >= 0; --i) {
      index_[i] = start % loop.dims[i];
      start /= loop.dims[i];
      from += index_[i] * loop.from[i];
      to += index_[i] * loop.to[i];
    }
  }
  void Next() {
    for (int i = rank_ - 1; i >= 0; --i) {
      from += loop_.from[i];
      to += loop_.to[i];
      if (++index_[i] < loop_.dims[i]) return;
      from -= loop_.from[i] * loop_.dims[i];
      to -= loop_.to[i] * loop_.dims[i];
      index_[i] = 0;
    }
  }
  int64_t from = 0;
  int64_t to = 0;

 private:
  const Loop& loop_;
  const int rank_;
  Dims index_;
};

template <class E>
void CopyRun(const E* from, int64_t from_stride, E* to, int64_t to_stride, int64_t n) {
  if (to_stride == 1 && from_stride == 1) {
    if (n < 8) {
      for (int64_t i = 0; i < n; ++i) to[i] = from[i];
    } else {
      std::copy_n(from, n, to);
    }
  } else if (to_stride == 1 && from_stride == 0) {
    std::fill_n(to, n, *from);
  } else {
    for (int64_t i = 0; i < n; ++i) to[i * to_stride] = from[i * from_stride];
  }
}

int64_t Product(const Dims& dims, int count) {
  int64_t product = 1;
  for (int i = 0; i < count; ++i) product *= dims[i];
  return product;
}

// Rows along the last dimension, long ones cut into pieces.
template <class E>
Status CopyRows(Work& work, const Loop& loop, const E* from, E* to) {
  const int outer_rank = loop.rank() - 1;
  const int64_t n = loop.dims[outer_rank];
  const int64_t from_stride = loop.from[outer_rank];
  const int64_t to_stride = loop.to[outer_rank];
  const int64_t pieces = (n + kGrain - 1) / kGrain;
  const int64_t rows = Product(loop.dims, outer_rank);
  if (pieces > 1) {
    return ForBlocks(work, rows * pieces, 1, [&](int64_t shard, int64_t) {
      const Odometer at(loop, outer_rank, shard / pieces);
      const int64_t begin = shard % pieces * kGrain;
      CopyRun(from + at.from + begin * from_stride, from_stride, to + at.to + begin * to_stride,
              to_stride, std::min(kGrain, n - begin));
    });
  }
  return ForBlocks(work, rows, std::max<int64_t>(1, kGrain / n), [&](int64_t begin, int64_t end) {
    Odometer at(loop, outer_rank, begin);
    for (int64_t row = begin; row < end; ++row, at.Next()) {
      CopyRun(from + at.from, from_stride, to + at.to, to_stride, n);
    }
  });
}

// Rows of kN elements that lie together on both sides, such as the channels of pixels.
template <int64_t kN, class E>
Status CopyShortRows(Work& work, const Loop& loop, const E* from, E* to) {
  const int outer_rank = loop.rank() - 2;
  const int64_t rows = loop.dims[outer_rank];
  const int64_t from_step = loop.from[outer_rank], to_step = loop.to[outer_rank];
  return ForBlocks(work, Product(loop.dims, outer_rank), std::max<int64_t>(1, kGrain / (rows * kN)),
                   [&](int64_t begin, int64_t end) {
                     Odometer at(loop, outer_rank, begin);
                     for (int64_t line = begin; line < end; ++line, at.Next()) {
                       const E* source = from + at.from;
                       E* target = to + at.to;
                       for (int64_t row = 0; row < rows; ++row) {
                         for (int64_t i = 0; i < kN; ++i) target[i] = source[i];
                         source += from_step;
                         target += to_step;
                       }
                     }
                   });
}

// How many elements such rows have; 0 where they are none, or too many for one shard.
int64_t ShortRow(const Loop& loop) {
  const int last = loop.rank() - 1;
  const bool together = last > 0 && loop.from[last] == 1 && loop.to[last] == 1;
  return together && loop.dims[last] <= 4 && loop.dims[last - 1] <= kGrain ? loop.dims[last] : 0;
}

// The last two dimensions block by block: `from` is contiguous along the first of them, `to` along
// the second.
template <class E>
Status CopyTiles(Work& work, const Loop& loop, const E* from, E* to) {
  const int outer_rank = loop.rank() - 2;
  const int64_t rows = loop.dims[outer_rank];
  const int64_t cols = loop.dims[outer_rank + 1];
  const int64_t row_step = loop.to[outer_rank];
  const int64_t col_step = loop.from[outer_rank + 1];
  const int64_t bands = (rows + kTile - 1) / kTile;
  const int64_t grain = std::max<int64_t>(1, kGrain / (kTile * cols));
  return ForBlocks(work, Product(loop.dims, outer_rank) * bands, grain,
                   [&](int64_t begin, int64_t end) {
                     for (int64_t band = begin; band < end; ++band) {
                       const Odometer at(loop, outer_rank, band / bands);
                       const int64_t row0 = band % bands * kTile;
                       const int64_t row1 = std::min(rows, row0 + kTile);
                       for (int64_t col0 = 0; col0 < cols; col0 += kTile) {
                         const int64_t col1 = std::min(cols, col0 + kTile);
                         for (int64_t row = row0; row < row1; ++row) {
                           const E* source = from + at.from + row;
                           E* target = to + at.to + row * row_step;
                           for (int64_t col = col0; col < col1; ++col)
                             target[col] = source[col * col_step];
                         }
                       }
                     }
                   });
}

// Moves the dimension along which `from` is contiguous next to the last one; false when the copy is
// no transpose.
bool ArrangeTiles(Loop& loop) {
  const int last = loop.rank() - 1;
  if (last < 1 || loop.to[last] != 1 || loop.from[last] == 1 || loop.from[last] == 0) return false;
  for (int i = last - 1; i >= 0; --i) {
    if (loop.from[i] != 1) continue;
    if (loop.dims[i] < 4) return false;
    for (Dims* part : {&loop.dims, &loop.from, &loop.to}) {
      std::rotate(part->data() + i, part->data() + i + 1, part->data() + last);
    }
    return true;
  }
  return false;
}

}  // namespace

Dims ContiguousStrides(std::span<const int64_t> dims) {
  Dims strides(dims);
  int64_t stride = 1;
  for (int i = strides.size() - 1; i >= 0; --i) {
    strides[i] = stride;
    stride *= dims[i];
  }
  return strides;
}

Status CopyStrided(Work& work, DType dtype, std::span<const int64_t> dims,
                   const StridedSource& from, const StridedTarget& to) {
  if (std::find(dims.begin(), dims.end(), 0) != dims.end()) return OkStatus();
  Loop loop = Normalize(dims, from.strides, to.strides);
  const bool tiles = ArrangeTiles(loop);
  return WithElement(dtype, [&]<class E>() {
    const E* source = static_cast<const E*>(from.data) + from.offset;
    E* target = static_cast<E*>(to.data) + to.offset;
    if (tiles) return CopyTiles<E>(work, loop, source, target);
    switch (ShortRow(loop)) {
      case 2:
        return CopyShortRows<2>(work, loop, source, target);
      case 3:
        return CopyShortRows<3>(work, loop, source, target);
      case 4:
        return CopyShortRows<4>(work, loop, source, target);
      default:
        return CopyRows(work, loop, source, target);
    }
  });
}

Status CopyElements(Work& work, DType dtype, const void* from, void* to, int64_t n) {
  return WithElement(dtype, [&]<class E>() {
    return ForBlocks(work, n, kGrain, [&](int64_t begin, int64_t end) {
      std::copy_n(static_cast<const E*>(from) + begin, end - begin, static_cast<E*>(to) + begin);
    });
  });
}

Status FillElements(Work& work, DType dtype, const void* value, void* to, int64_t n) {
  return WithElement(dtype, [&]<class E>() {
    return ForBlocks(work, n, kGrain, [&](int64_t begin, int64_t end) {
      std::fill_n(static_cast<E*>(to) + begin, end - begin, *static_cast<const E*>(value));
    });
  });
}

Status FillZeros(Work& work, DType dtype, void* to, int64_t n) {
  return WithElement(dtype, [&]<class E>() {
    return ForBlocks(work, n, kGrain, [&](int64_t begin, int64_t end) {
      if constexpr (std::is_trivially_copyable_v<E>) {
        std::memset(static_cast<E*>(to) + begin, 0, static_cast<size_t>(end - begin) * sizeof(E));
      } else {
        std::fill_n(static_cast<E*>(to) + begin, end - begin, E());
      }
    });
  });
}

}  // namespace thalweg::compute
