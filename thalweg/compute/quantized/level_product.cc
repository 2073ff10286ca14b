// SPDX-License-Identifier: Apache-2.0
// Inside, a is of unsigned bytes and b of signed ones: a byte's highest bit flipped adds 128 to
// what is signed and takes it from what is not, and the zeros move along. So one kind of
// instruction serves all types; what the zeros add to a sum follows from the sums of rows and of
// columns.
#include "thalweg/compute/quantized/level_product.h"

#include <immintrin.h>

#include <algorithm>
#include <cstring>
#include <type_traits>
#include <utility>

#include "thalweg/compute/isa/leaf.h"
#include "thalweg/compute/isa/tiles.h"
#include "thalweg/compute/quantized/level_tiles.h"

namespace thalweg::compute {
namespace {

constexpr int kMaxRows = 32;
constexpr int64_t kMaxTile = kMaxRows * 32;
constexpr int64_t kRowBlock = 96;      // a multiple of every kernel's rows
constexpr int64_t kColumnBlock = 256;  // and of every kernel's columns

// tile[i * columns + j] = the sum over all steps of a panel of rows of a times one of columns of b.
// Packed are [steps][rows or columns][depth] elements of Element.
using TileFn = void (*)(int64_t steps, const void* a, const void* b, int32_t* tile);
// The same of rows that are not packed: each of their pieces has `steps` steps and lies at
// a[piece * rows + row].
using TileInPlaceFn = void (*)(int64_t pieces, int64_t steps, const uint8_t* const* a,
                               const void* b, int32_t* tile);

// The four or two bytes that one row of a gives to a step, in every lane.
template <class Element>
int32_t LaneOf(const Element* a) {
  int32_t lane;
  std::memcpy(&lane, a, sizeof lane);
  return lane;
}

struct Sse4 {
  using Element = int16_t;
  static constexpr int kRows = 4, kColumns = 8, kDepth = 2;
  template <int R>
  static void Tile(int64_t steps, const void* a_panel, const void* b_panel, int32_t* tile) {
    const auto* a = static_cast<const Element*>(a_panel);
    const auto* b = static_cast<const __m128i*>(b_panel);
    __m128i sum[R][2];
#pragma GCC unroll 16
    for (auto& row : sum) row[0] = row[1] = _mm_setzero_si128();
    for (int64_t s = 0; s < steps; ++s, a += R * kDepth, b += 2) {
#pragma GCC unroll 16
      for (int r = 0; r < R; ++r) {
        const __m128i lane = _mm_set1_epi32(LaneOf(a + r * kDepth));
        sum[r][0] = _mm_add_epi32(sum[r][0], _mm_madd_epi16(lane, _mm_loadu_si128(b)));
        sum[r][1] = _mm_add_epi32(sum[r][1], _mm_madd_epi16(lane, _mm_loadu_si128(b + 1)));
      }
    }
    auto* to = reinterpret_cast<__m128i*>(tile);
#pragma GCC unroll 16
    for (const auto& row : sum) {
      _mm_store_si128(to++, row[0]);
      _mm_store_si128(to++, row[1]);
    }
  }
};

struct Avx2 {
  using Element = int16_t;
  static constexpr int kRows = 6, kColumns = 16, kDepth = 2;
  template <int R>
  [[gnu::target("avx2")]] static void Tile(int64_t steps, const void* a_panel, const void* b_panel,
                                           int32_t* tile) {
    const auto* a = static_cast<const Element*>(a_panel);
    const auto* b = static_cast<const __m256i*>(b_panel);
    __m256i sum[R][2];
#pragma GCC unroll 16
    for (auto& row : sum) row[0] = row[1] = _mm256_setzero_si256();
    for (int64_t s = 0; s < steps; ++s, a += R * kDepth, b += 2) {
      const __m256i b0 = _mm256_loadu_si256(b), b1 = _mm256_loadu_si256(b + 1);
#pragma GCC unroll 16
      for (int r = 0; r < R; ++r) {
        const __m256i lane = _mm256_set1_epi32(LaneOf(a + r * kDepth));
        sum[r][0] = _mm256_add_epi32(sum[r][0], _mm256_madd_epi16(lane, b0));
        sum[r][1] = _mm256_add_epi32(sum[r][1], _mm256_madd_epi16(lane, b1));
      }
    }
    auto* to = reinterpret_cast<__m256i*>(tile);
#pragma GCC unroll 16
    for (const auto& row : sum) {
      _mm256_store_si256(to++, row[0]);
      _mm256_store_si256(to++, row[1]);
    }
  }
};

// No level has these instructions, which need no others to be of use: they are asked for alone.
struct Vnni {
  using Element = uint8_t;
  static constexpr int kRows = 12, kColumns = 32, kDepth = 4;
  template <int R>
  [[gnu::target("avx512f,avx512bw,avx512vnni")]] static void Tile(int64_t steps,
                                                                  const void* a_panel,
                                                                  const void* b_panel,
                                                                  int32_t* tile) {
    const auto* a = static_cast<const Element*>(a_panel);
    const auto* b = static_cast<const __m512i*>(b_panel);
    __m512i sum[R][2];
#pragma GCC unroll 16
    for (auto& row : sum) row[0] = row[1] = _mm512_setzero_si512();
    for (int64_t s = 0; s < steps; ++s, a += R * kDepth, b += 2) {
      const __m512i b0 = _mm512_loadu_si512(b), b1 = _mm512_loadu_si512(b + 1);
#pragma GCC unroll 16
      for (int r = 0; r < R; ++r) {
        const __m512i lane = _mm512_set1_epi32(LaneOf(a + r * kDepth));
        sum[r][0] = _mm512_dpbusd_epi32(sum[r][0], lane, b0);
        sum[r][1] = _mm512_dpbusd_epi32(sum[r][1], lane, b1);
      }
    }
    Store<R>(sum, tile);
  }
  template <int R>
  [[gnu::target("avx512f,avx512bw,avx512vnni")]] static void TileInPlace(
      int64_t pieces, int64_t steps, const uint8_t* const* a, const void* b_panel, int32_t* tile) {
    const auto* b = static_cast<const __m512i*>(b_panel);
    __m512i sum[R][2];
#pragma GCC unroll 16
    for (auto& row : sum) row[0] = row[1] = _mm512_setzero_si512();
    for (int64_t p = 0; p < pieces; ++p, a += R) {
      const Element* row[R];
#pragma GCC unroll 16
      for (int r = 0; r < R; ++r) row[r] = a[r];
      for (int64_t s = 0; s < steps; ++s, b += 2) {
        const __m512i b0 = _mm512_loadu_si512(b), b1 = _mm512_loadu_si512(b + 1);
#pragma GCC unroll 16
        for (int r = 0; r < R; ++r) {
          const __m512i lane = _mm512_set1_epi32(LaneOf(row[r] + s * kDepth));
          sum[r][0] = _mm512_dpbusd_epi32(sum[r][0], lane, b0);
          sum[r][1] = _mm512_dpbusd_epi32(sum[r][1], lane, b1);
        }
      }
    }
    Store<R>(sum, tile);
  }
  template <int R>
  [[gnu::target("avx512f,avx512bw,avx512vnni"), gnu::always_inline]] static void Store(
      const __m512i (&sum)[R][2], int32_t* tile) {
    auto* to = reinterpret_cast<__m512i*>(tile);
#pragma GCC unroll 16
    for (const auto& row : sum) {
      _mm512_store_si512(to++, row[0]);
      _mm512_store_si512(to++, row[1]);
    }
  }
};

// Tiles, whose steps are of 64 bytes.
struct Tiles {
  using Element = uint8_t;
  static constexpr int kRows = level_tiles::kRows, kColumns = level_tiles::kColumns,
                       kDepth = level_tiles::kDepth;
  template <int R>
  static void Tile(int64_t steps, const void* a, const void* b, int32_t* tile) {
    level_tiles::Multiply(steps, R, static_cast<const uint8_t*>(a), static_cast<const uint8_t*>(b),
                          tile);
  }
};

uint8_t FlipOf(bool flips) { return flips ? 0x80 : 0; }

// One step of one row of a.
template <class Element, int64_t kDepth>
void PackLane(const uint8_t* levels, uint8_t flip, Element* lane) {
  for (int64_t d = 0; d < kDepth; ++d) lane[d] = static_cast<uint8_t>(levels[d] ^ flip);
}

// Rows that a panel has room for.
template <class Isa>
int64_t RoomFor(int64_t rows) {
  return std::is_same_v<Isa, Tiles> ? level_tiles::PackedRows(rows) : rows;
}

// A panel of `rows` rows of a, [rows, k] with strides, and, unless null, the rows' sums.
template <class Isa>
void PackRows(int64_t rows, int64_t k, const uint8_t* from, int64_t row_stride, int64_t step,
              uint8_t flip, void* panel, uint32_t* sums) {
  constexpr int64_t kDepth = Isa::kDepth;
  const int64_t room = RoomFor<Isa>(rows);
  using Element = typename Isa::Element;
  auto* const to = static_cast<Element*>(panel);
  const int64_t whole = step == 1 ? k / kDepth : 0, steps = (k + kDepth - 1) / kDepth;
  for (int64_t r = 0; r < rows; ++r) {
    const uint8_t* const row = from + r * row_stride;
    for (int64_t s = 0; s < whole; ++s) {
      PackLane<Element, kDepth>(row + s * kDepth, flip, to + (s * room + r) * kDepth);
    }
    for (int64_t s = whole; s < steps; ++s) {
      uint8_t rest[kDepth];
      const int64_t first = s * kDepth, some = std::min(kDepth, k - first);
      if (step == 1) {
        std::memcpy(rest, row + first, static_cast<size_t>(some));
      } else {
        for (int64_t d = 0; d < some; ++d) rest[d] = row[(first + d) * step];
      }
      std::memset(rest + some, flip, static_cast<size_t>(kDepth - some));  // flipped it is none
      PackLane<Element, kDepth>(rest, flip, to + (s * room + r) * kDepth);
    }
    if (sums == nullptr) continue;
    uint32_t sum = 0;
    for (int64_t l = 0; l < k; ++l) sum += static_cast<uint8_t>(row[l * step] ^ flip);
    sums[r] = sum;
  }
}

// What a byte of b means: its bits, flipped, as a signed one.
int16_t SignedLevel(uint8_t level, uint8_t flip) {
  return static_cast<int16_t>((level ^ flip ^ 0x80) - 0x80);
}

// A panel of columns of b, [k, columns] with strides, and the columns' sums.
template <class Isa>
void PackColumns(int64_t k, int64_t columns, const uint8_t* from, int64_t step, int64_t stride,
                 uint8_t flip, void* panel, uint32_t* sums) {
  constexpr int64_t kDepth = Isa::kDepth, kColumns = Isa::kColumns;
  auto* to = static_cast<typename Isa::Element*>(panel);
  uint32_t sum[kColumns] = {};
  for (int64_t l = 0; l < k; l += kDepth, to += kColumns * kDepth) {
    int16_t rows[kDepth][kColumns] = {};
    for (int64_t d = 0; d < std::min(kDepth, k - l); ++d) {
      const uint8_t* const row = from + (l + d) * step;
      if (stride == 1 && columns == kColumns) {
        for (int64_t j = 0; j < kColumns; ++j) rows[d][j] = SignedLevel(row[j], flip);
      } else {
        for (int64_t j = 0; j < columns; ++j) rows[d][j] = SignedLevel(row[j * stride], flip);
      }
      for (int64_t j = 0; j < kColumns; ++j) sum[j] += static_cast<uint32_t>(rows[d][j]);
    }
    for (int64_t j = 0; j < kColumns; ++j) {
      for (int64_t d = 0; d < kDepth; ++d) {
        to[j * kDepth + d] = static_cast<typename Isa::Element>(rows[d][j]);
      }
    }
  }
  for (int64_t j = 0; j < columns; ++j) sums[j] = sum[j];
}

// The same for tiles: steps of four bytes, and zeros up to whole ones of 64.
void PackTileColumns(int64_t k, int64_t columns, const uint8_t* from, int64_t step, int64_t stride,
                     uint8_t flip, void* panel, uint32_t* sums) {
  PackColumns<Vnni>(k, columns, from, step, stride, flip, panel, sums);
  constexpr int64_t kBytes = Vnni::kDepth * Vnni::kColumns;
  const int64_t steps = (k + Vnni::kDepth - 1) / Vnni::kDepth;
  const int64_t all = (k + Tiles::kDepth - 1) / Tiles::kDepth * (Tiles::kDepth / Vnni::kDepth);
  std::memset(static_cast<uint8_t*>(panel) + steps * kBytes, 0,
              static_cast<size_t>((all - steps) * kBytes));
}

struct LevelKernel {
  int64_t rows, columns, depth, element;
  bool tiles;
  TileFn tile[kMaxRows + 1];  // [r]: of r rows
  TileInPlaceFn tile_in_place[kMaxRows + 1];
  decltype(&PackRows<Sse4>) pack_rows;
  decltype(&PackColumns<Sse4>) pack_columns;

