// SPDX-License-Identifier: Apache-2.0
#include "thalweg/compute/gemm/product.h"

#include <algorithm>

namespace thalweg::compute {
namespace {

constexpr int64_t kPackedBytes = int64_t{16} << 20;  // of b, at most; larger products go in blocks
constexpr int64_t kTileRows = 140;   // of a, so that a tile stays in the second-level cache
constexpr int64_t kDirectRows = 64;  // of a; fewer do not pay for packing b
constexpr double kShardFlops = 2e6;  // some 25 us of one core
constexpr int64_t kMaxShards = 64;
constexpr int64_t kColumnShards =
    16;  // below so many, columns are cut too, at the price of filling tiles of a again

int64_t CeilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

// How one block of columns and depth is cut into shards.
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
  const int64_t most_rows = kTileRows / mr * mr;
  const int64_t least_rows = 4 * mr;
  Split s;
  s.rows = std::clamp(CeilDiv(CeilDiv(m, wanted), mr) * mr, least_rows, most_rows);
  s.row_shards = CeilDiv(m, s.rows);
  s.rows = CeilDiv(m, s.row_shards);
  const int64_t panels = CeilDiv(n, nr);
  const int64_t col_wanted = std::min(CeilDiv(std::min(wanted, kColumnShards), s.row_shards),
                                      std::max<int64_t>(panels / 4, 1));
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

template <class T>
void RunTiles(const Block<T>& block, int64_t row, int64_t rows, int64_t panel_begin,
              int64_t panel_end, int64_t depth0, int64_t depth, const T* a) {
  const Product<T>& p = block.p;
  const int64_t nr = block.nr();
  const bool last = block.k0 + depth0 + depth == p.k;
  GemmTile<T> tile;
  tile.k = depth;
  tile.a_stride = rows;
  tile.c_stride = p.c_stride;
  tile.accumulate = p.accumulate || block.k0 + depth0 > 0;
  tile.relu = last && p.relu;
  const int64_t strips = CeilDiv(rows, block.kernels.rows);
  for (int64_t panel = panel_begin; panel < panel_end; ++panel) {
    const int64_t col = block.n0 + panel * nr;
    tile.b = block.Panel(panel, depth0, &tile.b_stride);
    tile.cols = std::min(nr, block.n - panel * nr);
    tile.bias = last && p.bias != nullptr ? p.bias + col : nullptr;
    for (int64_t strip = 0; strip < strips; ++strip) {
      const int64_t begin = rows * strip / strips;
      const int64_t count = rows * (strip + 1) / strips - begin;
      const int64_t offset = (row + begin) * p.c_stride + col;
      tile.c = p.c + offset;
      tile.residual = last && p.residual != nullptr ? p.residual + offset : nullptr;
      if (p.a_k_major) {
        tile.a = a + begin;
        block.kernels.k_major[count](tile);
      } else {
        tile.a = a + begin * kGemmTileStride;
        block.kernels.row_major[count](tile);
      }
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
    Scratch<T> a(work, rows * kGemmTileStride);
    if (!a) return false;
    for (int64_t depth0 = 0; depth0 < block.k; depth0 += kGemmDepth) {
      const int64_t depth = std::min(kGemmDepth, block.k - depth0);
      p.fill_a(p.a_context, row, rows, block.k0 + depth0, depth, a.get());
      RunTiles(block, row, rows, panel, panel_end, depth0, depth, a.get());
    }
    return true;
  });
}

}  // namespace

template <class T>
Status RunProduct(Work& work, const Product<T>& p) {
  const GemmKernels<T>& kernels = GemmKernelsOf<T>(work.isa());
  const int64_t nr = kernels.cols;
  constexpr int64_t kElements = kPackedBytes / sizeof(T);
  const bool direct = p.b_direct != nullptr && p.m <= kDirectRows;
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

template Status RunProduct<float>(Work&, const Product<float>&);
template Status RunProduct<double>(Work&, const Product<double>&);

}  // namespace thalweg::compute
