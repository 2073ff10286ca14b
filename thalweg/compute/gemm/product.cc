// SPDX-License-Identifier: Apache-2.0
#include "thalweg/compute/gemm/product.h"

#include <algorithm>

namespace thalweg::compute {
namespace {

constexpr int64_t kPackedBytes = int64_t{16} << 20;  // of b, at most; larger products go in blocks
constexpr int64_t kTileRows = 280;   // of a shard, so that its a stays in the second-level cache
constexpr int64_t kLeastStrips = 8;  // of a shard that b has to reach through the caches
constexpr int64_t kDirectRows = 64;  // of a; fewer do not pay for packing b ...
constexpr int64_t kDirectRowsAvx512 = 160;  // ... with a large second-level cache
constexpr double kShardFlops = 2.5e6;       // some 25 us of one core
constexpr int64_t kMaxShards = 64;
constexpr int64_t kEnoughShards = 8;  // rows alone are cut then: a shard of columns reads all of a

int64_t CeilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

// How one block of columns and depth is cut into shards: rows first, then columns, never depth.
struct Split {
  int64_t rows;  // a shard
  int64_t row_shards;
  int64_t panels;  // a shard
  int64_t col_shards;
};

Split ChooseSplit(int64_t m, int64_t n, int64_t k, int64_t mr, int64_t nr) {
  const double flops =
      2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
  const int64_t wanted =
      std::clamp<int64_t>(static_cast<int64_t>(std::min(flops / kShardFlops, 1e9)), 1, kMaxShards);
  Split s;
  s.row_shards = std::clamp(wanted, CeilDiv(m, kTileRows), CeilDiv(m, kLeastStrips * mr));
  s.rows = CeilDiv(m, s.row_shards);
  s.row_shards = CeilDiv(m, s.rows);
  const int64_t panels = CeilDiv(n, nr);
  // Few rows: what is read is b alone, and every core should read its part.
  const int64_t enough = m <= kLeastStrips * mr ? 2 * kEnoughShards : kEnoughShards;
  const int64_t col_wanted =
      std::min(CeilDiv(std::min(wanted, enough), s.row_shards), std::max<int64_t>(panels / 2, 1));
  s.panels = CeilDiv(panels, col_wanted);
  s.col_shards = CeilDiv(panels, s.panels);
  return s;
}

// One block: columns [n0, n0 + n), depth [k0, k0 + k).
template <class T>
struct Block {
  const Product<T>& p;
  const GemmKernels<T>& kernels;
  int64_t n0, n, k0, k;
  const T* packed;       // [panel][k][nr], or null when direct
  const T* packed_tail;  // the last, partial panel of a direct block