  // Whether tiles read rows of a that are not packed, or could be packed from where they lie.
  bool InPlace() const { return tile_in_place[1] != nullptr; }
  int64_t Room(int64_t rows) const { return tiles ? level_tiles::PackedRows(rows) : rows; }
  int64_t Steps(int64_t k) const { return (k + depth - 1) / depth; }
  int64_t Panels(int64_t n) const { return (n + columns - 1) / columns; }
  int64_t RowBytes(int64_t k) const { return Steps(k) * depth * element; }
  int64_t PanelBytes(int64_t k) const { return RowBytes(k) * columns; }
};

template <class Isa, int R>
constexpr TileInPlaceFn TileInPlaceOf() {
  if constexpr (requires { &Isa::template TileInPlace<R>; }) return &Isa::template TileInPlace<R>;
  return nullptr;
}

template <class Isa, int... R>
constexpr LevelKernel MakeKernel(std::integer_sequence<int, R...>) {
  return {Isa::kRows,
          Isa::kColumns,
          Isa::kDepth,
          sizeof(typename Isa::Element),
          std::is_same_v<Isa, Tiles>,
          {nullptr, &Isa::template Tile<R + 1>...},
          {nullptr, TileInPlaceOf<Isa, R + 1>()...},
          &PackRows<Isa>,
          std::is_same_v<Isa, Tiles> ? &PackTileColumns : &PackColumns<Isa>};
}

const LevelKernel& KernelOf(const IsaTable& isa) {
  static constexpr LevelKernel kSse4 = MakeKernel<Sse4>(std::make_integer_sequence<int, 4>()),
                               kAvx2 = MakeKernel<Avx2>(std::make_integer_sequence<int, 6>()),
                               kVnni = MakeKernel<Vnni>(std::make_integer_sequence<int, 12>()),
                               kTiles = MakeKernel<Tiles>(std::make_integer_sequence<int, 32>());
  if (isa.level >= IsaLevel::kAvx512 && HasTiles(TileKind::kBytes)) return kTiles;
  if (isa.level >= IsaLevel::kAvx512 && __builtin_cpu_supports("avx512vnni")) return kVnni;
  return isa.level >= IsaLevel::kAvx2 ? kAvx2 : kSse4;
}

Status CheckType(DType dtype) {
  if (dtype == DType::kQint8 || dtype == DType::kQuint8) return OkStatus();
  return Unimplemented("a product of levels of type ", dtype);
}

struct AddTerms {
  [[gnu::always_inline]] static void Run(uint32_t of_row, const uint32_t* of_columns, int64_t n,
                                         int32_t* sums) {
    for (int64_t j = 0; j < n; ++j) {
      sums[j] = static_cast<int32_t>(static_cast<uint32_t>(sums[j]) + of_row - of_columns[j]);
    }
  }
};

// Some rows of a, as the tiles want them: packed, or where their pieces lie.
struct TileRows {
  const uint8_t* packed = nullptr;
  const uint8_t* const* places = nullptr;
  const uint32_t* sums = nullptr;  // read where b has a zero
};

// A product: all of b, and blocks of rows of a.
struct Product {
  const IsaTable& isa;
  const LevelKernel& kernel;
  const ProductSize& size;
  const LevelMatrix& a;
  int64_t pieces;  // of a row of a that is read in place, or 0
  uint32_t a_zero, b_zero;
  const uint8_t* panels;         // of b
  const uint32_t* column_terms;  // a_zero times the columns' sums
  const LevelSums& to;

