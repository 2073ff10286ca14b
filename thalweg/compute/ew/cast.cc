// SPDX-License-Identifier: Apache-2.0
#include <complex>
#include <limits>
#include <type_traits>

#include "thalweg/compute/arithmetic.h"
#include "thalweg/compute/ew/ew.h"
#include "thalweg/compute/ew/storage.h"
#include "thalweg/tensor/dtype_words.h"

namespace thalweg::compute {
namespace {

template <class T>
constexpr bool kIsComplex = false;
template <class R>
constexpr bool kIsComplex<std::complex<R>> = true;

// To Wide, or its least value where v does not fit (as the CPU's instruction answers).
template <class Wide, class F>
Wide Truncate(F v) {
  constexpr F kLimit = static_cast<F>(-static_cast<double>(std::numeric_limits<Wide>::min()));
  return v >= -kLimit && v < kLimit ? static_cast<Wide>(v) : std::numeric_limits<Wide>::min();
}

template <class To, class F>
To FloatToInteger(F v) {
  if constexpr (std::is_same_v<To, uint64_t>) {
    constexpr F kHalfRange = static_cast<F>(9223372036854775808.0);
    return v >= kHalfRange
               ? static_cast<uint64_t>(Truncate<int64_t>(v - kHalfRange)) ^ (uint64_t{1} << 63)
               : static_cast<uint64_t>(Truncate<int64_t>(v));
  } else if constexpr (std::is_same_v<To, int64_t> || std::is_same_v<To, uint32_t>) {
    return static_cast<To>(Truncate<int64_t>(v));
  } else {
    return static_cast<To>(Truncate<int32_t>(v));
  }
}

template <class To, class From>
To Convert(From v) {
  if constexpr (std::is_same_v<To, From>) {
    return v;
  } else if constexpr (kIsHalf<From>) {
    return Convert<To>(static_cast<float>(v));
  } else if constexpr (std::is_same_v<To, bool>) {
    return v != From(0);
  } else if constexpr (kIsComplex<From>) {
    if constexpr (kIsComplex<To>) {
      return {static_cast<typename To::value_type>(v.real()),
              static_cast<typename To::value_type>(v.imag())};
    } else {
      return Convert<To>(v.real());
    }
  } else if constexpr (kIsComplex<To>) {
    return {Convert<typename To::value_type>(v), 0};
  } else if constexpr (kIsHalf<To>) {
    return To(static_cast<float>(v));
  } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    return FloatToInteger<To>(v);
  } else {
    return static_cast<To>(v);
  }
}

template <class From, class To>
void CastLoop(const void* in, void* out, int64_t n) {
  const From* x = static_cast<const From*>(in);
  To* o = static_cast<To*>(out);
  for (int64_t i = 0; i < n; ++i) o[i] = Convert<To>(x[i]);
}

template <class From>
CastFn FindCast(DType to) {
  CastFn fn = nullptr;
  ForEachType<PodTypes>([&]<class To>() {
    if (to == kDTypeOf<To>) fn = CastLoop<From, To>;
  });
  return fn;
}

CastFn FindCast(DType from, DType to) {
  CastFn fn = nullptr;
  ForEachType<PodTypes>([&]<class From>() {
    if (from == kDTypeOf<From>) fn = FindCast<From>(to);
  });
  return fn;
}

DType DTypeOf(EwType type) {
  static constexpr DType kTypes[kEwTypes] = {DType::kFloat, DType::kDouble,    DType::kInt32,
                                             DType::kInt64, DType::kUint32,    DType::kUint64,
                                             DType::kBool,  DType::kComplex64, DType::kComplex128};
  return kTypes[type];
}

}  // namespace

CastFn CastOfTiles(EwType from, EwType to) { return FindCast(DTypeOf(from), DTypeOf(to)); }

Status RunCast(Work& work, DType from, DType to, int64_t n, const void* in, void* out) {
  const CastFn fn = FindCast(from, to);
  if (fn == nullptr)
    return Unimplemented("Cast ", DTypeWord(from), " to ", DTypeWord(to), " is not supported");
  const auto from_size = static_cast<int64_t>(DTypeSize(from)),
             to_size = static_cast<int64_t>(DTypeSize(to));
  // Halves have vector code of their own.
  const StorageType from_type = StorageTypeOf(from), to_type = StorageTypeOf(to);
  const bool widen =
      to == DType::kFloat && from_type.compute == kEwFloat && from_type.widen != nullptr;
  const bool narrow =
      from == DType::kFloat && to_type.compute == kEwFloat && to_type.narrow != nullptr;
  return ForBlocks(work, n, 65536, [&](int64_t begin, int64_t end) {
    const char* x = static_cast<const char*>(in) + begin * from_size;
    char* o = static_cast<char*>(out) + begin * to_size;
    if (widen) {
      from_type.widen(*work.isa().half, o, x, end - begin);
    } else if (narrow) {
      to_type.narrow(*work.isa().half, o, x, end - begin);
    } else {
      fn(x, o, end - begin);
    }
  });
}

}  // namespace thalweg::compute
