// SPDX-License-Identifier: Apache-2.0
// Counted: what a Tensor's payload points at when it is not an inline scalar: an object with a
// reference count first. Two kinds exist: a TensorRep (header of a buffer) and a Resource (a
// variable, a queue ...). The count starts at one.
// Ownership: whoever holds a reference; RefPtr holds one and gives it back.
// Threads: Ref and Unref may race; the last Unref destroys, and sees everything done before the
// other Unrefs.
// Errors: none.
#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

namespace thalweg {

struct Counted {
  enum class Kind : uint32_t { kTensorRep, kResource };
  explicit Counted(Kind k) : kind(k) {}
  mutable std::atomic<uint32_t> refs{1};
  const Kind kind;
};

void DestroyCounted(const Counted* object);

inline void Ref(const Counted* object) { object->refs.fetch_add(1, std::memory_order_relaxed); }
inline void Unref(const Counted* object) {
  // A sole owner needs no locked instruction: nobody else can make a reference meanwhile.
  if (object->refs.load(std::memory_order_acquire) == 1 ||
      object->refs.fetch_sub(1, std::memory_order_acq_rel) == 1) {
    DestroyCounted(object);
  }
}

// RefPtr<T>: owns one reference of a T that derives from Counted.
template <class T>
class RefPtr {
 public:
  RefPtr() = default;
  // Takes over the caller's reference.
  static RefPtr Adopt(T* object) {
    RefPtr p;
    p.object_ = object;
    return p;
  }
  // Makes a reference of its own.
  static RefPtr Share(T* object) {
    if (object != nullptr) Ref(object);
    return Adopt(object);
  }
  RefPtr(const RefPtr& other) : object_(other.object_) {
    if (object_ != nullptr) Ref(object_);
  }
  RefPtr(RefPtr&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  RefPtr& operator=(RefPtr other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~RefPtr() {
    if (object_ != nullptr) Unref(object_);
  }
  T* get() const { return object_; }
  T* operator->() const { return object_; }
  T& operator*() const { return *object_; }
  explicit operator bool() const { return object_ != nullptr; }
  T* release() { return std::exchange(object_, nullptr); }

 private:
  T* object_ = nullptr;
};

}  // namespace thalweg
