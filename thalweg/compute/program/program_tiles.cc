// SPDX-License-Identifier: Apache-2.0
#include "thalweg/compute/program/program_tiles.h"

#include <emmintrin.h>

#include <algorithm>
#include <cstring>

namespace thalweg::compute {
namespace {

constexpr int64_t kTile = kEwTile;
constexpr int64_t kGatherTile = 2 * kEwTile;
constexpr int64_t kStackBytes = 24 << 10;            // of tiles; more come from scratch
constexpr int64_t kStreamBytes = int64_t{32} << 20;  // of an output that caches would not keep
constexpr int kMostPlaces = 4 * (EwProgram::kMostInputs + EwProgram::kMostInstructions);

void RunTile(const EwPlan& plan, char* const* place, int64_t tile, uint32_t* flags) {
  for (const EwStep& s : plan.steps) {
    const int64_t n = s.one ? 1 : tile;
    switch (s.kind) {
      case EwStep::Kind::kUnary:
        s.loop.unary(place[s.to], place[s.a], n);
        break;
      case EwStep::Kind::kBinary:
        s.loop.binary(place[s.to], place[s.a], place[s.b], n, flags + s.flag);
        break;
      case EwStep::Kind::kSelect:
        SelectTile(s.loop.size, n, place[s.a], s.steps & 1, place[s.b], (s.steps >> 1) & 1,
                   place[s.c], (s.steps >> 2) & 1, place[s.to]);
        break;
      case EwStep::Kind::kCast:
        s.loop.cast(place[s.a], place[s.to], n);
        break;
      case EwStep::Kind::kConvert:
        s.loop.convert(*plan.isa->half, place[s.to], place[s.a], n);
        break;
    }
  }
}

// Past the caches: for what nobody reads soon.
void StreamCopy(char* to, const char* from, int64_t bytes) {
  const int64_t head = std::min<int64_t>(bytes, -reinterpret_cast<intptr_t>(to) & 63);
  std::memcpy(to, from, static_cast<size_t>(head));
  int64_t i = head;
  for (; i + 64 <= bytes; i += 64) {
    for (int64_t j = i; j < i + 64; j += 16) {
      _mm_stream_si128(reinterpret_cast<__m128i*>(to + j),
                       _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + j)));
    }
  }
  std::memcpy(to + i, from + i, static_cast<size_t>(bytes - i));
}

// The places of one shard: pointers and the memory of the tiles.
class Shard {
 public:
  Shard(Work& work, const EwPlan& plan, int64_t tile, int64_t more_bytes,
        std::span<std::atomic<uint32_t>> flags)
      : plan_(plan),
        tile_bytes_((tile * plan.tile_element + 63) & ~int64_t{63}),
        more_(work, plan.tiles * tile_bytes_ + more_bytes <= kStackBytes
                        ? 0
                        : plan.tiles * tile_bytes_ + more_bytes),
        all_flags_(flags) {
    char* memory = more_.get() != nullptr ? more_.get() : stack_;
    const int first = plan.externals + plan.outputs;
    for (int i = 0; i < plan.tiles; ++i, memory += tile_bytes_) place_[first + i] = memory;
    rest_ = memory;
    std::fill_n(flags_, flags.size(), 0u);
  }
  Shard(const Shard&) = delete;
  Shard& operator=(const Shard&) = delete;
  ~Shard() {
    for (size_t i = 1; i < all_flags_.size(); ++i) {
      if (flags_[i] != 0) all_flags_[i].fetch_or(flags_[i], std::memory_order_relaxed);
    }
  }
  explicit operator bool() const { return static_cast<bool>(more_); }
  char*& external(int e) { return place_[e]; }
  char*& output(int o) { return place_[plan_.externals + o]; }
  char* rest() const { return rest_; }  // more_bytes of memory
  void Run(int64_t n) { RunTile(plan_, place_, n, flags_); }

 private:
  const EwPlan& plan_;
  const int64_t tile_bytes_;
  Scratch<char> more_;
  const std::span<std::atomic<uint32_t>> all_flags_;
  char* rest_;
  uint32_t flags_[EwProgram::kMostInstructions + 1];
  char* place_[kMostPlaces];
  alignas(64) char stack_[kStackBytes];
};

