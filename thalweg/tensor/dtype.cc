// SPDX-License-Identifier: Apache-2.0
#include "thalweg/tensor/dtype.h"

#include "thalweg/tensor/resource.h"
#include "thalweg/tensor/variant.h"

namespace thalweg {
namespace {

enum Class : uint8_t {
  kNone,
  kFloating,
  kSignedInt,
  kUnsignedInt,
  kComplexNumber,
  kQuantized,
  kOther
};

struct Row {
  std::string_view name;
  std::string_view enum_name;  // without "DT_"
  uint8_t size;                // bytes of one element, 0 for objects
  Class cls;
};

constexpr Row kRows[kNumDTypes] = {
    {"invalid", "INVALID", 0, kNone},
    {"float32", "FLOAT", 4, kFloating},
    {"float64", "DOUBLE", 8, kFloating},
    {"int32", "INT32", 4, kSignedInt},
    {"uint8", "UINT8", 1, kUnsignedInt},
    {"int16", "INT16", 2, kSignedInt},
    {"int8", "INT8", 1, kSignedInt},
    {"string", "STRING", 0, kOther},
    {"complex64", "COMPLEX64", 8, kComplexNumber},
    {"int64", "INT64", 8, kSignedInt},
    {"bool", "BOOL", 1, kOther},
    {"qint8", "QINT8", 1, kQuantized},
    {"quint8", "QUINT8", 1, kQuantized},
    {"qint32", "QINT32", 4, kQuantized},
    {"bfloat16", "BFLOAT16", 2, kFloating},
    {"qint16", "QINT16", 2, kQuantized},
    {"quint16", "QUINT16", 2, kQuantized},
    {"uint16", "UINT16", 2, kUnsignedInt},
    {"complex128", "COMPLEX128", 16, kComplexNumber},
    {"float16", "HALF", 2, kFloating},
    {"resource", "RESOURCE", 0, kOther},
    {"variant", "VARIANT", 0, kOther},
    {"uint32", "UINT32", 4, kUnsignedInt},
    {"uint64", "UINT64", 8, kUnsignedInt},
    {"float8_e5m2", "FLOAT8_E5M2", 1, kFloating},
    {"float8_e4m3fn", "FLOAT8_E4M3FN", 1, kFloating},
    {"float8_e4m3fnuz", "FLOAT8_E4M3FNUZ", 1, kFloating},
    {"float8_e4m3b11fnuz", "FLOAT8_E4M3B11FNUZ", 1, kFloating},
    {"float8_e5m2fnuz", "FLOAT8_E5M2FNUZ", 1, kFloating},
    {"int4", "INT4", 1, kSignedInt},
    {"uint4", "UINT4", 1, kUnsignedInt},
    {"int2", "INT2", 1, kSignedInt},
    {"uint2", "UINT2", 1, kUnsignedInt},
};

const Row& RowOf(DType dtype) {
  const auto i = static_cast<size_t>(dtype);
  return kRows[i < kNumDTypes ? i : 0];
}

}  // namespace

std::string_view DTypeName(DType dtype) { return RowOf(dtype).name; }

Result<DType> ParseDType(std::string_view name) {
  if (name == "float") return DType::kFloat;
  if (name == "double") return DType::kDouble;
  if (name == "half") return DType::kHalf;
  for (int i = 1; i < kNumDTypes; ++i) {
    if (name == kRows[i].name) return static_cast<DType>(i);
    if (name.starts_with("DT_") && name.substr(3) == kRows[i].enum_name)
      return static_cast<DType>(i);
  }
  return InvalidArgument("'", name, "' is not an element type");
}

bool IsValidDType(int number) { return number > 0 && number < kNumDTypes; }

size_t DTypeSize(DType dtype) { return RowOf(dtype).size; }

size_t DTypeStride(DType dtype) {
  switch (dtype) {
    case DType::kString:
      return sizeof(std::string);
    case DType::kResource:
      return sizeof(ResourceHandle);
    case DType::kVariant:
      return sizeof(Variant);
    default:
      return DTypeSize(dtype);
  }
}

bool IsFloating(DType dtype) { return RowOf(dtype).cls == kFloating; }
bool IsInteger(DType dtype) {
  return RowOf(dtype).cls == kSignedInt || RowOf(dtype).cls == kUnsignedInt;
}
bool IsSigned(DType dtype) { return RowOf(dtype).cls == kSignedInt || IsFloating(dtype); }
bool IsComplex(DType dtype) { return RowOf(dtype).cls == kComplexNumber; }
bool IsQuantized(DType dtype) { return RowOf(dtype).cls == kQuantized; }

}  // namespace thalweg
