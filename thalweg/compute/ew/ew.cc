// SPDX-License-Identifier: Apache-2.0
#include "thalweg/compute/ew/ew.h"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "thalweg/compute/ew/storage.h"

namespace thalweg::compute {
namespace {

constexpr int64_t kGrain = kDirectElements;  // elements of a shard
constexpr int64_t kShortRow = 96;            // rows below this are gathered into tiles
constexpr int64_t kGatherTile = 1024;        // elements of such a tile

bool IsPredicate(UnaryOp op) {
  return op == UnaryOp::kIsFinite || op == UnaryOp::kIsInf || op == UnaryOp::kIsNan;
}

bool IsComparison(BinaryOp op) {
  switch (op) {
    case BinaryOp::kEqual:
    case BinaryOp::kNotEqual:
    case BinaryOp::kLess:
    case BinaryOp::kLessEqual:
    case BinaryOp::kGreater:
    case BinaryOp::kGreaterEqual:
      return true;
    default:
      return false;
  }
}

const EwKernels& KernelsOf(const IsaTable& isa, EwType type) { return *isa.ew[type]; }

struct UnaryCall {
  UnaryFn fn;
  StorageType type;
  bool predicate;
  const HalfKernels& half;

  void Run(void* out, const void* a, int64_t n) const {
    if (type.widen == nullptr) return fn(out, a, n);
    alignas(64) char wide[kEwTile * 4];
    auto* o = static_cast<char*>(out);
    const auto* x = static_cast<const char*>(a);
    const int out_size = predicate ? 1 : type.size;
    for (int64_t i = 0; i < n; i += kEwTile) {
      const int64_t count = std::min(kEwTile, n - i);
      type.widen(half, wide, x + i * type.size, count);
      fn(predicate ? o + i : wide, wide, count);
      if (!predicate) type.narrow(half, o + i * out_size, wide, count);
    }
  }
};

struct BinaryCall {
  BinaryFns fns;
  StorageType type;
  bool comparison;
  bool shift;
  const HalfKernels& half;

  int out_size() const { return comparison ? 1 : type.size; }

  // A shift by more than all bits of the stored type, not of the wider one, shifts by all but one.
  void LimitShifts(char* wide, int64_t n) const {
    auto* by = reinterpret_cast<int32_t*>(wide);
    for (int64_t i = 0; i < n; ++i) by[i] = std::min(by[i], type.size * 8 - 1);
  }

