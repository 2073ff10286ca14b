// SPDX-License-Identifier: Apache-2.0
#include "thalweg/compute/reduce/reduce.h"

#include <algorithm>
#include <complex>
#include <limits>
#include <type_traits>

#include "thalweg/compute/ew/ew.h"
#include "thalweg/compute/ew/storage.h"
#include "thalweg/compute/inline_work.h"
#include "thalweg/compute/reduce/kernels.h"

namespace thalweg::compute {
namespace {

constexpr int64_t kChunk = 64 * kReduceBlock;  // elements of a long row that one shard reduces
constexpr int64_t kGrain = 65536;              // elements of a shard
constexpr int64_t kMostPartials = 256;         // of a column sum
constexpr int64_t kPiece = kReduceBlock;       // elements that a source makes at once, in cache

template <class T>
constexpr bool kIsComplex = false;
template <class R>
constexpr bool kIsComplex<std::complex<R>> = true;

// The kernels of T: one row to a value, and two rows to one.
template <class T>
struct Kernels {
  T (*row)(const T* x, int64_t n) = nullptr;
  BinaryFn combine = nullptr;
  bool squares = false;  // elements enter squared
};

template <class T>
T PlainSum(const T* x, int64_t n) {
  T lane[8] = {};
  for (int64_t i = 0; i < n; ++i) lane[i % 8] += x[i];
  return ((lane[0] + lane[4]) + (lane[2] + lane[6])) + ((lane[1] + lane[5]) + (lane[3] + lane[7]));
}
template <class T>
T PlainSquares(const T* x, int64_t n) {
  T sum = T(0);
  for (int64_t i = 0; i < n; ++i) sum += T(std::norm(x[i]));
  return sum;
}
template <class T>
T PlainProduct(const T* x, int64_t n) {
  T product = T(1);
  for (int64_t i = 0; i < n; ++i) product *= x[i];
  return product;
}
bool PlainAll(const bool* x, int64_t n) {
  uint8_t all = 1;
  for (int64_t i = 0; i < n; ++i) all &= static_cast<uint8_t>(x[i]);
  return all != 0;
}
bool PlainAny(const bool* x, int64_t n) {
  uint8_t any = 0;
  for (int64_t i = 0; i < n; ++i) any |= static_cast<uint8_t>(x[i]);
  return any != 0;
}

template <class T>
const ReduceKernels<T>& TableOf(const ReduceTables& t) {
  if constexpr (std::is_same_v<T, float>) return *t.f32;
  if constexpr (std::is_same_v<T, double>) return *t.f64;
  if constexpr (std::is_same_v<T, int32_t>) return *t.i32;
  if constexpr (std::is_same_v<T, int64_t>) return *t.i64;
  if constexpr (std::is_same_v<T, uint32_t>) return *t.u32;
  if constexpr (std::is_same_v<T, uint64_t>) return *t.u64;
}

// The binary operation that joins two partial results.
BinaryOp CombineOp(ReduceOp op) {
  switch (op) {
    case ReduceOp::kMax:
      return BinaryOp::kMaximum;
    case ReduceOp::kMin:
      return BinaryOp::kMinimum;
    case ReduceOp::kProd:
      return BinaryOp::kMul;
    case ReduceOp::kAll:
      return BinaryOp::kLogicalAnd;
    case ReduceOp::kAny:
      return BinaryOp::kLogicalOr;
    default:
      return BinaryOp::kAdd;
  }
}

template <class T>
Kernels<T> Find(const IsaTable& isa, EwType type, ReduceOp op) {
  Kernels<T> k;
  const bool logic = op == ReduceOp::kAll || op == ReduceOp::kAny;
  if constexpr (std::is_same_v<T, bool>) {
    if (logic) k.row = op == ReduceOp::kAll ? PlainAll : PlainAny;
  } else if constexpr (kIsComplex<T>) {
    if (op == ReduceOp::kSum || op == ReduceOp::kMean) k.row = PlainSum<T>;
    if (op == ReduceOp::kProd) k.row = PlainProduct<T>;
    if (op == ReduceOp::kSumSquares) k.row = PlainSquares<T>;
  } else if (!logic) {
    const ReduceKernels<T>& table = TableOf<T>(*isa.reduce);
    k.row = op == ReduceOp::kMax          ? table.maximum
            : op == ReduceOp::kMin        ? table.minimum
            : op == ReduceOp::kProd       ? table.product
            : op == ReduceOp::kSumSquares ? table.sum_squares
                                          : table.sum;
  }
  k.combine = isa.ew[type]->binary[static_cast<int>(CombineOp(op))].vv;
  k.squares = op == ReduceOp::kSumSquares;
  return k;
}

// The largest or the smallest value of T, infinity where there is one.
template <class T>
T EndOf(ReduceOp op) {
  using Limits = std::numeric_limits<T>;
  if (op == ReduceOp::kMax) return Limits::has_infinity ? -Limits::infinity() : Limits::lowest();
  return Limits::has_infinity ? Limits::infinity() : Limits::max();
}

// What no elements of `dtype` come to. The ends of a narrow integer are its own, not those of T,
// in which it is computed.
template <class T>
T Neutral(ReduceOp op, DType dtype) {
  if (op == ReduceOp::kProd || op == ReduceOp::kAll) return T(1);
  if (op != ReduceOp::kMax && op != ReduceOp::kMin) return T(0);
  if constexpr (std::is_same_v<T, int32_t>) {
    switch (dtype) {
      case DType::kInt8:
        return EndOf<int8_t>(op);
      case DType::kUint8:
        return EndOf<uint8_t>(op);
      case DType::kInt16:
        return EndOf<int16_t>(op);
      case DType::kUint16:
        return EndOf<uint16_t>(op);
      default:
        break;
    }
  }
  if constexpr (kIsComplex<T>) {
    return T(0);  // complex numbers have no order
  } else {
    return EndOf<T>(op);
  }
}

// Where a pass reads: memory, or what a source makes.
template <class T>
struct Elements {
  const T* data = nullptr;
  const ReduceSource* source = nullptr;

