// SPDX-License-Identifier: Apache-2.0
// DType: the element type of a tensor. Numbers are those of TensorFlow's DataType enum, so they go
// to the wire as they are. A reference type (an edge that carries a handle to a variable) is not a
// DType: see ArgDef::is_ref.
// Ownership: texts are static.
// Threads: any; no state.
// Errors: ParseDType: InvalidArgument with the name. Others take any number and say false, 0 or
// "invalid".
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "thalweg/base/status.h"
#include "thalweg/tensor/half.h"

namespace thalweg {

enum class DType : uint8_t {
  kInvalid = 0,
  kFloat = 1,
  kDouble = 2,
  kInt32 = 3,
  kUint8 = 4,
  kInt16 = 5,
  kInt8 = 6,
  kString = 7,
  kComplex64 = 8,
  kInt64 = 9,
  kBool = 10,
  kQint8 = 11,
  kQuint8 = 12,
  kQint32 = 13,
  kBfloat16 = 14,
  kQint16 = 15,
  kQuint16 = 16,
  kUint16 = 17,
  kComplex128 = 18,
  kHalf = 19,
  kResource = 20,
  kVariant = 21,
  kUint32 = 22,
  kUint64 = 23,
  kFloat8E5m2 = 24,
  kFloat8E4m3fn = 25,
  kFloat8E4m3fnuz = 26,
  kFloat8E4m3b11fnuz = 27,
  kFloat8E5m2fnuz = 28,
  kInt4 = 29,
  kUint4 = 30,
  kInt2 = 31,
  kUint2 = 32,
};
inline constexpr int kNumDTypes = 33;
// At the wire a reference type is the type's number plus this.
inline constexpr int kRefOffset = 100;

// The element of a string tensor is std::string; of resource and variant tensors these (resource.h,
// variant.h).
class ResourceHandle;
class Variant;

// Quantized elements: an integer that means a scaled real.
struct Qint8 {
  int8_t value;
};
struct Quint8 {
  uint8_t value;
};
struct Qint16 {
  int16_t value;
};
struct Quint16 {
  uint16_t value;
};
struct Qint32 {
  int32_t value;
};

// "float32", "int64", "bfloat16", "string" ...; "invalid" for numbers that are no type.
std::string_view DTypeName(DType dtype);
// Accepts DTypeName's names, and TensorFlow's "float", "double", "half" and "DT_FLOAT" forms.
Result<DType> ParseDType(std::string_view name);
// True for numbers that name a type.
bool IsValidDType(int number);

// Bytes of one element; 0 for string, resource, variant, whose elements are objects.
size_t DTypeSize(DType dtype);
// Bytes of one element as stored in memory, objects included; 0 for kInvalid.
size_t DTypeStride(DType dtype);
// True when elements are plain bytes: copying them is memcpy.
inline bool IsPlain(DType dtype) { return DTypeSize(dtype) != 0; }
bool IsFloating(DType dtype);  // half, bfloat16, float8, float, double
bool IsInteger(DType dtype);   // signed or unsigned, not quantized, not bool
bool IsSigned(DType dtype);
bool IsComplex(DType dtype);
bool IsQuantized(DType dtype);

inline std::string_view TextOf(DType dtype) { return DTypeName(dtype); }

// kDTypeOf<float> == DType::kFloat.
template <class T>
inline constexpr DType kDTypeOf = DType::kInvalid;
template <>
inline constexpr DType kDTypeOf<float> = DType::kFloat;
template <>
inline constexpr DType kDTypeOf<double> = DType::kDouble;
template <>
inline constexpr DType kDTypeOf<int8_t> = DType::kInt8;
template <>
inline constexpr DType kDTypeOf<int16_t> = DType::kInt16;
template <>
inline constexpr DType kDTypeOf<int32_t> = DType::kInt32;
template <>
inline constexpr DType kDTypeOf<int64_t> = DType::kInt64;
template <>
inline constexpr DType kDTypeOf<uint8_t> = DType::kUint8;
template <>
inline constexpr DType kDTypeOf<uint16_t> = DType::kUint16;
template <>
inline constexpr DType kDTypeOf<uint32_t> = DType::kUint32;
template <>
inline constexpr DType kDTypeOf<uint64_t> = DType::kUint64;
template <>
inline constexpr DType kDTypeOf<bool> = DType::kBool;
template <>
inline constexpr DType kDTypeOf<Half> = DType::kHalf;
template <>
inline constexpr DType kDTypeOf<Bfloat16> = DType::kBfloat16;
template <>
inline constexpr DType kDTypeOf<std::complex<float>> = DType::kComplex64;
template <>
inline constexpr DType kDTypeOf<std::complex<double>> = DType::kComplex128;
template <>
inline constexpr DType kDTypeOf<std::string> = DType::kString;
template <>
inline constexpr DType kDTypeOf<Qint8> = DType::kQint8;
template <>
inline constexpr DType kDTypeOf<Quint8> = DType::kQuint8;
template <>
inline constexpr DType kDTypeOf<Qint16> = DType::kQint16;
template <>
inline constexpr DType kDTypeOf<Quint16> = DType::kQuint16;
template <>
inline constexpr DType kDTypeOf<Qint32> = DType::kQint32;
template <>
inline constexpr DType kDTypeOf<ResourceHandle> = DType::kResource;
template <>
inline constexpr DType kDTypeOf<Variant> = DType::kVariant;

// A list of element types; ForEachType<Types<float, double>>([]<class T>() { ... }).
template <class... Ts>
struct Types {};
template <class... A, class... B>
Types<A..., B...> JoinTypes(Types<A...>, Types<B...>);

using FloatTypes = Types<float, double, Half, Bfloat16>;
using ComplexTypes = Types<std::complex<float>, std::complex<double>>;
using SignedTypes = Types<int8_t, int16_t, int32_t, int64_t>;
using UnsignedTypes = Types<uint8_t, uint16_t, uint32_t, uint64_t>;
using IntegerTypes = decltype(JoinTypes(SignedTypes{}, UnsignedTypes{}));
using RealTypes = decltype(JoinTypes(FloatTypes{}, IntegerTypes{}));
using NumberTypes = decltype(JoinTypes(RealTypes{}, ComplexTypes{}));
using PodTypes = decltype(JoinTypes(NumberTypes{}, Types<bool>{}));

namespace internal {
template <class F, class... Ts>
void ForEachTypeImpl(Types<Ts...>, F&& f) {
  (f.template operator()<Ts>(), ...);
}
}  // namespace internal

template <class List, class F>
void ForEachType(F&& f) {
  internal::ForEachTypeImpl(List{}, f);
}

}  // namespace thalweg
