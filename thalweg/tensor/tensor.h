// SPDX-License-Identifier: Apache-2.0
// Tensor: a dense array of one element type, as a 16-byte handle. Copying shares the buffer. A
// scalar of a plain type of at most 8 bytes lies in the handle itself and never allocates.
//
//   ASSIGN_OR_RETURN(Tensor t, Tensor::Allocate(*allocator, DType::kFloat, Shape{2, 3}));
//   std::fill_n(t.mutable_data<float>(), t.num_elements(), 1.0f);
//   Tensor s = Tensor::Scalar(3);            // int32, inline
//   Tensor r = *t.Reshaped(Shape{6});        // shares t's buffer
//
// Elements are contiguous, row-major. Of a fresh tensor, plain elements are uninitialized and
// objects (std::string, ResourceHandle, Variant) are default-constructed.
// Ownership: the buffer lives until the last handle goes.
// Threads: like shared_ptr. Writing through mutable_data is for a sole owner (IsSoleOwner) or a
// fresh tensor.
// Errors: Allocate, AllocateHost, Clone: ResourceExhausted; Reshaped, Bitcast: InvalidArgument
// where sizes do not fit.
//
// A handle can also carry a reference to a Resource (an edge of reference type: the output of
// VariableV2), or nothing. The executor moves handles as two 8-byte words: read and write them
// whole, never a part of one.
#pragma once

#include <algorithm>
#include <cstring>
#include <functional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

#include "thalweg/base/check.h"
#include "thalweg/base/status.h"
#include "thalweg/tensor/allocator.h"
#include "thalweg/tensor/counted.h"
#include "thalweg/tensor/dtype.h"
#include "thalweg/tensor/resource.h"
#include "thalweg/tensor/shape.h"
#include "thalweg/tensor/variant.h"

namespace thalweg {

// Header of a buffer. `owner` (a view's) keeps the tensor alive whose bytes these are.
struct TensorRep : Counted {
  TensorRep() : Counted(Kind::kTensorRep) {}
  DType dtype = DType::kInvalid;
  Shape shape;
  int64_t num_elements = 0;
  void* data = nullptr;
  size_t block_bytes = 0;  // of the block from `allocator`; 0 when data lies behind this header
  Allocator* allocator =
      nullptr;  // null: data lies behind this header, or belongs to owner or release
  TensorRep* owner = nullptr;
  std::function<void()>* release = nullptr;  // of a buffer from outside
};

// Eight bytes that are also written and read as a scalar of another type, through data<T>(): the
// compiler must not take the two for different objects.
class SharedWord {
 public:
  explicit SharedWord(uint64_t bits) { std::memcpy(bytes_, &bits, 8); }
  operator uint64_t() const {  // NOLINT: a plain number to everybody else
    uint64_t bits;
    std::memcpy(&bits, bytes_, 8);
    return bits;
  }

 private:
  alignas(8) unsigned char bytes_[8];
};

class Tensor {
 public:
  enum class Kind : uint8_t { kEmpty = 0, kInline = 1, kBuffer = 2, kReference = 3 };

  Tensor() = default;
  Tensor(const Tensor& other) : payload_(other.payload_), meta_(other.meta_) {
    if (is_counted()) Ref(counted());
  }
  Tensor(Tensor&& other) noexcept : payload_(other.payload_), meta_(std::exchange(other.meta_, 0)) {
    other.payload_ = SharedWord(0);
  }
  Tensor& operator=(const Tensor& other) {
    Tensor(other).swap(*this);
    return *this;
  }
  Tensor& operator=(Tensor&& other) noexcept {
    Tensor(std::move(other)).swap(*this);
    return *this;
  }
  ~Tensor() {
    if (is_counted()) Unref(counted());
  }

  // ResourceExhausted when the allocator has no room. A scalar of at most 8 bytes is inline and
  // zero.
  static Result<Tensor> Allocate(Allocator& allocator, DType dtype, const Shape& shape);
  // A tensor over memory of somebody else. `release` runs once, on any thread, when the last handle
  // goes. The data must be aligned for the element type and must not change meanwhile.
  static Tensor FromBuffer(DType dtype, const Shape& shape, void* data,
                           std::function<void()> release);
  // From malloc, outside any device's limit: constants, attributes, small host values.
  // ResourceExhausted when malloc has none.
  static Result<Tensor> AllocateHost(DType dtype, const Shape& shape);
  template <class T>
  static Tensor Scalar(const T& value);
  static Tensor Scalar(const char* text) { return Scalar(std::string(text)); }
  // A vector (or, with a shape, any tensor) of values on the host.
  template <class T>
  static Tensor Of(std::span<const T> values, const Shape& shape);
  template <class T>
  static Tensor Vector(std::initializer_list<T> values) {
    return Of<T>({values.begin(), values.size()}, Shape{static_cast<int64_t>(values.size())});
  }
  // Carries a reference to a resource along an edge of reference type; `dtype` is the variable's.
  static Tensor Reference(RefPtr<Resource> resource, DType dtype);