  // `buffer` has room for the elements where there is a source; null when they cannot be made.
  const T* Get(Work& work, int64_t begin, int64_t end, T* buffer) const {
    if (source == nullptr) return data + begin;
    InlineWork here(work);
    return static_cast<const T*>(source->Make(here, begin, end, buffer));
  }
  int64_t Buffer(int64_t elements) const { return source == nullptr ? 0 : elements; }
};

// One row from `begin`, made in pieces, which are combined as the kernels' own blocks are: a piece
// is a power of two of them.
template <class T>
bool ReduceMadeRow(Work& work, const Kernels<T>& k, const Elements<T>& in, int64_t begin, int64_t n,
                   T* buffer, T* out) {
  T level[56];
  uint32_t flags = 0;
  int64_t count = 0;
  for (int64_t i = 0; i < n; i += kPiece, ++count) {
    const int64_t end = std::min(i + kPiece, n);
    const T* x = in.Get(work, begin + i, begin + end, buffer);
    if (x == nullptr) return false;
    T value = k.row(x, end - i);
    int at = 0;
    for (; (count >> at) & 1; ++at) k.combine(&value, &level[at], &value, 1, &flags);
    level[at] = value;
  }
  bool any = false;
  for (int at = 0; (count >> at) != 0; ++at) {
    if (((count >> at) & 1) == 0) continue;
    if (any) {
      k.combine(out, &level[at], out, 1, &flags);
    } else {
      *out = level[at];
    }
    any = true;
  }
  return true;
}

// Rows [begin, end) of `size` elements.
template <class T>
bool ReduceSomeRows(Work& work, const Kernels<T>& k, const Elements<T>& in, int64_t begin,
                    int64_t end, int64_t size, T* out) {
  if (in.source == nullptr) {
    for (int64_t i = begin; i < end; ++i) out[i] = k.row(in.data + i * size, size);
    return true;
  }
  const int64_t together = std::max<int64_t>(1, kPiece / size);
  Scratch<T> buffer(work, std::min(kPiece, (end - begin) * size));
  if (!buffer) return false;
  for (int64_t i = begin; i < end; i += together) {
    if (size > kPiece) {
      if (!ReduceMadeRow(work, k, in, i * size, size, buffer.get(), out + i)) return false;
      continue;
    }
    const int64_t rows = std::min(together, end - i);
    const T* x = in.Get(work, i * size, (i + rows) * size, buffer.get());
    if (x == nullptr) return false;
    for (int64_t j = 0; j < rows; ++j) out[i + j] = k.row(x + j * size, size);
  }
  return true;
}

// [outer, size] -> [outer].
template <class T>
Status ReduceRows(Work& work, const Kernels<T>& k, int64_t outer, int64_t size,
                  const Elements<T>& in, T* out) {
  if (size <= kChunk || outer >= 64) {
    const int64_t grain = std::max<int64_t>(1, kGrain / size);
    return ForShards(work, (outer + grain - 1) / grain, [&](int64_t shard) {
      return ReduceSomeRows(work, k, in, shard * grain, std::min((shard + 1) * grain, outer), size,
                            out);
    });
  }
  const int64_t chunks = (size + kChunk - 1) / kChunk;
  Scratch<T> partial(work, outer * chunks);
  if (!partial) return OutOfScratch();
  RETURN_IF_ERROR(ForShards(work, outer * chunks, [&](int64_t i) {
    const int64_t from = i % chunks * kChunk, count = std::min(kChunk, size - from);
    const int64_t begin = i / chunks * size + from;
    if (in.source == nullptr) {
      partial[i] = k.row(in.data + begin, count);
      return true;
    }
    Scratch<T> buffer(work, std::min(kPiece, count));
    return buffer && ReduceMadeRow(work, k, in, begin, count, buffer.get(), &partial[i]);
  }));
  // Pairs of neighbors, then pairs of pairs.
  uint32_t flags = 0;
  for (int64_t i = 0; i < outer; ++i) {
    T* p = partial.get() + i * chunks;
    for (int64_t step = 1; step < chunks; step *= 2) {
      for (int64_t j = 0; j + step < chunks; j += 2 * step)
        k.combine(p + j, p + j, p + j + step, 1, &flags);
    }
    out[i] = p[0];
  }
  return OkStatus();
}

// Rows [begin, end) of width `inner` into acc (overwritten, unless it goes on from earlier rows).
// Short rows go several at a time through `wide`.
template <class T>
void CombineRows(const Kernels<T>& k, const BinaryFn multiply, int64_t begin, int64_t end,
                 int64_t inner, const T* in, T* acc, T* wide, bool goes_on = false) {
  uint32_t flags = 0;
  const int64_t together = std::max<int64_t>(1, std::min(256 / inner, end - begin));
  const int64_t width = together * inner;
  T* sum = together > 1 ? wide : acc;
  T square[256];
  const auto enter = [&](const T* x, int64_t n, bool first) {
    if (!k.squares) {
      if (first) {
        std::copy_n(x, n, sum);
      } else {
        k.combine(sum, sum, x, n, &flags);
      }
      return;
    }
    if (first) return multiply(sum, x, x, n, &flags);
    for (int64_t i = 0; i < n; i += 256) {
      const int64_t count = std::min<int64_t>(256, n - i);
      multiply(square, x + i, x + i, count, &flags);
      k.combine(sum + i, sum + i, square, count, &flags);
    }
  };
  int64_t row = begin;
  for (; row + together <= end; row += together)
    enter(in + row * inner, width, row == begin && !goes_on);
  if (row < end) enter(in + row * inner, (end - row) * inner, false);
  if (together == 1) return;
  std::copy_n(wide, inner, acc);
  for (int64_t i = 1; i < together; ++i) k.combine(acc, acc, wide + i * inner, inner, &flags);
}

// Rows [begin, end) of width `inner`, of which the first element is `first`, into acc. Wide rows
// are made some at a time.
template <class T>
bool CombineMadeRows(Work& work, const Kernels<T>& k, BinaryFn multiply, const Elements<T>& in,
                     int64_t first, int64_t rows, int64_t inner, T* acc, T* wide) {
  const int64_t some = inner < 256 ? rows : std::min(rows, std::max<int64_t>(1, kPiece / inner));
  Scratch<T> buffer(work, in.Buffer(some * inner));
  if (!buffer) return false;
  for (int64_t row = 0; row < rows; row += some) {
    const int64_t end = std::min(row + some, rows);
    const T* x = in.Get(work, first + row * inner, first + end * inner, buffer.get());
    if (x == nullptr) return false;
    CombineRows(k, multiply, 0, end - row, inner, x, acc, wide, row > 0);
  }
  return true;
}

// [outer, size, inner] -> [outer, inner]: partial sums of blocks of rows, folded in pairs.
template <class T>
Status ReduceColumns(Work& work, const Kernels<T>& k, BinaryFn multiply, int64_t outer,
                     int64_t size, int64_t inner, const Elements<T>& in, T* out) {
  const int64_t block =
      std::max({int64_t{64}, (size + kMostPartials - 1) / kMostPartials, kGrain / 4 / inner});
  const int64_t blocks = (size + block - 1) / block;
  Scratch<T> partial(work, blocks > 1 ? outer * blocks * inner : 0);
  if (!partial) return OutOfScratch();
  const int64_t grain = std::max<int64_t>(1, kGrain / (block * inner));
  RETURN_IF_ERROR(ForShards(work, (outer * blocks + grain - 1) / grain, [&](int64_t shard) {
    T wide[256];
    for (int64_t i = shard * grain; i < std::min((shard + 1) * grain, outer * blocks); ++i) {
      const int64_t row = i % blocks * block, rows = std::min(block, size - row);
      T* acc = blocks > 1 ? partial.get() + i * inner : out + i * inner;
      const int64_t first = (i / blocks * size + row) * inner;
      if (in.source == nullptr) {
        CombineRows(k, multiply, 0, rows, inner, in.data + first, acc, wide);
      } else if (!CombineMadeRows(work, k, multiply, in, first, rows, inner, acc, wide)) {
        return false;
      }
    }
    return true;
  }));
  if (blocks == 1) return OkStatus();
  return ForBlocks(work, outer, std::max<int64_t>(1, kGrain / (blocks * inner)),
                   [&](int64_t begin, int64_t end) {
                     uint32_t flags = 0;
                     for (int64_t i = begin; i < end; ++i) {
                       T* p = partial.get() + i * blocks * inner;
                       for (int64_t step = 1; step < blocks; step *= 2) {
                         for (int64_t j = 0; j + step < blocks; j += 2 * step) {
                           k.combine(p + j * inner, p + j * inner, p + (j + step) * inner, inner,
                                     &flags);
                         }
                       }
                       std::copy_n(p, inner, out + i * inner);
                     }
                   });
}

template <class T>
void DivideByCount(int64_t n, int64_t count, T* out) {
  if constexpr (kIsComplex<T>) {  // of none: 0, as TensorFlow has it
    for (int64_t i = 0; i < n && count > 0; ++i) {
      out[i] /= static_cast<typename T::value_type>(count);
    }
  } else if constexpr (std::is_floating_point_v<T>) {
    for (int64_t i = 0; i < n; ++i) out[i] /= static_cast<T>(count);
  } else if constexpr (!std::is_same_v<T, bool>) {
    for (int64_t i = 0; i < n && count > 0; ++i)
      out[i] = static_cast<T>(out[i] / static_cast<T>(count));
  }
}

// Removes the reduced groups from right to left; all but the last pass go to scratch.
template <class T>
Status ReduceGroups(Work& work, const Reduction& r, ReduceOp op, Kernels<T> k, BinaryFn multiply,
                    Elements<T> in, T* out) {
  int64_t left = r.input_elements();  // elements before the groups that are still to do
  int64_t inner = 1;                  // elements kept to the right
  int passes = 0;
  int64_t between = r.input_elements();  // elements after the first pass
  for (int g = 0; g < r.groups(); ++g) {
    if (!r.reduced(g)) continue;
    ++passes;
    between = r.input_elements() / r.size(g);
  }
  Scratch<T> first(work, passes > 1 ? between : 0), second(work, passes > 2 ? between : 0);
  if (!first || !second) return OutOfScratch();
  T* buffers[2] = {second.get(), first.get()};  // by parity of the pass, from 1
  if (passes == 0) {                            // nothing disappears
    const T* from = in.Get(work, 0, r.input_elements(), out);
    if (from == nullptr) return OutOfScratch();
    if (from != out) std::copy_n(from, r.input_elements(), out);
    uint32_t flags = 0;
    if (k.squares) multiply(out, out, out, r.input_elements(), &flags);
  }
  int pass = 0;
  for (int g = r.groups() - 1; g >= 0; --g) {
    left /= r.size(g);
    if (!r.reduced(g)) {
      inner *= r.size(g);
      continue;
    }
    T* to = ++pass == passes ? out : buffers[pass % 2];
    RETURN_IF_ERROR(inner == 1 ? ReduceRows(work, k, left, r.size(g), in, to)
                               : ReduceColumns(work, k, multiply, left, r.size(g), inner, in, to));
    in = {.data = to};
    if (k.squares) {  // what is squared once is summed from here on
      k = Find<T>(work.isa(), StorageTypeOf(kDTypeOf<T>).compute, ReduceOp::kSum);
    }
  }
  if (op == ReduceOp::kMean)
    DivideByCount(r.output_elements(), r.input_elements() / r.output_elements(), out);
  return OkStatus();
}

// Narrow elements as those that they are computed as.
class WidenedSource final : public ReduceSource {
 public:
  WidenedSource(const StorageType& type, const void* in)
      : type_(type), in_(static_cast<const char*>(in)) {}
  const void* Make(Work& work, int64_t begin, int64_t end, void* buffer) const override {
    type_.widen(*work.isa().half, buffer, in_ + begin * type_.size, end - begin);
    return buffer;
  }

