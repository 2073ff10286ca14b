// SPDX-License-Identifier: Apache-2.0
#include "thalweg/testing/trial_values.h"

#include <cmath>
#include <limits>

namespace thalweg {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

double RandomReal(Choices& choices) {
  static const std::vector<double> kReals = {0,    1,     -1,   0.5,   -0.5,  2,
                                             3,    -0.0,  1e-3, 100,   1e10,  -1e30,
                                             kInf, -kInf, NAN,  1e300, 1e-40, 1e-310};
  return choices.Of(kReals);
}

// How the elements of one tensor are chosen: most operations want small numbers all over.
enum class Style { kSmall, kRising, kEqual, kAnything };

double SmallValue(Choices& choices, Style style, int64_t i, double first) {
  if (style == Style::kRising) return static_cast<double>(i);
  if (style == Style::kEqual) return first;
  return static_cast<double>(choices.Below(4));
}

template <class T>
T IntegerValue(Choices& choices, Style style, int64_t i, double first) {
  if (style == Style::kAnything) return static_cast<T>(RandomInt(choices));
  return static_cast<T>(static_cast<int64_t>(SmallValue(choices, style, i, first)));
}

template <class T>
T FloatValue(Choices& choices, Style style, int64_t i, double first) {
  if (style == Style::kAnything) return static_cast<T>(static_cast<float>(RandomReal(choices)));
  return static_cast<T>(static_cast<float>(SmallValue(choices, style, i, first) - 0.5));
}

template <class T>
void FillWith(Choices& choices, Tensor& tensor) {
  const auto style = static_cast<Style>(choices.Below(4));
  const auto first = static_cast<double>(static_cast<int>(choices.Below(5)) - 1);
  T* data = tensor.mutable_data<T>();
  for (int64_t i = 0; i < tensor.num_elements(); ++i) {
    if constexpr (std::is_same_v<T, bool>) {
      data[i] = choices.Below(2) == 1;
    } else if constexpr (std::is_integral_v<T>) {
      data[i] = IntegerValue<T>(choices, style, i, first);
    } else if constexpr (std::is_same_v<T, double>) {
      data[i] = style == Style::kAnything ? RandomReal(choices)
                                          : SmallValue(choices, style, i, first) - 0.5;
    } else if constexpr (std::is_same_v<T, std::complex<float>> ||
                         std::is_same_v<T, std::complex<double>>) {
      using Part = typename T::value_type;
      const Part real = FloatValue<Part>(choices, style, i, first);
      data[i] = T(real, FloatValue<Part>(choices, style, i, first));
    } else {
      data[i] = FloatValue<T>(choices, style, i, first);
    }
  }
}

std::vector<int64_t> RandomInts(Choices& choices, size_t n) {
  std::vector<int64_t> values;
  const bool small = choices.Chance(70);
  for (size_t i = 0; i < n; ++i) {
    values.push_back(small ? static_cast<int64_t>(1 + choices.Below(3)) : RandomInt(choices));
  }
  if (n >= 4 && small && choices.Chance(80)) values.front() = values.back() = 1;  // of a window
  return values;
}

AttrValue RandomList(Choices& choices, const AttrDef& def) {
  static const std::vector<size_t> kLengths = {4, 4, 4, 5, 5, 2, 1, 0, 3, 8, 2, 1};
  size_t n = choices.Of(kLengths);
  if (def.has_minimum && def.minimum > 0 && choices.Chance(80)) {
    n = static_cast<size_t>(def.minimum);
  } else if (def.kind == AttrValue::Kind::kIntList && choices.Chance(50)) {
    n = 4;  // of a window over images
  }
  switch (def.kind) {
    case AttrValue::Kind::kIntList:
      return RandomInts(choices, n);
    case AttrValue::Kind::kFloatList: {
      std::vector<float> values;
      for (size_t i = 0; i < n; ++i) values.push_back(static_cast<float>(RandomReal(choices)));
      return values;
    }
    case AttrValue::Kind::kBoolList: {
      std::vector<bool> values;
      for (size_t i = 0; i < n; ++i) values.push_back(choices.Chance(50));
      return values;
    }
    case AttrValue::Kind::kStringList: {
      std::vector<std::string> values;
      for (size_t i = 0; i < n; ++i) values.push_back(RandomString(choices));
      return values;
    }
    case AttrValue::Kind::kTypeList: {
      std::vector<DType> values;
      for (size_t i = n % 4; i > 0; --i) values.push_back(RandomType(choices, def.allowed_types));
      return values;
    }
    case AttrValue::Kind::kShapeList: {
      std::vector<PartialShape> values;
      for (size_t i = n % 4; i > 0; --i) values.push_back(RandomPartialShape(choices));
      return values;
    }
    case AttrValue::Kind::kTensorList: {
      std::vector<Tensor> values;
      for (size_t i = n % 4; i > 0; --i) {
        values.push_back(RandomTensor(choices, DType::kFloat, RandomShape(choices)));
      }
      return values;
    }
    default:
      return AttrValue::EmptyList();
  }
}

}  // namespace

