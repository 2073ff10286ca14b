// SPDX-License-Identifier: Apache-2.0
// Thalweg for C++: tensors and errors. A part of thalweg.h, which programs include.
//
//   tw::Tensor t = tw::Tensor::Of<float>({1, 2, 3, 4}, {2, 2});
//   float first = t.data<float>()[0];
//
// Ownership: a Tensor is a handle; copies share the elements.
// Threads: any; elements are written before the tensor is fed or shared.
// Errors: as thalweg.h says; what does not fit throws tw::Error.
#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "thalweg/c_api.h"

namespace tw {

enum DataType : int32_t {
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
  kBfloat16 = 14,
  kUint16 = 17,
  kComplex128 = 18,
  kHalf = 19,
  kResource = 20,
  kVariant = 21,
  kUint32 = 22,
  kUint64 = 23,
};

template <class T>
struct TypeOf;
template <>
struct TypeOf<float> {
  static constexpr DataType value = kFloat;
};
template <>
struct TypeOf<double> {
  static constexpr DataType value = kDouble;
};
template <>
struct TypeOf<int8_t> {
  static constexpr DataType value = kInt8;
};
template <>
struct TypeOf<int16_t> {
  static constexpr DataType value = kInt16;
};
template <>
struct TypeOf<int32_t> {
  static constexpr DataType value = kInt32;
};
template <>
struct TypeOf<int64_t> {
  static constexpr DataType value = kInt64;
};
template <>
struct TypeOf<uint8_t> {
  static constexpr DataType value = kUint8;
};
template <>
struct TypeOf<uint16_t> {
  static constexpr DataType value = kUint16;
};
template <>
struct TypeOf<uint32_t> {
  static constexpr DataType value = kUint32;
};
template <>
struct TypeOf<uint64_t> {
  static constexpr DataType value = kUint64;
};
template <>
struct TypeOf<bool> {
  static constexpr DataType value = kBool;
};

// ---- errors ----

// gRPC's numbers.
enum Code : TwCode {
  kOk = 0,
  kCancelled = 1,
  kUnknown = 2,
  kInvalidArgument = 3,
  kDeadlineExceeded = 4,
  kNotFound = 5,
  kAlreadyExists = 6,
  kPermissionDenied = 7,
  kResourceExhausted = 8,
  kFailedPrecondition = 9,
  kAborted = 10,
  kOutOfRange = 11,
  kUnimplemented = 12,
  kInternal = 13,
  kUnavailable = 14,
  kDataLoss = 15,
  kUnauthenticated = 16,
};

// What OrThrow throws: code() as in Code, what() says what was expected, what was found, and
// where.
class Error : public std::runtime_error {
 public:
  Error(TwCode code, const std::string& message)
      : std::runtime_error(std::string(tw_code_name(code)) + ": " + message),
        code_(code),
        message_(message) {}
  TwCode code() const { return code_; }
  // Without the code's name.
  const std::string& message() const { return message_; }

 private:
  TwCode code_;
  std::string message_;
};

// One word: null when ok.
class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(TwCode code, std::string message) {
    if (code != TW_OK) rep_ = std::make_shared<const Rep>(Rep{code, std::move(message)});
  }
  // The status of a finished C call.
  explicit Status(const TwStatus* status)
      : Status(tw_status_code(status), tw_status_message(status)) {}
  bool ok() const { return rep_ == nullptr; }
  TwCode code() const { return ok() ? TW_OK : rep_->code; }
  std::string message() const { return ok() ? std::string() : rep_->message; }
  void OrThrow() const {
    if (!ok()) throw Error(rep_->code, rep_->message);
  }

 private:
  struct Rep {
    TwCode code;
    std::string message;
  };
  std::shared_ptr<const Rep> rep_;
};

template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::make_unique<T>(std::move(value))) {}  // NOLINT: implicit by design
  Result(Status status) : status_(std::move(status)) {}               // NOLINT
  bool ok() const { return value_ != nullptr; }
  const Status& status() const { return status_; }
  T& value() { return *value_; }
  T OrThrow() && {
    status_.OrThrow();
    return std::move(*value_);
  }

 private:
  Status status_;
  std::unique_ptr<T> value_;
};