 private:
  const StorageType& type_;
  const char* in_;
};

template <class T>
Status ReduceAs(Work& work, ReduceOp op, DType dtype, const StorageType& type, const Reduction& r,
                const void* in, void* out) {
  const Kernels<T> k = Find<T>(work.isa(), type.compute, op);
  if (k.row == nullptr) return Unimplemented("reduction of elements of type ", dtype);
  const bool wide = type.widen != nullptr;
  Scratch<T> out_wide(work, wide ? r.output_elements() : 0);
  if (!out_wide) return OutOfScratch();
  T* result = wide ? out_wide.get() : static_cast<T*>(out);
  if (r.input_elements() == 0) {
    std::fill_n(result, r.output_elements(), Neutral<T>(op, dtype));
    if (op == ReduceOp::kMean) DivideByCount(r.output_elements(), 0, result);
  } else {
    const BinaryFn multiply =
        work.isa().ew[type.compute]->binary[static_cast<int>(BinaryOp::kMul)].vv;
    const WidenedSource widened(type, in);
    Elements<T> elements{.data = static_cast<const T*>(in)};
    if (wide) elements = {.source = &widened};
    RETURN_IF_ERROR(ReduceGroups<T>(work, r, op, k, multiply, elements, result));
  }
  if (wide) type.narrow(*work.isa().half, out, result, r.output_elements());
  return OkStatus();
}

template <class T>
Status ReduceMadeAs(Work& work, ReduceOp op, EwType type, const Reduction& r,
                    const ReduceSource& source, void* out) {
  const BinaryFn multiply = work.isa().ew[type]->binary[static_cast<int>(BinaryOp::kMul)].vv;
  return ReduceGroups<T>(work, r, op, Find<T>(work.isa(), type, op), multiply, {.source = &source},
                         static_cast<T*>(out));
}

}  // namespace

bool HasReduce(ReduceOp op, DType dtype) {
  const bool logic = op == ReduceOp::kAll || op == ReduceOp::kAny;
  if (dtype == DType::kBool) return logic;
  if (logic || !StorageTypeOf(dtype).ok) return false;
  return !IsComplex(dtype) || (op != ReduceOp::kMax && op != ReduceOp::kMin);
}

Status Reduce(Work& work, ReduceOp op, DType dtype, const Reduction& r, const void* in, void* out) {
  const StorageType type = StorageTypeOf(dtype);
  if (!HasReduce(op, dtype)) return Unimplemented("reduction of elements of type ", dtype);
  if (r.output_elements() == 0) return OkStatus();
  switch (type.compute) {
    case kEwFloat:
      return ReduceAs<float>(work, op, dtype, type, r, in, out);
    case kEwDouble:
      return ReduceAs<double>(work, op, dtype, type, r, in, out);
    case kEwInt32:
      return ReduceAs<int32_t>(work, op, dtype, type, r, in, out);
    case kEwInt64:
      return ReduceAs<int64_t>(work, op, dtype, type, r, in, out);
    case kEwUint32:
      return ReduceAs<uint32_t>(work, op, dtype, type, r, in, out);
    case kEwUint64:
      return ReduceAs<uint64_t>(work, op, dtype, type, r, in, out);
    case kEwBool:
      return ReduceAs<bool>(work, op, dtype, type, r, in, out);
    case kEwComplex64:
      return ReduceAs<std::complex<float>>(work, op, dtype, type, r, in, out);
    case kEwComplex128:
      return ReduceAs<std::complex<double>>(work, op, dtype, type, r, in, out);
  }
  return Internal("unknown element type");
}

Status ReduceFrom(Work& work, ReduceOp op, DType dtype, const Reduction& r,
                  const ReduceSource& source, void* out) {
  const StorageType type = StorageTypeOf(dtype);
  if (!HasReduce(op, dtype) || type.widen != nullptr) {
    return Unimplemented("fused reduction of elements of type ", dtype);
  }
  if (r.input_elements() == 0) return Reduce(work, op, dtype, r, nullptr, out);
  switch (type.compute) {
    case kEwFloat:
      return ReduceMadeAs<float>(work, op, type.compute, r, source, out);
    case kEwDouble:
      return ReduceMadeAs<double>(work, op, type.compute, r, source, out);
    case kEwInt32:
      return ReduceMadeAs<int32_t>(work, op, type.compute, r, source, out);
    case kEwInt64:
      return ReduceMadeAs<int64_t>(work, op, type.compute, r, source, out);
    default:
      return Unimplemented("fused reduction of elements of type ", dtype);
  }
}

}  // namespace thalweg::compute