int64_t RandomInt(Choices& choices) {
  static const std::vector<int64_t> kInts = {0,
                                             1,
                                             2,
                                             3,
                                             4,
                                             7,
                                             -1,
                                             -2,
                                             1,
                                             0,
                                             2,
                                             100,
                                             -7,
                                             1 << 20,
                                             int64_t{1} << 31,
                                             int64_t{1} << 33,
                                             int64_t{1} << 40,
                                             (int64_t{1} << 62) + 1,
                                             std::numeric_limits<int32_t>::max(),
                                             std::numeric_limits<int32_t>::min(),
                                             std::numeric_limits<int64_t>::max(),
                                             std::numeric_limits<int64_t>::min()};
  return choices.Of(kInts);
}

std::string RandomString(Choices& choices) {
  static const std::vector<std::string> kStrings = {"",
                                                    "a",
                                                    "SAME",
                                                    "VALID",
                                                    "EXPLICIT",
                                                    "NHWC",
                                                    "NCHW",
                                                    "NDHWC",
                                                    "NCDHW",
                                                    "ab,bc->ac",
                                                    "...i->i",
                                                    "a,a->",
                                                    "ii->i",
                                                    "...",
                                                    "->",
                                                    "[a-z]+",
                                                    "(((",
                                                    "(a*)*b",
                                                    "\\1\\2",
                                                    "%s %d",
                                                    "{} {}",
                                                    "12",
                                                    "-1e400",
                                                    "0x",
                                                    "1e",
                                                    "true",
                                                    "hello world a bc",
                                                    "\xff\xfe\x80",
                                                    "\xe2\x82\xac uro",
                                                    std::string("\0x", 2),
                                                    "UTF-8",
                                                    "UTF-16-BE",
                                                    "strict",
                                                    "replace",
                                                    "linear",
                                                    "mean",
                                                    "add",
                                                    "max",
                                                    std::string(300, 'a'),
                                                    "9223372036854775808",
                                                    "aGVsbG8=",
                                                    "@@"};
  return choices.Of(kStrings);
}

DType RandomType(Choices& choices, const std::vector<DType>& allowed) {
  static const std::vector<DType> kTypes = {
      DType::kFloat, DType::kInt32,     DType::kInt64,    DType::kDouble,  DType::kString,
      DType::kBool,  DType::kComplex64, DType::kBfloat16, DType::kHalf,    DType::kUint8,
      DType::kInt8,  DType::kUint64,    DType::kResource, DType::kVariant, DType::kQint8};
  return choices.Of(allowed.empty() ? kTypes : allowed);
}

Shape RandomShape(Choices& choices, int rank) {
  static const std::vector<int> kRanks = {0, 1, 1, 2, 2, 3, 4, 4, 5};
  static const std::vector<int64_t> kDims = {0, 1, 2, 2, 3, 3, 7};
  Dims dims;
  const bool cube = choices.Chance(30);
  const int64_t side = choices.Of(kDims);
  if (rank < 0) rank = choices.Of(kRanks);
  for (; rank > 0; --rank) {
    dims.push_back(cube ? side : choices.Of(kDims));
  }
  return Shape(std::move(dims));
}

PartialShape RandomPartialShape(Choices& choices) {
  if (choices.Chance(20)) return PartialShape();
  const Shape shape = RandomShape(choices);
  std::vector<int64_t> dims(shape.dims().begin(), shape.dims().end());
  for (int64_t& dim : dims) {
    if (choices.Chance(15)) dim = -1;
    if (choices.Chance(5)) dim = RandomInt(choices);
  }
  Result<PartialShape> made = PartialShape::Make(dims);
  return made.ok() ? *made : PartialShape(shape);
}

Tensor RandomTensor(Choices& choices, DType dtype, const Shape& shape) {
  Result<Tensor> tensor = Tensor::AllocateHost(dtype, shape);
  if (!tensor.ok()) return Tensor::Scalar(0.0f);
  if (dtype == DType::kString) {
    for (int64_t i = 0; i < tensor->num_elements(); ++i) {
      tensor->mutable_data<std::string>()[i] = RandomString(choices);
    }
  }
  bool filled = false;
  ForEachType<PodTypes>([&]<class T>() {
    if (dtype != kDTypeOf<T>) return;
    FillWith<T>(choices, *tensor);
    filled = true;
  });
  if (!filled && IsPlain(dtype)) {  // quantized
    auto* bytes = static_cast<uint8_t*>(tensor->mutable_raw_data());
    for (size_t i = 0; i < tensor->bytes(); ++i) bytes[i] = choices.Byte();
  }
  return std::move(*tensor);
}

AttrValue RandomAttr(Choices& choices, const AttrDef& def, size_t percent_default) {
  if (def.default_value && choices.Chance(percent_default)) return *def.default_value;
  switch (def.kind) {
    case AttrValue::Kind::kString:
      if (!def.allowed_strings.empty() && choices.Chance(90))
        return choices.Of(def.allowed_strings);
      return RandomString(choices);
    case AttrValue::Kind::kInt:
      return def.has_minimum && choices.Chance(50) ? def.minimum : RandomInt(choices);
    case AttrValue::Kind::kFloat:
      return static_cast<float>(RandomReal(choices));
    case AttrValue::Kind::kBool:
      return choices.Chance(50);
    case AttrValue::Kind::kType:
      return RandomType(choices, def.allowed_types);
    case AttrValue::Kind::kShape:
      return RandomPartialShape(choices);
    case AttrValue::Kind::kTensor:
      return RandomTensor(choices, DType::kFloat, RandomShape(choices));
    case AttrValue::Kind::kFunction:
      return FunctionRef{"nothing", {}};
    default:
      return RandomList(choices, def);
  }
}

}  // namespace thalweg