namespace internal {

struct StatusHolder {
  TwStatus* c = tw_status_new();
  StatusHolder() = default;
  StatusHolder(const StatusHolder&) = delete;
  StatusHolder& operator=(const StatusHolder&) = delete;
  ~StatusHolder() { tw_status_free(c); }
  Status Take() const { return Status(c); }
};

template <class T, void (*Free)(T*)>
struct Deleter {
  void operator()(T* p) const { Free(p); }
};
template <class T, void (*Free)(T*)>
using Handle = std::unique_ptr<T, Deleter<T, Free>>;

// What a C call made, or why it made nothing.
inline Result<std::string> TextOf(TwBuffer* adopted, const StatusHolder& status) {
  const Handle<TwBuffer, &tw_buffer_free> buffer(adopted);
  if (buffer == nullptr) return status.Take();
  return std::string(static_cast<const char*>(tw_buffer_data(buffer.get())),
                     tw_buffer_size(buffer.get()));
}

}  // namespace internal

// ---- tensors ----

// A dense array; copies share the elements.
class Tensor {
 public:
  Tensor() = default;
  explicit Tensor(TwTensor* adopted) : handle_(adopted, &tw_tensor_free) {}
  // Uninitialized elements, to be written through mutable_data before the tensor is fed.
  static Result<Tensor> New(DataType dtype, const std::vector<int64_t>& shape) {
    internal::StatusHolder status;
    TwTensor* made =
        tw_tensor_new(dtype, shape.data(), static_cast<int32_t>(shape.size()), status.c);
    if (made == nullptr) return status.Take();
    return Tensor(made);
  }
  // Throws tw::Error when the number of values does not fit the shape.
  template <class T>
  static Tensor Of(const std::vector<T>& values, const std::vector<int64_t>& shape) {
    Tensor tensor = New(TypeOf<T>::value, shape).OrThrow();
    tensor.RequireElements(values.size());
    std::copy(values.begin(), values.end(), tensor.mutable_data<T>());
    return tensor;
  }
  template <class T>
  static Tensor Of(std::initializer_list<T> values, const std::vector<int64_t>& shape) {
    return Of(std::vector<T>(values), shape);
  }
  template <class T>
  static Tensor Scalar(T value) {
    return Of<T>(std::vector<T>{value}, {});
  }
  static Tensor String(const std::string& text) { return Strings({text}, {}); }
  static Tensor Strings(const std::vector<std::string>& texts, const std::vector<int64_t>& shape) {
    Tensor tensor = New(kString, shape).OrThrow();
    tensor.RequireElements(texts.size());
    for (size_t i = 0; i < texts.size(); ++i) {
      tw_tensor_set_string(tensor.c(), static_cast<int64_t>(i), texts[i].data(), texts[i].size());
    }
    return tensor;
  }

  bool empty() const { return handle_ == nullptr; }
  DataType dtype() const { return static_cast<DataType>(tw_tensor_dtype(c())); }
  std::vector<int64_t> shape() const {
    std::vector<int64_t> dims;
    for (int32_t i = 0; i < tw_tensor_rank(c()); ++i) dims.push_back(tw_tensor_dim(c(), i));
    return dims;
  }
  int64_t num_elements() const { return tw_tensor_num_elements(c()); }
  // T must be the type of dtype(); throws tw::Error otherwise.
  template <class T>
  const T* data() const {
    if (dtype() != TypeOf<T>::value)
      throw Error(kInvalidArgument, "the tensor holds elements of another type");
    return static_cast<const T*>(tw_tensor_data(c()));
  }
  template <class T>
  T* mutable_data() {
    return const_cast<T*>(data<T>());
  }
  template <class T>
  T scalar() const {
    return data<T>()[0];
  }
  std::string string(int64_t i = 0) const {
    size_t size = 0;
    const char* text = tw_tensor_string(c(), i, &size);
    return text == nullptr ? std::string() : std::string(text, size);
  }
  TwTensor* c() const { return handle_.get(); }

 private:
  void RequireElements(size_t values) const {
    if (static_cast<size_t>(num_elements()) == values) return;
    throw Error(kInvalidArgument, "the shape has " + std::to_string(num_elements()) +
                                      " elements, got " + std::to_string(values) + " values");
  }
  std::shared_ptr<TwTensor> handle_;
};

using Tensors = std::vector<Tensor>;

}  // namespace tw
