// SPDX-License-Identifier: Apache-2.0
#include "thalweg/graph/attr_value.h"

#include <algorithm>
#include <cstring>

namespace thalweg {
namespace {

using Kind = AttrValue::Kind;

// Longer lists and tensors are cut in messages.
constexpr size_t kShownElements = 16;

std::string TypeText(DType type) {
  switch (type) {
    case DType::kFloat:
      return "DT_FLOAT";
    case DType::kDouble:
      return "DT_DOUBLE";
    case DType::kHalf:
      return "DT_HALF";
    default:
      break;
  }
  std::string text = "DT_";
  for (char c : DTypeName(type)) {
    text.push_back(c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c);
  }
  return text;
}

std::string QuotedText(std::string_view value) {
  std::string text = "\"";
  for (char c : value) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      text.push_back('\\');
      text.push_back(c);
    } else if (byte >= 32 && byte < 127) {
      text.push_back(c);
    } else {
      text.push_back('\\');
      for (int shift = 6; shift >= 0; shift -= 3) {
        text.push_back(static_cast<char>('0' + ((byte >> shift) & 7)));
      }
    }
  }
  text.push_back('"');
  return text;
}

std::string ElementText(const std::string& v) { return QuotedText(v); }
std::string ElementText(int64_t v) { return StrCat(v); }
std::string ElementText(float v) { return StrCat(v); }
std::string ElementText(bool v) { return StrCat(v); }
std::string ElementText(DType v) { return TypeText(v); }
std::string ElementText(const PartialShape& v) { return v.ToString(); }
std::string ElementText(const Tensor& v) { return v.empty() ? "<no tensor>" : v.ToString(); }
std::string ElementText(const FunctionRef& v) {
  std::string text = v.name;
  for (const auto& [name, value] : v.attrs) {
    text.append(StrCat(text.size() == v.name.size() ? "[" : ", ", name, "=", value.ToString()));
  }
  if (v.attrs.size() > 0) text.push_back(']');
  return text;
}

template <class T>
std::string ListText(const std::vector<T>& values) {
  std::string text = "[";
  for (size_t i = 0; i < values.size(); ++i) {
    if (i > 0) text.append(", ");
    if (i == kShownElements) {
      text.append("...");
      break;
    }
    text.append(ElementText(values[i]));
  }
  text.push_back(']');
  return text;
}

bool EqualValues(const Tensor& a, const Tensor& b) {
  if (a.dtype() != b.dtype() || a.kind() == Tensor::Kind::kReference ||
      b.kind() == Tensor::Kind::kReference || a.empty() != b.empty()) {
    return false;
  }
  if (a.empty()) return true;
  if (!(a.shape() == b.shape())) return false;
  if (a.dtype() == DType::kString) {
    return std::equal(a.flat<std::string>().begin(), a.flat<std::string>().end(),
                      b.flat<std::string>().begin());
  }
  if (!IsPlain(a.dtype())) return a.SharesBufferWith(b);
  return a.bytes() == 0 || std::memcmp(a.raw_data(), b.raw_data(), a.bytes()) == 0;
}
bool EqualValues(const FunctionRef& a, const FunctionRef& b) {
  return a.name == b.name &&
         std::equal(a.attrs.begin(), a.attrs.end(), b.attrs.begin(), b.attrs.end());
}
template <class T>
bool EqualValues(const T& a, const T& b) {
  return a == b;
}
// Bits count, so that a NaN equals itself and -0 is not 0.
bool EqualValues(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() &&
         (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0);
}
bool EqualValues(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const Tensor& x, const Tensor& y) { return EqualValues(x, y); });
}
bool EqualValues(const std::vector<FunctionRef>& a, const std::vector<FunctionRef>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const FunctionRef& x, const FunctionRef& y) { return EqualValues(x, y); });
}

template <class T>
inline constexpr Kind kKindOf = Kind::kNone;
#define THALWEG_KIND(TYPE, KIND) \
  template <>                    \
  inline constexpr Kind kKindOf<TYPE> = Kind::KIND
THALWEG_KIND(std::string, kString);
THALWEG_KIND(int64_t, kInt);
THALWEG_KIND(float, kFloat);
THALWEG_KIND(bool, kBool);
THALWEG_KIND(DType, kType);
THALWEG_KIND(PartialShape, kShape);
THALWEG_KIND(Tensor, kTensor);
THALWEG_KIND(FunctionRef, kFunction);
THALWEG_KIND(std::vector<std::string>, kStringList);
THALWEG_KIND(std::vector<int64_t>, kIntList);
THALWEG_KIND(std::vector<float>, kFloatList);
THALWEG_KIND(std::vector<bool>, kBoolList);
THALWEG_KIND(std::vector<DType>, kTypeList);
THALWEG_KIND(std::vector<PartialShape>, kShapeList);
THALWEG_KIND(std::vector<Tensor>, kTensorList);
THALWEG_KIND(std::vector<FunctionRef>, kFunctionList);
#undef THALWEG_KIND

