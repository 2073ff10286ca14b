// SPDX-License-Identifier: Apache-2.0
// AttrValue: the value of an attribute of a node: string, int, float, bool, type, shape, tensor,
// function, or a list of one of these. Small scalars lie inline, everything else is immutable and
// shared by copies.
//   AttrValue a = DType::kFloat;
//   *a.Get<DType>() == DType::kFloat;
//   a.Get<bool>().status();  // says what it is instead
//
// Ownership: copies share what is not inline; pointers that Find and begin give live until the map
// changes.
// Threads: const members from any; changes by one at a time.
// Errors: Get: InvalidArgument that names both kinds.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "thalweg/base/status.h"
#include "thalweg/tensor/dtype.h"
#include "thalweg/tensor/shape.h"
#include "thalweg/tensor/tensor.h"

namespace thalweg {

class AttrValue;

// Attributes by name, sorted; few, so a vector.
class AttrMap {
 public:
  using Entry = std::pair<std::string, AttrValue>;
  AttrMap();
  AttrMap(std::initializer_list<Entry> entries);
  AttrMap(const AttrMap&);
  AttrMap(AttrMap&&) noexcept;
  AttrMap& operator=(const AttrMap&);
  AttrMap& operator=(AttrMap&&) noexcept;
  ~AttrMap();
  // Null when absent.
  const AttrValue* Find(std::string_view name) const;
  // Replaces what is there.
  void Set(std::string_view name, AttrValue value);
  void Erase(std::string_view name);
  size_t size() const;
  const Entry* begin() const;
  const Entry* end() const;

 private:
  std::vector<Entry> entries_;
};

// A function by name, with the attributes it is instantiated with.
struct FunctionRef {
  std::string name;
  AttrMap attrs;
};

class AttrValue {
 public:
  enum class Kind : uint8_t {
    kNone,
    kString,
    kInt,
    kFloat,
    kBool,
    kType,
    kShape,
    kTensor,
    kFunction,
    kStringList,
    kIntList,
    kFloatList,
    kBoolList,
    kTypeList,
    kShapeList,
    kTensorList,
    kFunctionList,
    kEmptyList,    // a list whose element kind the wire did not say
    kPlaceholder,  // in a function body: the attribute of the call with this name
  };

  AttrValue() = default;
  // NOLINTBEGIN(google-explicit-constructor): attributes are written as {{"T", DType::kFloat},
  // {"N", 3}}
  AttrValue(bool value) : kind_(Kind::kBool), bits_(value) {}
  AttrValue(int value) : AttrValue(static_cast<int64_t>(value)) {}
  AttrValue(int64_t value) : kind_(Kind::kInt), bits_(value) {}
  AttrValue(float value);
  AttrValue(DType value) : kind_(Kind::kType), bits_(static_cast<int64_t>(value)) {}
  AttrValue(const char* value) : AttrValue(std::string(value)) {}
  AttrValue(std::string_view value) : AttrValue(std::string(value)) {}
  AttrValue(std::string value);
  AttrValue(PartialShape value);
  AttrValue(const Shape& value) : AttrValue(PartialShape(value)) {}
  AttrValue(Tensor value);
  AttrValue(FunctionRef value);
  AttrValue(std::vector<std::string> value);
  AttrValue(std::vector<int64_t> value);
  AttrValue(std::vector<float> value);
  AttrValue(std::vector<bool> value);
  AttrValue(std::vector<DType> value);
  AttrValue(std::vector<PartialShape> value);
  AttrValue(std::vector<Tensor> value);
  AttrValue(std::vector<FunctionRef> value);
  // NOLINTEND
  static AttrValue EmptyList();
  static AttrValue Placeholder(std::string name);

  Kind kind() const { return kind_; }
  bool is_list() const { return kind_ >= Kind::kStringList && kind_ <= Kind::kEmptyList; }
  // Elements of a list, without copying it; 0 for everything else.
  size_t list_size() const;
  // T: std::string, int64_t, float, bool, DType, PartialShape, Tensor, FunctionRef or a std::vector
  // of one of them. InvalidArgument "expected an int, got a type" otherwise. An empty list reads as
  // an empty vector of any kind.
  template <class T>
  Result<T> Get() const;
  // Without a copy, for T that is no int, float, bool or type: null when it holds another kind (an
  // untyped empty list holds none).
  template <class T>
  const T* GetIf() const;
  // The name that a placeholder stands for; empty for everything else.
  std::string_view placeholder() const;
  // As the schema language and messages write it: "DT_FLOAT", "[1,2]", "\"SAME\"".
  std::string ToString() const;
  friend bool operator==(const AttrValue& a, const AttrValue& b);

 private:
  struct Payload;
  Kind kind_ = Kind::kNone;
  int64_t bits_ = 0;  // int, float bits, bool, type
  std::shared_ptr<const Payload> payload_;
};

// "int", "list of types" ...
std::string_view AttrKindName(AttrValue::Kind kind);
// "an int", "a list of types" ...
std::string AttrKindPhrase(AttrValue::Kind kind);

}  // namespace thalweg
