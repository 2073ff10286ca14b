// SPDX-License-Identifier: Apache-2.0
#include "thalweg/compute/move/gather.h"

#include <algorithm>
#include <complex>
#include <limits>
#include <string>
#include <type_traits>

#include "thalweg/compute/move/element.h"
#include "thalweg/compute/move/row_chunks.h"

namespace thalweg::compute {
namespace {

constexpr int64_t kGrain = 32 * 1024;
// Rows that are asked for before they are needed: picked rows of a large table lie anywhere, and
// several waits for memory at once take no longer than one.
constexpr int64_t kAhead = 12;
constexpr int64_t kMostAheadBytes = 512;  // of a row; longer ones are read ahead by the processor

template <class E>
void GatherRow(const E* from, E* to, int64_t n) {
  if (n == 1) {
    *to = *from;
    return;
  }
  if constexpr (std::is_trivially_copyable_v<E>) {
    const int64_t bytes = n * static_cast<int64_t>(sizeof(E));
    if (InChunks(bytes)) return CopyChunks(from, to, bytes);
  }
  std::copy_n(from, n, to);
}

template <class E>
void AskFor(const E* row, int64_t n) {
  const auto* bytes = reinterpret_cast<const char*>(row);
  const int64_t size = n * static_cast<int64_t>(sizeof(E));
  for (int64_t i = 0; i < size; i += 64) __builtin_prefetch(bytes + i);
  __builtin_prefetch(bytes + size - 1);
}

// What arithmetic is done in.
template <class T>
struct Wide {
  using Type = T;
};
template <>
struct Wide<Half> {
  using Type = float;
};
template <>
struct Wide<Bfloat16> {
  using Type = float;
};

template <class T>
T CombineInteger(Combine combine, T a, T b) {
  using U = std::make_unsigned_t<T>;
  switch (combine) {
    case Combine::kAdd:
      return static_cast<T>(static_cast<U>(a) + static_cast<U>(b));
    case Combine::kSub:
      return static_cast<T>(static_cast<U>(a) - static_cast<U>(b));
    case Combine::kMul:  // 32 bits and more: unsigned so that it wraps; narrower: int is wide
                         // enough
      return static_cast<T>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
    case Combine::kDiv:  // the caller has refused zeros
      if constexpr (std::is_signed_v<T>) {
        if (b == -1) return static_cast<T>(U{0} - static_cast<U>(a));
      }
      return static_cast<T>(a / b);
    case Combine::kMin:
      return std::min(a, b);
    case Combine::kMax:
      return std::max(a, b);
    case Combine::kAssign:
      break;
  }
  return b;
}

template <class T>
T CombineFloating(Combine combine, T a, T b) {
  switch (combine) {
    case Combine::kAdd:
      return a + b;
    case Combine::kSub:
      return a - b;
    case Combine::kMul:
      return a * b;
    case Combine::kDiv:
      return a / b;
    default:
      break;
  }
  if constexpr (std::is_floating_point_v<T>) {
    if (combine == Combine::kMin) return b < a ? b : a;
    if (combine == Combine::kMax) return a < b ? b : a;
  }
  return b;
}

// One run of elements; `step` is 0 when one update serves all. The operation is tested outside the
// loop.
template <class T>
void CombineRun(Combine combine, T* target, const T* updates, int64_t step, int64_t n) {
  using W = typename Wide<T>::Type;
  const auto loop = [&](auto operation) {
    for (int64_t i = 0; i < n; ++i) {
      const W a = static_cast<W>(target[i]);
      const W b = static_cast<W>(updates[i * step]);
      if constexpr (std::is_integral_v<W>) {
        target[i] = CombineInteger<W>(operation(), a, b);
      } else {
        target[i] = static_cast<T>(CombineFloating<W>(operation(), a, b));
      }
    }
  };
  switch (combine) {
    case Combine::kAssign:
      return loop([] { return Combine::kAssign; });
    case Combine::kAdd:
      return loop([] { return Combine::kAdd; });
    case Combine::kSub:
      return loop([] { return Combine::kSub; });
    case Combine::kMul:
      return loop([] { return Combine::kMul; });
    case Combine::kDiv:
      return loop([] { return Combine::kDiv; });
    case Combine::kMin:
      return loop([] { return Combine::kMin; });
    case Combine::kMax:
      return loop([] { return Combine::kMax; });
  }
}

// Rows in the order of the indices; with wide rows the columns are shared out, so that one place
// belongs to one shard.
template <class T, class Run>
Status ForRows(Work& work, const CombineShape& shape, const int64_t* indices, const T* updates,
               T* target, const Run& run) {
  const int64_t step = shape.one_update ? 0 : 1;
  const int64_t grain = std::max<int64_t>(64, kGrain / std::max<int64_t>(shape.count, 1));
  return ForBlocks(work, shape.inner, grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = 0; i < shape.count; ++i) {
      if (indices[i] < 0) continue;
      run(target + indices[i] * shape.inner + begin, updates + step * (i * shape.inner + begin),
          step, end - begin);
    }
  });
}