char* Bytes(const void* p) { return const_cast<char*>(static_cast<const char*>(p)); }

int64_t Grain(const EwPlan& plan) {
  const int64_t elements = 262144 / static_cast<int64_t>(plan.steps.size());
  return std::clamp<int64_t>(elements, 4096, 65536) / kGatherTile * kGatherTile;
}

bool ShouldStream(const EwPlan& plan, int64_t n, std::span<const void* const> externals,
                  std::span<void* const> outputs) {
  if (plan.outputs != 1 || n * plan.output_size[0] < kStreamBytes) return false;
  for (const void* from : externals) {
    if (from == outputs[0]) return false;
  }
  return true;
}

struct Memory {
  std::span<const void* const> externals;
  std::span<void* const> outputs;
};

bool RunFlatShard(Work& work, const EwPlan& plan, int64_t begin, int64_t end, uint64_t scalars,
                  const Memory& memory, bool stream, std::span<std::atomic<uint32_t>> flags) {
  const int64_t stream_bytes = stream ? kTile * plan.output_size[0] : 0;
  Shard shard(work, plan, kTile, stream_bytes, flags);
  if (!shard) return false;
  for (int e = 0; e < plan.externals; ++e) {
    const auto i = static_cast<size_t>(e);
    const bool scalar = (scalars >> e) & 1;
    shard.external(e) = Bytes(memory.externals[i]) + (scalar ? 0 : begin * plan.external_size[i]);
  }
  for (int o = 0; o < plan.outputs; ++o) {
    const auto i = static_cast<size_t>(o);
    shard.output(o) =
        stream ? shard.rest() : Bytes(memory.outputs[i]) + begin * plan.output_size[i];
  }
  for (int64_t i = begin; i < end; i += kTile) {
    const int64_t n = std::min(kTile, end - i);
    shard.Run(n);
    for (int e = 0; e < plan.externals; ++e) {
      if (!((scalars >> e) & 1)) {
        shard.external(e) += kTile * plan.external_size[static_cast<size_t>(e)];
      }
    }
    if (stream) {
      const int64_t size = plan.output_size[0];
      StreamCopy(Bytes(memory.outputs[0]) + i * size, shard.rest(), n * size);
      continue;
    }
    for (int o = 0; o < plan.outputs; ++o) {
      shard.output(o) += kTile * plan.output_size[static_cast<size_t>(o)];
    }
  }
  if (stream) _mm_sfence();
  return true;
}

// Where each operand's row starts, in elements.
class Rows {
 public:
  Rows(const EwWalk& walk, int64_t row) : walk_(walk) {
    std::fill_n(offset_, walk.operands(), int64_t{0});
    place_.resize(walk.rank() - 1);
    for (int dim = walk.rank() - 2; dim >= 0; --dim) {
      place_[dim] = row % walk.size(dim);
      row /= walk.size(dim);
      for (int k = 0; k < walk.operands(); ++k) {
        offset_[k] += place_[dim] * walk.stride(k, dim);
      }
    }
  }
  int64_t offset(int operand) const { return offset_[operand]; }
  void Next() {
    for (int dim = walk_.rank() - 2; dim >= 0; --dim) {
      const bool carry = ++place_[dim] == walk_.size(dim);
      for (int k = 0; k < walk_.operands(); ++k) {
        const int64_t stride = walk_.stride(k, dim);
        offset_[k] += carry ? stride * (1 - walk_.size(dim)) : stride;
      }
      if (!carry) return;
      place_[dim] = 0;
    }
  }

 private:
  const EwWalk& walk_;
  Dims place_;
  int64_t offset_[EwWalk::kMostOperands];
};