  Kind kind() const { return static_cast<Kind>(meta_ & 0xff); }
  bool empty() const { return meta_ == 0; }
  bool is_reference() const { return kind() == Kind::kReference; }
  DType dtype() const { return static_cast<DType>((meta_ >> 8) & 0xff); }
  Shape shape() const { return kind() == Kind::kBuffer ? rep()->shape : Shape(); }
  // Without the copy of shape().
  int rank() const { return kind() == Kind::kBuffer ? rep()->shape.rank() : 0; }
  int64_t dim(int i) const { return rep()->shape.dim(i); }
  int64_t num_elements() const { return kind() == Kind::kBuffer ? rep()->num_elements : 1; }
  // The bytes of the elements as stored (for strings: of the std::string objects).
  size_t bytes() const { return static_cast<size_t>(num_elements()) * DTypeStride(dtype()); }

  const void* raw_data() const { return kind() == Kind::kInline ? &payload_ : rep()->data; }
  void* mutable_raw_data() { return kind() == Kind::kInline ? &payload_ : rep()->data; }
  // T must be the C++ type of dtype(). The pointer of an inline scalar points into this handle.
  template <class T>
  const T* data() const {
    return static_cast<const T*>(raw_data());
  }
  template <class T>
  T* mutable_data() {
    return static_cast<T*>(mutable_raw_data());
  }
  template <class T>
  std::span<const T> flat() const {
    return {data<T>(), static_cast<size_t>(num_elements())};
  }
  // The first element.
  template <class T>
  const T& scalar() const {
    return *data<T>();
  }
  // What a reference leads to.
  Resource* resource() const { return static_cast<Resource*>(counted()); }

  // True when no other handle can see the bytes, so that they may be overwritten.
  bool IsSoleOwner() const {
    if (kind() == Kind::kInline) return true;
    if (kind() != Kind::kBuffer || rep()->refs.load(std::memory_order_acquire) != 1) return false;
    const TensorRep* r = rep();
    if (r->release != nullptr) return false;
    return r->owner == nullptr || r->owner->refs.load(std::memory_order_acquire) == 1;
  }
  bool SharesBufferWith(const Tensor& other) const;
  // The same bytes under another shape with as many elements; InvalidArgument otherwise.
  Result<Tensor> Reshaped(const Shape& shape) const;
  // Rows [begin, end) of dimension 0, sharing the bytes. The caller has checked the range. Plain
  // types only when the start stays aligned to the element.
  Tensor Rows(int64_t begin, int64_t end) const;
  // The same bytes as elements of another plain type of the same size.
  Result<Tensor> Bitcast(DType dtype) const;
  // An own copy of the elements.
  Result<Tensor> Clone(Allocator& allocator) const;

  // dtype, shape and the first values: "float32[2,3] 1 2 3 ...".
  std::string ToString() const;

  void swap(Tensor& other) noexcept {
    std::swap(payload_, other.payload_);
    std::swap(meta_, other.meta_);
  }
  // The two words, for the executor.
  uint64_t payload_word() const { return payload_; }
  uint64_t meta_word() const { return meta_; }

 private:
  Tensor(Kind kind, DType dtype, uint64_t payload)
      : payload_(payload),
        meta_(static_cast<uint64_t>(kind) | (static_cast<uint64_t>(dtype) << 8)) {}
  static Tensor AdoptRep(TensorRep* rep);
  static Tensor HostTensor(
      DType dtype, const Shape& shape);  // AllocateHost for values that are already in memory
  bool is_counted() const { return (meta_ & 0x2) != 0; }
  Counted* counted() const { return reinterpret_cast<Counted*>(static_cast<uint64_t>(payload_)); }
  TensorRep* rep() const { return static_cast<TensorRep*>(counted()); }

  SharedWord payload_{0};  // scalar bits, TensorRep* or Resource*
  uint64_t meta_ = 0;      // kind | dtype << 8
};
static_assert(sizeof(Tensor) == 16);

template <class T>
Tensor Tensor::Scalar(const T& value) {
  static_assert(kDTypeOf<T> != DType::kInvalid);
  if constexpr (std::is_trivially_copyable_v<T> && sizeof(T) <= 8) {
    uint64_t bits = 0;
    std::memcpy(&bits, &value, sizeof(T));
    return Tensor(Kind::kInline, kDTypeOf<T>, bits);
  } else {
    Tensor t = HostTensor(kDTypeOf<T>, Shape());
    *t.mutable_data<T>() = value;
    return t;
  }
}

template <class T>
Tensor Tensor::Of(std::span<const T> values, const Shape& shape) {
  CHECK(static_cast<int64_t>(values.size()) == shape.num_elements());
  Tensor t = HostTensor(kDTypeOf<T>, shape);
  std::copy(values.begin(), values.end(), t.mutable_data<T>());
  return t;
}

}  // namespace thalweg