template <class T>
Status RefuseZeros(const T* divisors, int64_t n) {
  if constexpr (std::is_integral_v<T>) {
    for (int64_t i = 0; i < n; ++i) {
      if (divisors[i] == T{0}) {
        return InvalidArgument("integer division by zero: element ", i, " of the updates is 0");
      }
    }
  }
  return OkStatus();
}

template <class T>
constexpr bool kIsComplex = false;
template <class T>
constexpr bool kIsComplex<std::complex<T>> = true;

// Truth values: a sum is true when a term is, a difference when the two differ. Texts: a sum is one
// after the other.
template <class T, class Run>
Status CombineOthers(Work& work, const CombineShape& shape, const int64_t* indices,
                     const void* updates, void* target, const Run& run) {
  return ForRows(work, shape, indices, static_cast<const T*>(updates), static_cast<T*>(target),
                 [&](T* to, const T* from, int64_t step, int64_t n) {
                   for (int64_t i = 0; i < n; ++i) run(to[i], from[i * step]);
                 });
}

template <class F>
Status WithNumber(DType dtype, Combine combine, F&& f) {
  Status status = Unimplemented("elements of type ", dtype, " cannot be combined this way");
  ForEachType<NumberTypes>([&]<class T>() {
    if (kDTypeOf<T> != dtype) return;
    if (kIsComplex<T> && combine >= Combine::kMin) return;
    status = f.template operator()<T>();
  });
  return status;
}

}  // namespace

Status GatherRows(Work& work, DType dtype, const GatherShape& shape, const void* params,
                  const int64_t* indices, void* out) {
  const int64_t copies = shape.batch * shape.outer * shape.count;
  if (copies == 0 || shape.inner == 0) return OkStatus();
  const int64_t grain = std::max<int64_t>(1, kGrain / shape.inner);
  return WithElement(dtype, [&]<class E>() {
    const E* from = static_cast<const E*>(params);
    E* to = static_cast<E*>(out);
    const bool ahead = shape.inner * static_cast<int64_t>(sizeof(E)) <= kMostAheadBytes;
    return ForBlocks(work, copies, grain, [&](int64_t begin, int64_t end) {
      int64_t slab = begin / shape.count;  // batch * outer
      int64_t i = begin % shape.count;
      for (int64_t copy = begin; copy < end; ++copy) {
        const int64_t row = indices[slab / shape.outer * shape.count + i];
        E* target = to + copy * shape.inner;
        if (row < 0) {
          std::fill_n(target, shape.inner, E());
        } else {
          GatherRow(from + (slab * shape.rows + row) * shape.inner, target, shape.inner);
        }
        if (ahead && i + kAhead < shape.count && copy + kAhead < end) {
          const int64_t next = indices[slab / shape.outer * shape.count + i + kAhead];
          if (next >= 0) AskFor(from + (slab * shape.rows + next) * shape.inner, shape.inner);
        }
        if (++i == shape.count) {
          i = 0;
          ++slab;
        }
      }
    });
  });
}

Status CombineRows(Work& work, DType dtype, Combine combine, const CombineShape& shape,
                   const int64_t* indices, const void* updates, void* target) {
  if (combine == Combine::kAssign) {
    return WithElement(dtype, [&]<class E>() {
      return ForRows(work, shape, indices, static_cast<const E*>(updates), static_cast<E*>(target),
                     [](E* to, const E* from, int64_t step, int64_t n) {
                       if (step == 1) {
                         GatherRow(from, to, n);
                       } else {
                         std::fill_n(to, n, *from);
                       }
                     });
    });
  }
  if (dtype == DType::kString && combine == Combine::kAdd) {
    return CombineOthers<std::string>(work, shape, indices, updates, target,
                                      [](std::string& a, const std::string& b) { a += b; });
  }
  if (dtype == DType::kBool && combine == Combine::kAdd) {
    return CombineOthers<bool>(work, shape, indices, updates, target,
                               [](bool& a, bool b) { a = a || b; });
  }
  if (dtype == DType::kBool && combine == Combine::kSub) {
    return CombineOthers<bool>(work, shape, indices, updates, target,
                               [](bool& a, bool b) { a = a != b; });
  }
  return WithNumber(dtype, combine, [&]<class T>() -> Status {
    if (combine == Combine::kDiv) {
      RETURN_IF_ERROR(RefuseZeros(static_cast<const T*>(updates),
                                  shape.one_update ? 1 : shape.count * shape.inner));
    }
    return ForRows(work, shape, indices, static_cast<const T*>(updates), static_cast<T*>(target),
                   [&](T* to, const T* from, int64_t step, int64_t n) {
                     CombineRun(combine, to, from, step, n);
                   });
  });
}

Status CombineElements(Work& work, DType dtype, Combine combine, int64_t n, const void* updates,
                       void* target) {
  const int64_t only_row = 0;
  return CombineRows(work, dtype, combine, {.inner = n, .count = 1}, &only_row, updates, target);
}

}  // namespace thalweg::compute