// Every row in tiles of its own; very long rows are cut into pieces for the shards.
Status RunLongRows(Work& work, const EwPlan& plan, const EwWalk& walk, const Memory& memory,
                   std::span<std::atomic<uint32_t>> flags) {
  const int64_t inner = walk.inner(), grain = Grain(plan);
  const int64_t pieces = (inner + grain - 1) / grain;
  const int64_t piece = (inner + pieces - 1) / pieces;
  const int64_t rows = walk.elements() / inner;
  // Tiles of one length, in whole vectors, rather than long ones and a short rest.
  const int64_t tiles = (piece + kTile - 1) / kTile;
  const int64_t tile = std::min(kTile, ((piece + tiles - 1) / tiles + 31) / 32 * 32);
  const int64_t block = pieces == 1 ? std::max<int64_t>(1, grain / inner) : 1;
  return ForShards(work, (rows * pieces + block - 1) / block, [&](int64_t number) {
    Shard shard(work, plan, tile, 0, flags);
    if (!shard) return false;
    const int64_t end = std::min((number + 1) * block, rows * pieces);
    Rows row(walk, number * block / pieces);
    for (int64_t p = number * block; p < end; ++p) {
      const int64_t from = p % pieces * piece, to = std::min(from + piece, inner);
      for (int64_t i = from; i < to; i += tile) {
        for (int e = 0; e < plan.externals; ++e) {
          shard.external(e) = Bytes(memory.externals[static_cast<size_t>(e)]) +
                              (row.offset(e) + i * walk.inner_stride(e)) *
                                  plan.external_size[static_cast<size_t>(e)];
        }
        for (int o = 0; o < plan.outputs; ++o) {
          shard.output(o) = Bytes(memory.outputs[static_cast<size_t>(o)]) +
                            (p / pieces * inner + i) * plan.output_size[static_cast<size_t>(o)];
        }
        shard.Run(std::min(tile, to - i));
      }
      if (p % pieces == pieces - 1) row.Next();
    }
    return true;
  });
}

// Tiles of many short rows: operands that are not dense are spread first, those that are the same
// in every row once for a shard.
class ShortRows {
 public:
  ShortRows(const EwPlan& plan, const EwWalk& walk, const Memory& memory)
      : plan_(plan), walk_(walk), memory_(memory) {
    const int64_t most = kGatherTile / walk.inner();
    tile_rows_ = most;
    while (tile_rows_ > most / 2 && tile_rows_ * walk.inner() % 16 != 0) --tile_rows_;
    if (tile_rows_ * walk.inner() % 16 != 0) tile_rows_ = most;
    for (int e = 0; e < plan.externals; ++e) {
      if (walk.IsDense(e) || walk.IsConstant(e)) continue;
      (walk.RepeatsRow(e) ? repeated_ : spread_).push_back(e);
    }
    for (int e : repeated_) bytes_ += SpreadBytes(e);
    for (int e : spread_) bytes_ += SpreadBytes(e);
  }

  Status Run(Work& work, std::span<std::atomic<uint32_t>> flags) {
    const int64_t rows = walk_.elements() / walk_.inner();
    const int64_t block =
        std::max<int64_t>(1, Grain(plan_) / (tile_rows_ * walk_.inner())) * tile_rows_;
    return ForShards(work, (rows + block - 1) / block, [&](int64_t number) {
      Shard shard(work, plan_, tile_rows_ * walk_.inner(), bytes_, flags);
      if (!shard) return false;
      RunShard(shard, number * block, std::min((number + 1) * block, rows));
      return true;
    });
  }

 private:
  int64_t Size(int e) const { return plan_.external_size[static_cast<size_t>(e)]; }
  const char* Data(int e) const { return Bytes(memory_.externals[static_cast<size_t>(e)]); }
  int64_t SpreadBytes(int e) const {
    return (tile_rows_ * walk_.inner() * Size(e) + 63) & ~int64_t{63};
  }
  void Spread(Shard& shard, int e, const Rows& row, int64_t r) const {
    CopyElements(static_cast<int>(Size(e)), Data(e) + row.offset(e) * Size(e),
                 walk_.inner_stride(e), walk_.inner(),
                 shard.external(e) + r * walk_.inner() * Size(e));
  }