  // Rows [first, first + rows) times one panel.
  void Multiply(int64_t first, int64_t rows, const TileRows& from, int64_t panel) const {
    alignas(64) int32_t tile[kMaxTile];
    const uint8_t* const b = panels + panel * kernel.PanelBytes(size.k);
    if (pieces > 0 && kernel.InPlace()) {
      kernel.tile_in_place[rows](pieces, kernel.Steps(size.k / pieces), from.places, b, tile);
    } else {
      kernel.tile[rows](kernel.Steps(size.k), from.packed, b, tile);
    }
    const int64_t column = panel * kernel.columns;
    const int64_t columns = std::min(kernel.columns, size.n - column);
    if (a_zero != 0 || b_zero != 0) {
      const uint32_t both = static_cast<uint32_t>(size.k) * a_zero * b_zero;
      for (int64_t r = 0; r < rows; ++r) {
        RunLeaf<AddTerms>(isa, b_zero == 0 ? 0 : both - b_zero * from.sums[r],
                          column_terms + column, columns, tile + r * kernel.columns);
      }
    }
    to.Take({.row = first,
             .rows = rows,
             .column = column,
             .columns = columns,
             .sums = tile,
             .stride = kernel.columns});
  }

  // Where the pieces of rows [first, first + rows) lie.
  void Locate(int64_t first, int64_t rows, const uint8_t** places) const {
    if (a.rows != nullptr) return a.rows->Locate(first, rows, places);
    for (int64_t r = 0; r < rows; ++r) {
      places[r] = static_cast<const uint8_t*>(a.levels) + (first + r) * size.k;
    }
  }
};

// How many pieces the rows of a have that are read where they lie, or 0: bytes as they are, in
// whole steps, whose sum nobody asks for.
int64_t PiecesInPlace(const LevelKernel& kernel, const ProductSize& size, const LevelMatrix& a,
                      uint32_t b_zero) {
  if (!(kernel.InPlace() || kernel.tiles) || a.dtype != DType::kQuint8 || a.transposed) return 0;
  const int64_t pieces = a.rows == nullptr ? 1 : a.rows->pieces();
  return b_zero == 0 && pieces > 0 && size.k / pieces % kernel.depth == 0 ? pieces : 0;
}

// Some rows of a, packed or located, tile by tile.
class RowBlock {
 public:
  RowBlock(Work& work, const Product& product, int64_t begin, int64_t end)
      : product_(product),
        begin_(begin),
        end_(end),
        packs_(product.pieces == 0 || !product.kernel.InPlace()),
        places_(work, product.pieces * (end - begin)),
        packed_(work,
                packs_ ? product.kernel.Room(end - begin) * product.kernel.RowBytes(Depth()) : 0),
        copied_(work,
                product.pieces > 0 || product.a.rows == nullptr ? 0 : (end - begin) * Depth()) {}