template <class T>
inline constexpr bool kIsScalarBits = std::is_same_v<T, int64_t> || std::is_same_v<T, float> ||
                                      std::is_same_v<T, bool> || std::is_same_v<T, DType>;
template <class T>
inline constexpr bool kIsVector = false;
template <class T>
inline constexpr bool kIsVector<std::vector<T>> = true;

}  // namespace

struct AttrValue::Payload {
  std::variant<std::string, PartialShape, Tensor, FunctionRef, std::vector<std::string>,
               std::vector<int64_t>, std::vector<float>, std::vector<bool>, std::vector<DType>,
               std::vector<PartialShape>, std::vector<Tensor>, std::vector<FunctionRef>>
      value;
};

AttrMap::AttrMap() = default;
AttrMap::AttrMap(std::initializer_list<Entry> entries) {
  for (const Entry& entry : entries) Set(entry.first, entry.second);
}
AttrMap::AttrMap(const AttrMap&) = default;
AttrMap::AttrMap(AttrMap&&) noexcept = default;
AttrMap& AttrMap::operator=(const AttrMap&) = default;
AttrMap& AttrMap::operator=(AttrMap&&) noexcept = default;
AttrMap::~AttrMap() = default;

const AttrValue* AttrMap::Find(std::string_view name) const {
  for (const Entry& entry : entries_) {
    if (entry.first == name) return &entry.second;
  }
  return nullptr;
}

void AttrMap::Set(std::string_view name, AttrValue value) {
  // Most maps are built in order: look at the end first.
  auto place = entries_.end();
  if (!entries_.empty() && entries_.back().first >= name) {
    place = std::lower_bound(entries_.begin(), entries_.end(), name,
                             [](const Entry& e, std::string_view n) { return e.first < n; });
    if (place->first == name) {
      place->second = std::move(value);
      return;
    }
  }
  entries_.emplace(place, std::string(name), std::move(value));
}

void AttrMap::Erase(std::string_view name) {
  std::erase_if(entries_, [&](const Entry& entry) { return entry.first == name; });
}

size_t AttrMap::size() const { return entries_.size(); }
const AttrMap::Entry* AttrMap::begin() const { return entries_.data(); }
const AttrMap::Entry* AttrMap::end() const { return entries_.data() + entries_.size(); }

AttrValue::AttrValue(float value) : kind_(Kind::kFloat) {
  uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof(bits));
  bits_ = bits;
}

#define THALWEG_PAYLOAD(TYPE)      \
  AttrValue::AttrValue(TYPE value) \
      : kind_(kKindOf<TYPE>),      \
        payload_(std::make_shared<const Payload>(Payload{std::move(value)})) {}
THALWEG_PAYLOAD(std::string)
THALWEG_PAYLOAD(PartialShape)
THALWEG_PAYLOAD(Tensor)
THALWEG_PAYLOAD(FunctionRef)
THALWEG_PAYLOAD(std::vector<std::string>)
THALWEG_PAYLOAD(std::vector<int64_t>)
THALWEG_PAYLOAD(std::vector<float>)
THALWEG_PAYLOAD(std::vector<bool>)
THALWEG_PAYLOAD(std::vector<DType>)
THALWEG_PAYLOAD(std::vector<PartialShape>)
THALWEG_PAYLOAD(std::vector<Tensor>)
THALWEG_PAYLOAD(std::vector<FunctionRef>)
#undef THALWEG_PAYLOAD

AttrValue AttrValue::EmptyList() {
  AttrValue value;
  value.kind_ = Kind::kEmptyList;
  return value;
}

AttrValue AttrValue::Placeholder(std::string name) {
  AttrValue value(std::move(name));
  value.kind_ = Kind::kPlaceholder;
  return value;
}

template <class T>
Result<T> AttrValue::Get() const {
  if (kind_ != kKindOf<T>) {
    if constexpr (kIsVector<T>) {
      if (kind_ == Kind::kEmptyList) return T();
    }
    return InvalidArgument("expected ", AttrKindPhrase(kKindOf<T>), ", got ",
                           AttrKindPhrase(kind_));
  }
  if constexpr (std::is_same_v<T, float>) {
    const auto bits = static_cast<uint32_t>(bits_);
    float value = 0;
    std::memcpy(&value, &bits, sizeof(value));
    return value;
  } else if constexpr (kIsScalarBits<T>) {
    return static_cast<T>(bits_);
  } else {
    return std::get<T>(payload_->value);
  }
}

template <class T>
const T* AttrValue::GetIf() const {
  return kind_ == kKindOf<T> ? &std::get<T>(payload_->value) : nullptr;
}