  void RunShard(Shard& shard, int64_t begin, int64_t end) const {
    char* memory = shard.rest();
    for (const auto* list : {&repeated_, &spread_}) {
      for (int e : *list) {
        shard.external(e) = memory;
        memory += SpreadBytes(e);
      }
    }
    Rows row(walk_, begin);
    for (int e : repeated_) {
      for (int64_t r = 0; r < tile_rows_; ++r) Spread(shard, e, row, r);
    }
    for (int64_t i = begin; i < end; i += tile_rows_) {
      const int64_t rows = std::min(tile_rows_, end - i);
      for (int64_t r = 0; r < rows && !spread_.empty(); ++r, row.Next()) {
        for (int e : spread_) Spread(shard, e, row, r);
      }
      const int64_t from = i * walk_.inner();
      for (int e = 0; e < plan_.externals; ++e) {
        if (walk_.IsConstant(e)) shard.external(e) = const_cast<char*>(Data(e));
        if (walk_.IsDense(e)) shard.external(e) = const_cast<char*>(Data(e)) + from * Size(e);
      }
      for (int o = 0; o < plan_.outputs; ++o) {
        shard.output(o) = Bytes(memory_.outputs[static_cast<size_t>(o)]) +
                          from * plan_.output_size[static_cast<size_t>(o)];
      }
      shard.Run(rows * walk_.inner());
    }
  }

  const EwPlan& plan_;
  const EwWalk& walk_;
  const Memory& memory_;
  int64_t tile_rows_ = 1;
  int64_t bytes_ = 0;
  std::vector<int> repeated_, spread_;
};

}  // namespace

EwWalk::EwWalk(std::span<const int64_t> dims, std::span<const std::span<const int64_t>> operands)
    : operands_(static_cast<int>(operands.size())) {
  int64_t seen[kMostOperands];
  std::fill_n(seen, operands.size(), int64_t{1});
  // From the right: neighbors that the same operands have become one.
  std::bitset<kMostOperands> last;
  for (size_t d = 0; d < dims.size(); ++d) {
    const int64_t size = dims[dims.size() - 1 - d];
    elements_ *= size;
    if (size == 1) continue;
    std::bitset<kMostOperands> have;
    for (size_t k = 0; k < operands.size(); ++k) {
      have[k] = d < operands[k].size() && operands[k][operands[k].size() - 1 - d] != 1;
    }
    const bool joins = sizes_.size() > 0 && have == last;
    if (joins) {
      sizes_[sizes_.size() - 1] *= size;
    } else {
      sizes_.push_back(size);
    }
    for (size_t k = 0; k < operands.size(); ++k) {
      if (!joins) AddStride(have[k] ? seen[k] : 0);
      if (have[k]) seen[k] *= size;
    }
    last = have;
  }
  if (sizes_.size() == 0) {
    sizes_.push_back(1);
    for (size_t k = 0; k < operands.size(); ++k) AddStride(1);
  }
  for (size_t k = 0; k < operands.size(); ++k) dense_[k] = seen[k] == elements_;
}

void EwWalk::AddStride(int64_t stride) {
  if (strides_ < kFew) {
    few_[strides_] = stride;
  } else {
    many_.push_back(stride);
  }
  ++strides_;
}

bool EwWalk::RepeatsRow(int operand) const {
  for (int dim = 0; dim + 1 < rank(); ++dim) {
    if (stride(operand, dim) != 0) return false;
  }
  return true;
}

Status RunFlatTiles(Work& work, const EwPlan& plan, int64_t n, uint64_t scalars,
                    std::span<const void* const> externals, std::span<void* const> outputs,
                    std::span<std::atomic<uint32_t>> flags) {
  const bool stream = ShouldStream(plan, n, externals, outputs);
  const Memory memory{externals, outputs};
  const int64_t grain = Grain(plan);
  return ForShards(work, (n + grain - 1) / grain, [&](int64_t shard) {
    return RunFlatShard(work, plan, shard * grain, std::min((shard + 1) * grain, n), scalars,
                        memory, stream, flags);
  });
}

Status RunTiles(Work& work, const EwPlan& plan, const EwWalk& walk,
                std::span<const void* const> externals, std::span<void* const> outputs,
                std::span<std::atomic<uint32_t>> flags) {
  const Memory memory{externals, outputs};
  if (walk.Gathers()) return ShortRows(plan, walk, memory).Run(work, flags);
  return RunLongRows(work, plan, walk, memory, flags);
}

}  // namespace thalweg::compute