  // False where memory was refused.
  bool Fill() {
    if (!places_ || !packed_ || !copied_) return false;
    const LevelMatrix& a = product_.a;
    const int64_t k = Depth(), tile = product_.kernel.rows;
    const int64_t stride = a.transposed ? 1 : k, step = a.transposed ? product_.size.m : 1;
    const auto* from = static_cast<const uint8_t*>(a.levels) + begin_ * stride;
    if (product_.pieces == 0 && a.rows != nullptr) {
      a.rows->Copy(begin_, end_ - begin_, copied_.get());
      from = copied_.get();
    }
    for (int64_t i = begin_; i < end_; i += tile) {
      const int64_t rows = std::min(tile, end_ - i), at = i - begin_;
      if (product_.pieces > 0) {
        const uint8_t** const places = places_.get() + at * product_.pieces;
        product_.Locate(i, rows, places);
        if (packs_) {
          level_tiles::PackPieces(product_.pieces, product_.kernel.Steps(k / product_.pieces), rows,
                                  places, packed_.get() + at * product_.kernel.RowBytes(k));
        }
        continue;
      }
      product_.kernel.pack_rows(rows, k, from + at * stride, stride, step,
                                FlipOf(a.dtype == DType::kQint8),
                                packed_.get() + at * product_.kernel.RowBytes(k),
                                product_.b_zero == 0 ? nullptr : sums_ + at);
    }
    return true;
  }