template const std::string* AttrValue::GetIf() const;
template const PartialShape* AttrValue::GetIf() const;
template const Tensor* AttrValue::GetIf() const;
template const FunctionRef* AttrValue::GetIf() const;
template const std::vector<std::string>* AttrValue::GetIf() const;
template const std::vector<int64_t>* AttrValue::GetIf() const;
template const std::vector<float>* AttrValue::GetIf() const;
template const std::vector<bool>* AttrValue::GetIf() const;
template const std::vector<DType>* AttrValue::GetIf() const;
template const std::vector<PartialShape>* AttrValue::GetIf() const;
template const std::vector<Tensor>* AttrValue::GetIf() const;
template const std::vector<FunctionRef>* AttrValue::GetIf() const;

template Result<std::string> AttrValue::Get() const;
template Result<int64_t> AttrValue::Get() const;
template Result<float> AttrValue::Get() const;
template Result<bool> AttrValue::Get() const;
template Result<DType> AttrValue::Get() const;
template Result<PartialShape> AttrValue::Get() const;
template Result<Tensor> AttrValue::Get() const;
template Result<FunctionRef> AttrValue::Get() const;
template Result<std::vector<std::string>> AttrValue::Get() const;
template Result<std::vector<int64_t>> AttrValue::Get() const;
template Result<std::vector<float>> AttrValue::Get() const;
template Result<std::vector<bool>> AttrValue::Get() const;
template Result<std::vector<DType>> AttrValue::Get() const;
template Result<std::vector<PartialShape>> AttrValue::Get() const;
template Result<std::vector<Tensor>> AttrValue::Get() const;
template Result<std::vector<FunctionRef>> AttrValue::Get() const;

size_t AttrValue::list_size() const {
  if (payload_ == nullptr) return 0;
  return std::visit(
      []<class T>(const T& value) -> size_t {
        if constexpr (kIsVector<T>) {
          return value.size();
        } else {
          return 0;
        }
      },
      payload_->value);
}

std::string_view AttrValue::placeholder() const {
  if (kind_ != Kind::kPlaceholder) return {};
  return std::get<std::string>(payload_->value);
}

std::string AttrValue::ToString() const {
  switch (kind_) {
    case Kind::kNone:
      return "<none>";
    case Kind::kInt:
      return ElementText(bits_);
    case Kind::kFloat:
      return ElementText(*Get<float>());
    case Kind::kBool:
      return ElementText(bits_ != 0);
    case Kind::kType:
      return TypeText(static_cast<DType>(bits_));
    case Kind::kEmptyList:
      return "[]";
    case Kind::kPlaceholder:
      return StrCat("$", placeholder());
    default:
      return std::visit(
          []<class T>(const T& value) {
            if constexpr (kIsVector<T>) {
              return ListText(value);
            } else {
              return ElementText(value);
            }
          },
          payload_->value);
  }
}

bool operator==(const AttrValue& a, const AttrValue& b) {
  if (a.is_list() && b.is_list() && a.list_size() == 0 && b.list_size() == 0) {
    return a.kind_ == b.kind_ || a.kind_ == Kind::kEmptyList || b.kind_ == Kind::kEmptyList;
  }
  if (a.kind_ != b.kind_ || a.bits_ != b.bits_) return false;
  if (a.payload_ == b.payload_) return true;
  return std::visit(
      []<class A, class B>(const A& x, const B& y) {
        if constexpr (std::is_same_v<A, B>) {
          return EqualValues(x, y);
        } else {
          return false;
        }
      },
      a.payload_->value, b.payload_->value);
}

std::string AttrKindPhrase(AttrValue::Kind kind) {
  return StrCat(kind == Kind::kInt || kind == Kind::kEmptyList ? "an " : "a ", AttrKindName(kind));
}

std::string_view AttrKindName(AttrValue::Kind kind) {
  switch (kind) {
    case Kind::kNone:
      return "missing value";
    case Kind::kString:
      return "string";
    case Kind::kInt:
      return "int";
    case Kind::kFloat:
      return "float";
    case Kind::kBool:
      return "bool";
    case Kind::kType:
      return "type";
    case Kind::kShape:
      return "shape";
    case Kind::kTensor:
      return "tensor";
    case Kind::kFunction:
      return "function";
    case Kind::kStringList:
      return "list of strings";
    case Kind::kIntList:
      return "list of ints";
    case Kind::kFloatList:
      return "list of floats";
    case Kind::kBoolList:
      return "list of bools";
    case Kind::kTypeList:
      return "list of types";
    case Kind::kShapeList:
      return "list of shapes";
    case Kind::kTensorList:
      return "list of tensors";
    case Kind::kFunctionList:
      return "list of functions";
    case Kind::kEmptyList:
      return "empty list";
    case Kind::kPlaceholder:
      return "placeholder";
  }
  return "unknown kind";
}

}  // namespace thalweg