  int64_t nr() const { return kernels.cols; }
  const T* Panel(int64_t panel, int64_t depth0, int64_t* stride) const {
    *stride = nr();
    if (packed != nullptr) return packed + (panel * k + depth0) * nr();
    if ((panel + 1) * nr() > n) return packed_tail + depth0 * nr();
    *stride = p.b_direct_stride;
    return p.b_direct + (k0 + depth0) * p.b_direct_stride + n0 + panel * nr();
  }
};

// Rows cut into what one call of a micro-kernel takes.
struct Strips {
  int64_t rows, strips;
  int64_t Begin(int64_t strip) const { return rows * strip / strips; }
};

// The rows of a shard for one pass over the depth.
template <class T>
struct Rows {
  int64_t first, count;
  const T* a;  // of the first row
  int64_t stride;
};

// What one call of a tile computes: rows [begin, begin + count) of `rows`, all of its panels.
template <class T>
GemmTile<T> MakeTile(const Block<T>& block, const Rows<T>& rows, int64_t depth0, int64_t depth,
                     int64_t panel, int64_t panels) {
  const Product<T>& p = block.p;
  const bool last = block.k0 + depth0 + depth == p.k;
  const int64_t nr = block.nr(), col = block.n0 + panel * nr;
  GemmTile<T> tile;
  tile.k = depth;
  tile.a = rows.a;
  tile.a_stride = rows.stride;
  tile.b = block.Panel(panel, depth0, &tile.b_stride);
  tile.panel_stride = block.packed != nullptr ? block.k * nr : nr;
  tile.prefetch = tile.b;
  tile.prefetch_step = 0;
  tile.c = p.c + rows.first * p.c_stride + col;
  tile.c_stride = p.c_stride;
  tile.cols = std::min(panels * nr, block.n - panel * nr);
  tile.accumulate = p.accumulate || block.k0 + depth0 > 0;
  tile.relu = last && p.relu;
  tile.bias = last && p.bias != nullptr ? p.bias + col : nullptr;
  tile.residual =
      last && p.residual != nullptr ? p.residual + rows.first * p.c_stride + col : nullptr;
  return tile;
}

template <class T>
void RunTiles(const Block<T>& block, const Rows<T>& rows, int64_t panel, int64_t panel_end,
              int64_t depth0, int64_t depth) {
  const GemmKernels<T>& kernels = block.kernels;
  const int64_t nr = block.nr();
  constexpr int64_t kLine = 64 / sizeof(T);
  const bool k_major = block.p.a_k_major;
  if (!k_major && rows.count <= kGemmWideRows) {
    const int64_t wide = kernels.wide_panels[rows.count];
    for (; panel + wide <= panel_end && (panel + wide) * nr <= block.n; panel += wide) {
      kernels.wide[rows.count](MakeTile(block, rows, depth0, depth, panel, wide));
    }
  }
  const Strips strips{rows.count, CeilDiv(rows.count, kernels.rows)};
  for (; panel < panel_end; ++panel) {
    GemmTile<T> tile = MakeTile(block, rows, depth0, depth, panel, 1);
    T* const c = tile.c;
    const T* const residual = tile.residual;
    const T* next = nullptr;
    int64_t step = 0;
    if (panel + 1 < panel_end) next = block.Panel(panel + 1, depth0, &step);
    const auto* tiles = kernels.tile[k_major][tile.cols > nr / 2];
    for (int64_t strip = 0; strip < strips.strips; ++strip) {
      const int64_t begin = strips.Begin(strip), count = strips.Begin(strip + 1) - begin;
      if (block.p.a_strips) {
        tile.a = rows.a + begin * depth;
        tile.a_stride = count;
      } else {
        tile.a = rows.a + (k_major ? begin : begin * rows.stride);
      }
      tile.c = c + begin * tile.c_stride;
      tile.residual = residual == nullptr ? nullptr : residual + begin * tile.c_stride;
      // A step of a panel is one or two cache lines; each of the first strips fetches one of them.
      const bool fetch = next != nullptr && strip * kLine < nr;
      tile.prefetch = fetch ? next + strip * kLine : tile.b;
      tile.prefetch_step = fetch ? step : 0;
      tiles[count](tile);
    }
  }
}

template <class T>
Status PackBlock(Work& work, const Block<T>& block, T* packed) {
  const int64_t panels = CeilDiv(block.n, block.nr());
  const int64_t group = std::max<int64_t>(1, 65536 / (block.k * block.nr()));
  return ForBlocks(work, panels, group, [&](int64_t begin, int64_t end) {
    for (int64_t panel = begin; panel < end; ++panel) {
      const int64_t col = panel * block.nr();
      block.p.pack_b(block.p.b_context, block.k0, block.k, block.n0 + col,
                     std::min(block.nr(), block.n - col), block.nr(), packed + col * block.k);
    }
  });
}

template <class T>
Status RunBlock(Work& work, const Block<T>& block) {
  const Product<T>& p = block.p;
  const int64_t panels = CeilDiv(block.n, block.nr());
  const Split split = ChooseSplit(p.m, block.n, block.k, block.kernels.rows, block.nr());
  return ForShards(work, split.row_shards * split.col_shards, [&](int64_t shard) {
    const int64_t row = shard / split.col_shards * split.rows;
    const int64_t rows = std::min(split.rows, p.m - row);
    const int64_t panel = shard % split.col_shards * split.panels;
    const int64_t panel_end = std::min(panel + split.panels, panels);
    if (rows <= 0) return true;
    const bool direct = p.a_direct != nullptr;
    Scratch<T> a(work, direct ? 0 : rows * kGemmTileStride);
    if (!a) return false;
    for (int64_t depth0 = 0; depth0 < block.k; depth0 += kGemmDepth) {
      const int64_t depth = std::min(kGemmDepth, block.k - depth0);
      Rows<T> shard_rows{row, rows, a.get(), p.a_k_major ? rows : kGemmTileStride};
      if (direct) {
        shard_rows.a = p.a_direct + row * p.a_direct_stride + block.k0 + depth0;
        shard_rows.stride = p.a_direct_stride;
      } else if (p.a_strips) {
        const Strips strips{rows, CeilDiv(rows, block.kernels.rows)};
        for (int64_t strip = 0; strip < strips.strips; ++strip) {
          const int64_t begin = strips.Begin(strip), count = strips.Begin(strip + 1) - begin;
          p.fill_a(p.a_context, row + begin, count, block.k0 + depth0, depth,
                   a.get() + begin * depth);
        }
      } else {
        p.fill_a(p.a_context, row, rows, block.k0 + depth0, depth, a.get());
      }
      RunTiles(block, shard_rows, panel, panel_end, depth0, depth);
    }
    return true;
  });
}

template <class T>
int64_t DirectRows(const IsaTable& isa, const Product<T>& p) {
  // Steps of b that are pages apart share too few sets of the cache to be read again and again.
  const bool collides = p.b_direct_stride * static_cast<int64_t>(sizeof(T)) % 4096 == 0;
  return isa.level == IsaLevel::kAvx512 && !collides ? kDirectRowsAvx512 : kDirectRows;
}

}  // namespace

template <class T>
Status RunProduct(Work& work, const Product<T>& p) {
  const GemmKernels<T>& kernels = GemmKernelsOf<T>(work.isa());
  if (p.b_packed != nullptr) {
    return RunBlock(work, Block<T>{p, kernels, 0, p.n, 0, p.k, p.b_packed, nullptr});
  }
  const int64_t nr = kernels.cols;
  constexpr int64_t kElements = kPackedBytes / sizeof(T);
  const bool direct = p.b_direct != nullptr && p.m <= DirectRows(work.isa(), p);
  const int64_t n_block = std::min(p.n, std::max(nr, kElements / kGemmDepth / nr * nr));
  const int64_t width = CeilDiv(n_block, nr) * nr;
  const int64_t k_most =
      std::max(kGemmDepth, kElements / (direct ? nr : width) / kGemmDepth * kGemmDepth);
  const int64_t k_block = std::min(p.k, k_most);
  const bool needs_pack = !direct || p.n % nr != 0;
  Scratch<T> packed(work, needs_pack ? (direct ? nr : width) * k_block : 0);
  if (!packed) return OutOfScratch();
  for (int64_t n0 = 0; n0 < p.n; n0 += n_block) {
    const int64_t n = std::min(n_block, p.n - n0);
    for (int64_t k0 = 0; k0 < p.k; k0 += k_block) {
      Block<T> block{p, kernels, n0, n, k0, std::min(k_block, p.k - k0), packed.get(), nullptr};
      if (direct) {
        block.packed_tail = block.packed;
        block.packed = nullptr;
        const int64_t col = n / nr * nr;
        if (col < n) p.pack_b(p.b_context, k0, block.k, n0 + col, n - col, nr, packed.get());
      } else {
        RETURN_IF_ERROR(PackBlock(work, block, packed.get()));
      }
      RETURN_IF_ERROR(RunBlock(work, block));
    }
  }
  return OkStatus();
}

template <class T>
int64_t PackedElements(const IsaTable& isa, int64_t n, int64_t k) {
  const int64_t nr = GemmKernelsOf<T>(isa).cols;
  int64_t elements;
  if (__builtin_mul_overflow(CeilDiv(n, nr) * nr, k, &elements)) return -1;
  return elements;
}

template <class T>
Status PackWhole(Work& work, const Product<T>& p, T* packed) {
  const GemmKernels<T>& kernels = GemmKernelsOf<T>(work.isa());
  return PackBlock(work, Block<T>{p, kernels, 0, p.n, 0, p.k, packed, nullptr}, packed);
}

#define THALWEG_INSTANTIATE(T)                                \
  template Status RunProduct<T>(Work&, const Product<T>&);    \
  template Status PackWhole<T>(Work&, const Product<T>&, T*); \
  template int64_t PackedElements<T>(const IsaTable&, int64_t, int64_t);
THALWEG_INSTANTIATE(float)
THALWEG_INSTANTIATE(double)
#undef THALWEG_INSTANTIATE

}  // namespace thalweg::compute