  void Multiply(int64_t panel) const {
    for (int64_t i = begin_; i < end_; i += product_.kernel.rows) {
      const int64_t at = i - begin_;
      TileRows rows{.sums = sums_ + at};
      if (!packs_) {
        rows.places = places_.get() + at * product_.pieces;
      } else {
        rows.packed = packed_.get() + at * product_.kernel.RowBytes(Depth());
      }
      product_.Multiply(i, std::min(product_.kernel.rows, end_ - i), rows, panel);
    }
  }

 private:
  int64_t Depth() const { return product_.size.k; }

  const Product& product_;
  const int64_t begin_, end_;
  const bool packs_;
  Scratch<const uint8_t*> places_;
  Scratch<uint8_t> packed_, copied_;
  uint32_t sums_[kRowBlock] = {};
};

Status MultiplyAll(Work& work, const Product& product) {
  const LevelKernel& kernel = product.kernel;
  const int64_t m = product.size.m, n = product.size.n;
  const int64_t row_blocks = (m + kRowBlock - 1) / kRowBlock;
  // Few rows are cut by columns, too, whose panels meet one block of rows after the other.
  const int64_t width = m >= 8 * kRowBlock ? n : kColumnBlock;
  const int64_t column_blocks = (n + width - 1) / width;
  return ForShards(work, row_blocks * column_blocks, [&](int64_t shard) {
    const int64_t begin = shard % row_blocks * kRowBlock, end = std::min(m, begin + kRowBlock);
    const int64_t left = shard / row_blocks * width, right = std::min(n, left + width);
    RowBlock rows(work, product, begin, end);
    if (!rows.Fill()) return false;
    const TileSetting setting(kernel.tiles);
    for (int64_t panel = left / kernel.columns; panel < kernel.Panels(right); ++panel) {
      if (work.cancelled()) return true;
      rows.Multiply(panel);
    }
    return true;
  });
}

// The sums themselves.
class PlainSums final : public LevelSums {
 public:
  PlainSums(int64_t n, int32_t* to) : n_(n), to_(to) {}
  void Take(const SumTile& tile) const override {
    for (int64_t r = 0; r < tile.rows; ++r) {
      std::memcpy(to_ + (tile.row + r) * n_ + tile.column, tile.sums + r * tile.stride,
                  static_cast<size_t>(tile.columns) * sizeof(int32_t));
    }
  }

