// SPDX-License-Identifier: Apache-2.0
#include "thalweg/compute/gemm/product.h"

#include <algorithm>

namespace thalweg::compute {
namespace {

// So much of b stays in the second-level cache; larger products go in blocks.
constexpr int64_t kPackedBytes = int64_t{1} << 20;
constexpr int64_t kPackElements = 65536;    // that one shard packs
constexpr int64_t kTileRows = 280;          // of a shard
constexpr int64_t kFillRows = 112;          // of a, copied at a time
constexpr int64_t kFillSteps = 16;          // of a or b, copied side by side
constexpr int64_t kFewStrips = 3;           // of a, so few that each panel of b is read once
constexpr int64_t kAhead = 8;               // steps of b that are asked for before they are needed
constexpr int64_t kLeastStrips = 8;         // of a shard that b has to reach through the caches
constexpr int64_t kDirectRows = 64;         // of a; fewer do not pay for packing b ...
constexpr int64_t kDirectRowsAvx512 = 160;  // ... with a large second-level cache
// A large b is copied for all but very few rows: read in place each of its steps is another page.
constexpr int64_t kDirectBytes = int64_t{2} << 20;
constexpr int64_t kDirectRowsOfLarge = 8;
constexpr double kShardFlops = 2.5e6;  // some 25 us of one core
constexpr double kShardBytes = 256e3;  // of b, which few rows wait for
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

// at_once: the panels that one call of a tile takes of so few rows.
Split ChooseSplit(int64_t m, int64_t n, int64_t k, int64_t mr, int64_t nr, int64_t at_once,
                  int64_t element) {
  const double products = static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
  const double b_bytes = products / static_cast<double>(m) * static_cast<double>(element);
  const double shards = std::max(2 * products / kShardFlops, b_bytes / kShardBytes);
  const int64_t wanted =
      std::clamp<int64_t>(static_cast<int64_t>(std::min(shards, 1e9)), 1, kMaxShards);
  Split s;
  s.row_shards = std::clamp(wanted, CeilDiv(m, kTileRows), CeilDiv(m, kLeastStrips * mr));
  s.rows = CeilDiv(m, s.row_shards);
  s.row_shards = CeilDiv(m, s.rows);
  const int64_t panels = CeilDiv(n, nr);
  // Few rows: what is read is b alone, and every core should read its part.
  const int64_t enough = m <= kLeastStrips * mr ? 2 * kEnoughShards : kEnoughShards;
  const int64_t col_wanted =
      std::min(CeilDiv(std::min(wanted, enough), s.row_shards), std::max<int64_t>(panels / 2, 1));
  s.panels = CeilDiv(CeilDiv(panels, col_wanted), at_once) * at_once;
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

// Rows for one pass over the depth.
template <class T>
struct Rows {
  int64_t first, count;
  const T* a;  // of the first row
  int64_t stride;
  bool strips;  // each strip of a k-major a is stored by itself, one behind the other

  // The rows [begin, begin + size).
  Rows Part(int64_t begin, int64_t size, bool k_major, int64_t depth) const {
    if (strips) return {first + begin, size, a + begin * depth, size, true};
    return {first + begin, size, a + (k_major ? begin : begin * stride), stride, false};
  }
};

// What one call of a tile computes: `rows` of `panels`, for one pass over the depth.
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
  tile.next = tile.b + kAhead * tile.b_stride;
  tile.next_step = tile.b_stride;
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

// Asks for the part-th of `parts` of the rows of a, row-major, that come next.
template <class T>
void PrefetchRows(const Rows<T>& rows, int64_t depth, int64_t part, int64_t parts) {
  constexpr int64_t kLine = 64 / sizeof(T);
  const int64_t lines = CeilDiv(depth, kLine), all = rows.count * lines;
  for (int64_t i = all * part / parts; i < all * (part + 1) / parts; ++i) {
    __builtin_prefetch(rows.a + i / lines * rows.stride + i % lines * kLine, 0, 2);
  }
}

template <class T>
void RunTiles(const Block<T>& block, const Rows<T>& rows, int64_t panel, int64_t panel_end,
              int64_t depth0, int64_t depth) {
  const GemmKernels<T>& kernels = block.kernels;
  const int64_t nr = block.nr();
  const bool k_major = block.p.a_k_major;
  if (!k_major && rows.count <= kGemmWideRows) {
    const int64_t wide = kernels.wide_panels[rows.count];
    for (; panel + wide <= panel_end && (panel + wide) * nr <= block.n; panel += wide) {
      kernels.wide[rows.count](MakeTile(block, rows, depth0, depth, panel, wide));
    }
  }
  const Strips strips{rows.count, CeilDiv(rows.count, kernels.rows)};
  const auto strip_rows = [&](int64_t strip) {
    const int64_t begin = strips.Begin(strip);
    return rows.Part(begin, strips.Begin(strip + 1) - begin, k_major, depth);
  };
  const auto run = [&](const Rows<T>& strip, int64_t at) {
    const GemmTile<T> tile = MakeTile(block, strip, depth0, depth, at, 1);
    kernels.tile[k_major][tile.cols > nr / 2][strip.count](tile);
  };
  if (block.packed == nullptr) {  // b as it lies in memory: what was read of it serves all strips
    for (; panel < panel_end; ++panel) {
      for (int64_t strip = 0; strip < strips.strips; ++strip) run(strip_rows(strip), panel);
    }
    return;
  }
  if (strips.strips <= kFewStrips) {
    // A panel serves all strips while the next one comes from afar, a part of it during each.
    for (int64_t at = panel; at < panel_end; ++at) {
      const int64_t size = depth * nr, part = size / strips.strips;
      for (int64_t strip = 0; strip < strips.strips; ++strip) {
        const Rows<T> now = strip_rows(strip);
        GemmTile<T> tile = MakeTile(block, now, depth0, depth, at, 1);
        if (at + 1 < panel_end) {
          tile.next = tile.b + tile.panel_stride + strip * part;
          tile.next_step = nr / strips.strips;
        }
        kernels.tile[k_major][tile.cols > nr / 2][now.count](tile);
      }
    }
    return;
  }
  // A strip stays in the first-level cache, panels come to it from the second-level one.
  for (int64_t strip = 0; strip < strips.strips; ++strip) {
    const Rows<T> now = strip_rows(strip);
    const bool fetch = !k_major && strip + 1 < strips.strips;
    for (int64_t at = panel; at < panel_end; ++at) {
      if (fetch) PrefetchRows(strip_rows(strip + 1), depth, at - panel, panel_end - panel);
      run(now, at);
    }
  }
}

// Rows [row, row + rows) of the block times panels [panel, panel_end), one pass over the depth.
// `tile` has room for a copy of kFillRows rows, unless they are read in place.
template <class T>
void RunRows(const Block<T>& block, int64_t row, int64_t rows, int64_t panel, int64_t panel_end,
             int64_t depth0, int64_t depth, T* tile) {
  const Product<T>& p = block.p;
  if (p.a_direct != nullptr) {
    const T* a = p.a_direct + row * p.a_direct_stride + block.k0 + depth0;
    RunTiles(block, Rows<T>{row, rows, a, p.a_direct_stride, false}, panel, panel_end, depth0,
             depth);
    return;
  }
  const Strips parts{rows, CeilDiv(rows, kFillRows)};
  for (int64_t part = 0; part < parts.strips; ++part) {
    const int64_t begin = parts.Begin(part), count = parts.Begin(part + 1) - begin;
    if (p.a_strips) {
      // Few steps of all strips at a time: a step of them lies side by side in memory.
      const Strips strips{count, CeilDiv(count, block.kernels.rows)};
      for (int64_t k = 0; k < depth; k += kFillSteps) {
        for (int64_t strip = 0; strip < strips.strips; ++strip) {
          const int64_t first = strips.Begin(strip), size = strips.Begin(strip + 1) - first;
          p.fill_a(p.a_context, row + begin + first, size, block.k0 + depth0 + k,
                   std::min(kFillSteps, depth - k), tile + first * depth + k * size);
        }
      }
    } else {
      p.fill_a(p.a_context, row + begin, count, block.k0 + depth0, depth, tile);
    }
    const int64_t stride = p.a_k_major ? count : kGemmTileStride;
    RunTiles(block, Rows<T>{row + begin, count, tile, stride, p.a_strips}, panel, panel_end, depth0,
             depth);
  }
}

template <class T>
Status PackBlock(Work& work, const Block<T>& block, T* packed) {
  const Product<T>& p = block.p;
  const int64_t nr = block.nr(), panels = CeilDiv(block.n, nr);
  const int64_t group = std::max<int64_t>(1, kPackElements / (block.k * nr));
  // Few rows of all panels at a time, where a row lies side by side in memory.
  const int64_t most = p.b_direct != nullptr ? kFillSteps : block.k;
  return ForBlocks(work, panels, group, [&](int64_t begin, int64_t end) {
    for (int64_t k = 0; k < block.k; k += most) {
      for (int64_t panel = begin; panel < end; ++panel) {
        const int64_t col = panel * nr;
        p.pack_b(p.b_context, block.k0 + k, std::min(most, block.k - k), block.n0 + col,
                 std::min(nr, block.n - col), nr, packed + col * block.k + k * nr);
      }
    }
  });
}

template <class T>
Status RunBlock(Work& work, const Block<T>& block) {
  const Product<T>& p = block.p;
  const int64_t panels = CeilDiv(block.n, block.nr());
  const bool wide = !p.a_k_major && p.m <= kGemmWideRows;
  const Split split = ChooseSplit(p.m, block.n, block.k, block.kernels.rows, block.nr(),
                                  wide ? block.kernels.wide_panels[p.m] : 1, sizeof(T));
  return ForShards(work, split.row_shards * split.col_shards, [&](int64_t shard) {
    const int64_t row = shard / split.col_shards * split.rows;
    const int64_t rows = std::min(split.rows, p.m - row);
    const int64_t panel0 = shard % split.col_shards * split.panels;
    const int64_t panel_end = std::min(panel0 + split.panels, panels);
    if (rows <= 0) return true;
    Scratch<T> a(work, p.a_direct != nullptr ? 0 : std::min(rows, kFillRows) * kGemmTileStride);
    if (!a) return false;
    // As many panels at a time as the second-level cache holds.
    const auto most = static_cast<int64_t>(kPackedBytes / sizeof(T) /
                                           static_cast<size_t>(kGemmDepth * block.nr()));
    for (int64_t panel = panel0; panel < panel_end; panel += most) {
      for (int64_t depth0 = 0; depth0 < block.k; depth0 += kGemmDepth) {
        RunRows(block, row, rows, panel, std::min(panel + most, panel_end), depth0,
                std::min(kGemmDepth, block.k - depth0), a.get());
      }
    }
    return true;
  });
}

template <class T>
int64_t DirectRows(const IsaTable& isa, const Product<T>& p) {
  if (p.k * p.n * static_cast<int64_t>(sizeof(T)) > kDirectBytes) return kDirectRowsOfLarge;
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
  const int64_t n_block =
      direct ? p.n : std::min(p.n, std::max(nr, kElements / kGemmDepth / nr * nr));
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
