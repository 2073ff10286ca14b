// SPDX-License-Identifier: Apache-2.0
#include "thalweg/compute/move/strided_copy.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "thalweg/compute/move/element.h"
#include "thalweg/compute/move/row_chunks.h"

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
  // Indices that differ in the last of the outer dimensions alone, from this one on.
  int64_t Left() const { return rank_ == 0 ? 1 : loop_.dims[rank_ - 1] - index_[rank_ - 1]; }
  // `steps` of Left().
  void Advance(int64_t steps) {
    if (rank_ == 0) return;
    const int last = rank_ - 1;
    from += steps * loop_.from[last];
    to += steps * loop_.to[last];
    index_[last] += steps;
    for (int i = last; index_[i] == loop_.dims[i]; --i) {
      from -= loop_.from[i] * loop_.dims[i];
      to -= loop_.to[i] * loop_.dims[i];
      index_[i] = 0;
      if (i == 0) return;
      from += loop_.from[i - 1];
      to += loop_.to[i - 1];
      ++index_[i - 1];
    }
  }
  int64_t from = 0;
  int64_t to = 0;

 private:
  const Loop& loop_;
  const int rank_;
  Dims index_;
};

// Rows of n elements, each a step behind the one before.
template <class E>
struct Rows {
  const E* from;
  E* to;
  int64_t count;
  int64_t from_step, to_step;
  int64_t n;
  int64_t from_stride, to_stride;
};

template <class E>
void CopyRow(const Rows<E>& rows, const E* from, E* to) {
  if (rows.to_stride == 1 && rows.from_stride == 1) {
    if (rows.n < 8) {
      for (int64_t i = 0; i < rows.n; ++i) to[i] = from[i];
    } else {
      std::copy_n(from, rows.n, to);
    }
  } else if (rows.to_stride == 1 && rows.from_stride == 0) {
    std::fill_n(to, rows.n, *from);
  } else {
    for (int64_t i = 0; i < rows.n; ++i) to[i * rows.to_stride] = from[i * rows.from_stride];
  }
}

template <class E>
void CopyAnyRows(const Rows<E>& rows) {
  for (int64_t row = 0; row < rows.count; ++row) {
    CopyRow(rows, rows.from + row * rows.from_step, rows.to + row * rows.to_step);
  }
}

// Rows of kN elements that lie together on both sides, such as the channels of pixels.
template <class E, int64_t kN>
void CopyShortRows(const Rows<E>& rows) {
  const E* from = rows.from;
  E* to = rows.to;
  for (int64_t row = 0; row < rows.count; ++row, from += rows.from_step, to += rows.to_step) {
    for (int64_t i = 0; i < kN; ++i) to[i] = from[i];
  }
}

// Rows of some chunks that lie together on both sides.
template <class E>
void CopyChunkRows(const Rows<E>& rows) {
  const int64_t bytes = rows.n * static_cast<int64_t>(sizeof(E));
  const E* from = rows.from;
  E* to = rows.to;
  for (int64_t row = 0; row < rows.count; ++row, from += rows.from_step, to += rows.to_step) {
    CopyChunks(from, to, bytes);
  }
}

template <class E>
auto RowCopier(const Loop& loop) -> void (*)(const Rows<E>&) {
  const int last = loop.rank() - 1;
  if (loop.from[last] != 1 || loop.to[last] != 1) return CopyAnyRows<E>;
  const int64_t n = loop.dims[last];
  if (n == 2) return CopyShortRows<E, 2>;
  if (n == 3) return CopyShortRows<E, 3>;
  if (n == 4) return CopyShortRows<E, 4>;
  if constexpr (std::is_trivially_copyable_v<E>) {
    if (InChunks(n * static_cast<int64_t>(sizeof(E)))) return CopyChunkRows<E>;
  }
  return CopyAnyRows<E>;
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
  const int64_t pieces = (n + kGrain - 1) / kGrain;
  const int64_t count = Product(loop.dims, outer_rank);
  Rows<E> all{from, to, 1, 0, 0, n, loop.from[outer_rank], loop.to[outer_rank]};
  if (pieces > 1) {
    return ForBlocks(work, count * pieces, 1, [&](int64_t shard, int64_t) {
      const Odometer at(loop, outer_rank, shard / pieces);
      const int64_t begin = shard % pieces * kGrain;
      Rows<E> piece = all;
      piece.n = std::min(kGrain, n - begin);
      CopyRow(piece, from + at.from + begin * piece.from_stride,
              to + at.to + begin * piece.to_stride);
    });
  }
  if (outer_rank > 0) {
    all.from_step = loop.from[outer_rank - 1];
    all.to_step = loop.to[outer_rank - 1];
  }
  const auto copy = RowCopier<E>(loop);
  return ForBlocks(work, count, std::max<int64_t>(1, kGrain / n), [&](int64_t begin, int64_t end) {
    Odometer at(loop, outer_rank, begin);
    Rows<E> rows = all;
    for (int64_t row = begin; row < end; row += rows.count, at.Advance(rows.count)) {
      rows.from = from + at.from;
      rows.to = to + at.to;
      rows.count = std::min(end - row, at.Left());
      copy(rows);
    }
  });
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
    return tiles ? CopyTiles<E>(work, loop, source, target)
                 : CopyRows<E>(work, loop, source, target);
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