 private:
  const int64_t n_;
  int32_t* const to_;
};

}  // namespace

int64_t PackedLevelsSize(const IsaTable& isa, const ProductSize& size) {
  const LevelKernel& kernel = KernelOf(isa);
  return kernel.Panels(size.n) *
         (kernel.PanelBytes(size.k) + kernel.columns * static_cast<int64_t>(sizeof(uint32_t)));
}

Status PackLevels(Work& work, const ProductSize& size, const LevelMatrix& b, void* packed) {
  RETURN_IF_ERROR(CheckType(b.dtype));
  if (size.k == 0) return OkStatus();  // no product reads it, and b may lie nowhere
  const LevelKernel& kernel = KernelOf(work.isa());
  const int64_t bytes = kernel.PanelBytes(size.k);
  auto* const panels = static_cast<uint8_t*>(packed);
  auto* const sums = reinterpret_cast<uint32_t*>(panels + kernel.Panels(size.n) * bytes);
  const int64_t step = b.transposed ? 1 : size.n, stride = b.transposed ? size.k : 1;
  return ForBlocks(work, kernel.Panels(size.n), 8, [&](int64_t begin, int64_t end) {
    for (int64_t panel = begin; panel < end && !work.cancelled(); ++panel) {
      const int64_t column = panel * kernel.columns;
      kernel.pack_columns(size.k, std::min(kernel.columns, size.n - column),
                          static_cast<const uint8_t*>(b.levels) + column * stride, step, stride,
                          FlipOf(b.dtype == DType::kQuint8), panels + panel * bytes, sums + column);
    }
  });
}

Status LevelProduct(Work& work, const ProductSize& size, const LevelMatrix& a, const LevelMatrix& b,
                    int32_t* c) {
  return LevelProduct(work, size, a, b, PlainSums(size.n, c));
}

Status LevelProduct(Work& work, const ProductSize& size, const LevelMatrix& a, const LevelMatrix& b,
                    const LevelSums& sums) {
  RETURN_IF_ERROR(CheckType(a.dtype));
  RETURN_IF_ERROR(CheckType(b.dtype));
  if (size.m == 0 || size.n == 0) return OkStatus();
  if (size.k == 0) {
    Scratch<int32_t> zeros(work, size.n);
    if (!zeros) return OutOfScratch();
    std::fill_n(zeros.get(), size.n, 0);
    sums.Take({.rows = size.m, .columns = size.n, .sums = zeros.get()});  // of the same row
    return OkStatus();
  }
  const LevelKernel& kernel = KernelOf(work.isa());
  Scratch<uint8_t> made(work, b.packed != nullptr ? 0 : PackedLevelsSize(work.isa(), size));
  if (!made) return OutOfScratch();
  if (b.packed == nullptr) RETURN_IF_ERROR(PackLevels(work, size, b, made.get()));
  const auto* const panels =
      b.packed != nullptr ? static_cast<const uint8_t*>(b.packed) : made.get();
  const auto* const column_sums =
      reinterpret_cast<const uint32_t*>(panels + kernel.Panels(size.n) * kernel.PanelBytes(size.k));
  const auto zero_of = [](const LevelMatrix& matrix, DType flipped, int64_t by) {
    return static_cast<uint32_t>(matrix.zero + (matrix.dtype == flipped ? by : 0));
  };
  const uint32_t a_zero = zero_of(a, DType::kQint8, 128);
  const uint32_t b_zero = zero_of(b, DType::kQuint8, -128);
  Scratch<uint32_t> terms(work, size.n);
  if (!terms) return OutOfScratch();
  for (int64_t j = 0; j < size.n; ++j) terms[j] = a_zero * column_sums[j];
  return MultiplyAll(work, {.isa = work.isa(),
                            .kernel = kernel,
                            .size = size,
                            .a = a,
                            .pieces = PiecesInPlace(kernel, size, a, b_zero),
                            .a_zero = a_zero,
                            .b_zero = b_zero,
                            .panels = panels,
                            .column_terms = terms.get(),
                            .to = sums});
}

}  // namespace thalweg::compute