  // Operands with step 0 are scalars; not both.
  void Run(void* out, const void* a, int64_t a_step, const void* b, int64_t b_step, int64_t n,
           uint32_t* flags) const {
    const BinaryFn fn = a_step == 0 && n > 1 ? fns.sv : b_step == 0 && n > 1 ? fns.vs : fns.vv;
    if (type.widen == nullptr) return fn(out, a, b, n, flags);
    alignas(64) char wide_a[kEwTile * 4], wide_b[kEwTile * 4];
    auto* o = static_cast<char*>(out);
    const auto* x = static_cast<const char*>(a);
    const auto* y = static_cast<const char*>(b);
    for (int64_t i = 0; i < n; i += kEwTile) {
      const int64_t count = std::min(kEwTile, n - i);
      type.widen(half, wide_a, x + i * a_step * type.size, a_step == 0 ? 1 : count);
      type.widen(half, wide_b, y + i * b_step * type.size, b_step == 0 ? 1 : count);
      if (shift) LimitShifts(wide_b, b_step == 0 ? 1 : count);
      if (comparison) {
        fn(o + i, wide_a, wide_b, count, flags);
      } else {
        void* result = a_step == 0 ? wide_b : wide_a;
        fn(result, wide_a, wide_b, count, flags);
        type.narrow(half, o + i * type.size, result, count);
      }
    }
  }
};

// One flat dimension.
Status RunFlat(Work& work, const BinaryCall& call, const Broadcast& broadcast, const char* a,
               const char* b, char* out, std::atomic<uint32_t>& flags) {
  const int64_t a_step = broadcast.stride(0, 0), b_step = broadcast.stride(1, 0);
  return ForBlocks(work, broadcast.elements(), kGrain, [&](int64_t begin, int64_t end) {
    uint32_t own = 0;
    call.Run(out + begin * call.out_size(), a + begin * a_step * call.type.size, a_step,
             b + begin * b_step * call.type.size, b_step, end - begin, &own);
    if (own != 0) flags.fetch_or(own, std::memory_order_relaxed);
  });
}

Status RunLongRows(Work& work, const BinaryCall& call, const Broadcast& broadcast, const char* a,
                   const char* b, char* out, std::atomic<uint32_t>& flags) {
  const int64_t inner = broadcast.inner();
  const int last = broadcast.rank() - 1;
  const int64_t a_step = broadcast.stride(0, last), b_step = broadcast.stride(1, last);
  // Very long rows are cut as well.
  const int64_t pieces = (inner + kGrain - 1) / kGrain;
  const int64_t piece = (inner + pieces - 1) / pieces;
  const int64_t grain = std::max<int64_t>(1, kGrain / inner) * pieces;
  return ForBlocks(
      work, broadcast.rows() * pieces, pieces == 1 ? grain : 1, [&](int64_t begin, int64_t end) {
        uint32_t own = 0;
        RowCursor cursor(broadcast, begin / pieces);
        for (int64_t i = begin; i < end; ++i) {
          const int64_t from = i % pieces * piece;
          const int64_t n = std::min(piece, inner - from);
          if (n > 0) {
            call.Run(out + (i / pieces * inner + from) * call.out_size(),
                     a + (cursor.offset(0) + from * a_step) * call.type.size, a_step,
                     b + (cursor.offset(1) + from * b_step) * call.type.size, b_step, n, &own);
          }
          if (i % pieces == pieces - 1) cursor.Next();
        }
        if (own != 0) flags.fetch_or(own, std::memory_order_relaxed);
      });
}

bool RepeatsRow(const Broadcast& broadcast, int operand) {
  for (int dim = 0; dim + 1 < broadcast.rank(); ++dim) {
    if (broadcast.stride(operand, dim) != 0) return false;
  }
  return true;
}

// Rows too short for a call each: operands that are not dense are spread into tiles of many rows.
Status RunShortRows(Work& work, const BinaryCall& call, const Broadcast& broadcast, const char* a,
                    const char* b, char* out, std::atomic<uint32_t>& flags) {
  const int64_t inner = broadcast.inner();
  const int last = broadcast.rank() - 1;
  const int64_t tile_rows = kGatherTile / inner;
  const int size = call.type.size;
  const char* base[2] = {a, b};
  // A row vector is spread once per shard.
  const bool same_row[2] = {RepeatsRow(broadcast, 0), RepeatsRow(broadcast, 1)};
  return ForBlocks(
      work, broadcast.rows(), tile_rows * (kGrain / kGatherTile), [&](int64_t begin, int64_t end) {
        alignas(64) char tile[2][kGatherTile * kMaxElementSize];
        bool spread = true;
        uint32_t own = 0;
        RowCursor cursor(broadcast, begin);
        for (int64_t row = begin; row < end; row += tile_rows) {
          const int64_t rows = std::min(tile_rows, end - row);
          for (int64_t r = 0; spread && r < rows; ++r, cursor.Next()) {
            for (int k = 0; k < 2; ++k) {
              if (broadcast.IsDense(k) || (same_row[k] && row > begin)) continue;
              CopyElements(size, base[k] + cursor.offset(k) * size, broadcast.stride(k, last),
                           inner, tile[k] + r * inner * size);
            }
          }
          spread = !(broadcast.IsDense(0) || same_row[0]) || !(broadcast.IsDense(1) || same_row[1]);
          const char* x = broadcast.IsDense(0) ? a + row * inner * size : tile[0];
          const char* y = broadcast.IsDense(1) ? b + row * inner * size : tile[1];
          call.Run(out + row * inner * call.out_size(), x, 1, y, 1, rows * inner, &own);
        }
        if (own != 0) flags.fetch_or(own, std::memory_order_relaxed);
      });
}

}  // namespace

bool HasUnary(UnaryOp op, DType dtype) {
  const StorageType type = StorageTypeOf(dtype);
  return type.ok &&
         KernelsOf(GetIsaTable(IsaLevel::kSse4), type.compute).unary[static_cast<int>(op)] !=
             nullptr;
}

bool HasBinary(BinaryOp op, DType dtype) {
  const StorageType type = StorageTypeOf(dtype);
  return type.ok &&
         KernelsOf(GetIsaTable(IsaLevel::kSse4), type.compute).binary[static_cast<int>(op)].vv !=
             nullptr;
}

DType UnaryResult(UnaryOp op, DType dtype) { return IsPredicate(op) ? DType::kBool : dtype; }
DType BinaryResult(BinaryOp op, DType dtype) { return IsComparison(op) ? DType::kBool : dtype; }

UnaryFn DirectUnary(const IsaTable& isa, UnaryOp op, DType dtype) {
  const StorageType type = StorageTypeOf(dtype);
  if (!type.ok || type.widen != nullptr) return nullptr;
  return KernelsOf(isa, type.compute).unary[static_cast<int>(op)];
}

BinaryFn DirectBinary(const IsaTable& isa, BinaryOp op, DType dtype) {
  const StorageType type = StorageTypeOf(dtype);
  if (!type.ok || type.widen != nullptr) return nullptr;
  return KernelsOf(isa, type.compute).binary[static_cast<int>(op)].vv;
}

Status RunUnary(Work& work, UnaryOp op, DType dtype, int64_t n, const void* a, void* out) {
  const StorageType type = StorageTypeOf(dtype);
  const UnaryFn fn =
      type.ok ? KernelsOf(work.isa(), type.compute).unary[static_cast<int>(op)] : nullptr;
  if (fn == nullptr)
    return Unimplemented("operation ", UnaryOpName(op), " of elements of type ", dtype);
  const UnaryCall call{fn, type, IsPredicate(op), *work.isa().half};
  const int64_t out_size = call.predicate ? 1 : type.size;
  return ForBlocks(work, n, kGrain, [&](int64_t begin, int64_t end) {
    call.Run(static_cast<char*>(out) + begin * out_size,
             static_cast<const char*>(a) + begin * type.size, end - begin);
  });
}

Status StatusOfFlags(uint32_t flags) {
  if (flags & kDivisionByZero) return InvalidArgument("Integer division by zero");
  if (flags & kNegativeExponent)
    return InvalidArgument("Integers to negative integer powers are not allowed");
  return OkStatus();
}

Status RunBinary(Work& work, BinaryOp op, DType dtype, const Broadcast& broadcast, const void* a,
                 const void* b, void* out) {
  const StorageType type = StorageTypeOf(dtype);
  const BinaryFns fns =
      type.ok ? KernelsOf(work.isa(), type.compute).binary[static_cast<int>(op)] : BinaryFns{};
  if (fns.vv == nullptr)
    return Unimplemented("operation ", BinaryOpName(op), " of elements of type ", dtype);
  if (broadcast.elements() == 0) return OkStatus();
  const bool narrow_shift =
      type.narrow != nullptr && (op == BinaryOp::kLeftShift || op == BinaryOp::kRightShift);
  const BinaryCall call{fns, type, IsComparison(op), narrow_shift, *work.isa().half};
  const auto* x = static_cast<const char*>(a);
  const auto* y = static_cast<const char*>(b);
  auto* o = static_cast<char*>(out);
  std::atomic<uint32_t> flags{0};
  const auto run = broadcast.rank() == 1           ? RunFlat
                   : broadcast.inner() < kShortRow ? RunShortRows
                                                   : RunLongRows;
  RETURN_IF_ERROR(run(work, call, broadcast, x, y, o, flags));
  return StatusOfFlags(flags);
}

}  // namespace thalweg::compute
