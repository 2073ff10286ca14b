// SPDX-License-Identifier: Apache-2.0
// Variant: the element of a variant tensor: one immutable object of any class that derives from
// VariantValue, shared by copies (TensorLists and such). An empty Variant is what a fresh variant
// tensor holds.
// Ownership: copies share the object; it lives until the last one goes.
// Threads: as a std::shared_ptr; the object is immutable.
// Errors: none; null where it is empty or holds another class.
#pragma once

#include <memory>
#include <string>

namespace thalweg {

class VariantValue {
 public:
  virtual ~VariantValue() = default;
  // The name at the wire, such as "tensorflow::TensorList".
  virtual std::string TypeName() const = 0;
  virtual std::string DebugString() const = 0;
};

class Variant {
 public:
  Variant() = default;
  explicit Variant(std::shared_ptr<const VariantValue> value) : value_(std::move(value)) {}
  const VariantValue* get() const { return value_.get(); }
  // Null when it holds something else.
  template <class T>
  const T* As() const {
    return dynamic_cast<const T*>(value_.get());
  }

 private:
  std::shared_ptr<const VariantValue> value_;
};

}  // namespace thalweg
