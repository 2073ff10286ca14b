// SPDX-License-Identifier: Apache-2.0
// Status: one machine word that says whether something worked and, if not, why.
//
//   Status Check(int n) {
//     if (n < 0) return InvalidArgument("n must not be negative, got ", n);
//     return OkStatus();
//   }
//   RETURN_IF_ERROR(Check(n));
//   ASSIGN_OR_RETURN(Tensor t, MakeTensor(n));
//
// A message says what was expected, what was found, and where. Codes have the numbers of gRPC.
// Ownership: a Status owns its message. Copying a failed one copies a reference count.
// Threads: like a std::shared_ptr; distinct objects may be used from distinct threads.
// Errors: this is what they are; Internal where a Result is made of an ok Status. Only an ok one
// has a value.
#pragma once

#include <cstdint>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <utility>

#include "thalweg/base/str_cat.h"

namespace thalweg {

enum class Code : int {
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

// The canonical upper-case name, such as "INVALID_ARGUMENT".
const char* CodeName(Code code);

class [[nodiscard]] Status {
 public:
  Status() noexcept = default;
  Status(Code code, std::string message);
  Status(const Status& other) noexcept : rep_(other.rep_) {
    if (rep_ != nullptr) Ref();
  }
  Status(Status&& other) noexcept : rep_(std::exchange(other.rep_, nullptr)) {}
  Status& operator=(const Status& other) noexcept {
    Status(other).swap(*this);
    return *this;
  }
  Status& operator=(Status&& other) noexcept {
    Status(std::move(other)).swap(*this);
    return *this;
  }
  ~Status() {
    if (rep_ != nullptr) Unref();
  }

  bool ok() const { return rep_ == nullptr; }
  Code code() const { return rep_ == nullptr ? Code::kOk : rep_code(); }
  // Empty when ok. Lives as long as this Status.
  std::string_view message() const;
  // "OK" or "INVALID_ARGUMENT: ...".
  std::string ToString() const;
  // This error with "context: " put before its message; ok stays ok.
  Status WithContext(std::string_view context) const;
  // Says on purpose that an error is of no interest here.
  void IgnoreError() const {}
  void swap(Status& other) noexcept { std::swap(rep_, other.rep_); }

 private:
  struct Rep;
  Code rep_code() const;
  void Ref() const;
  void Unref();
  Rep* rep_ = nullptr;
};

inline Status OkStatus() { return Status(); }

// Errors are rare: what makes them, and the branches that call it, are small instead of fast.
[[gnu::cold]] Status MakeStatus(Code code, std::initializer_list<TextPart> parts);
#define THALWEG_STATUS_MAKER(NAME)                          \
  template <class... Parts>                                 \
  [[gnu::cold]] Status NAME(const Parts&... parts) {        \
    return MakeStatus(Code::k##NAME, {TextPart(parts)...}); \
  }
THALWEG_STATUS_MAKER(Cancelled)
THALWEG_STATUS_MAKER(Unknown)
THALWEG_STATUS_MAKER(InvalidArgument)
THALWEG_STATUS_MAKER(DeadlineExceeded)
THALWEG_STATUS_MAKER(NotFound)
THALWEG_STATUS_MAKER(AlreadyExists)
THALWEG_STATUS_MAKER(PermissionDenied)
THALWEG_STATUS_MAKER(ResourceExhausted)
THALWEG_STATUS_MAKER(FailedPrecondition)
THALWEG_STATUS_MAKER(Aborted)
THALWEG_STATUS_MAKER(OutOfRange)
THALWEG_STATUS_MAKER(Unimplemented)
THALWEG_STATUS_MAKER(Internal)
THALWEG_STATUS_MAKER(Unavailable)
THALWEG_STATUS_MAKER(DataLoss)
THALWEG_STATUS_MAKER(Unauthenticated)
#undef THALWEG_STATUS_MAKER

// Result<T>: a T, or the Status that says why there is none. Never holds an ok Status without a
// value.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(const T& value) : has_value_(true) {
    new (&value_) T(value);
  }  // NOLINT: implicit by design
  Result(T&& value) noexcept : has_value_(true) { new (&value_) T(std::move(value)); }  // NOLINT
  // An ok status here is a bug of the caller and becomes Internal.
  Result(Status status)  // NOLINT
      : status_(status.ok() ? Internal("Result made from an ok Status") : std::move(status)) {}
  Result(const Result& other) : status_(other.status_), has_value_(other.has_value_) {
    if (has_value_) new (&value_) T(other.value_);
  }
  Result(Result&& other) noexcept
      : status_(std::move(other.status_)), has_value_(other.has_value_) {
    if (has_value_) new (&value_) T(std::move(other.value_));
  }
  Result& operator=(Result other) noexcept {
    this->~Result();
    new (this) Result(std::move(other));
    return *this;
  }
  ~Result() {
    if (has_value_) value_.~T();
  }

  bool ok() const { return has_value_; }
  const Status& status() const& { return status_; }
  Status status() && { return std::move(status_); }

  // Only when ok().
  T& value() & { return value_; }
  const T& value() const& { return value_; }
  T&& value() && { return std::move(value_); }
  T& operator*() & { return value_; }
  const T& operator*() const& { return value_; }
  T&& operator*() && { return std::move(value_); }
  T* operator->() { return &value_; }
  const T* operator->() const { return &value_; }

 private:
  Status status_;
  bool has_value_ = false;
  union {
    T value_;
  };
};

}  // namespace thalweg

#define RETURN_IF_ERROR(expr)                                                             \
  do {                                                                                    \
    if (::thalweg::Status status_macro = (expr); !status_macro.ok()) return status_macro; \
  } while (false)

#define THALWEG_CONCAT_INNER(a, b) a##b
#define THALWEG_CONCAT(a, b) THALWEG_CONCAT_INNER(a, b)
#define ASSIGN_OR_RETURN(lhs, expr) \
  THALWEG_ASSIGN_OR_RETURN_IMPL(THALWEG_CONCAT(result_macro_, __LINE__), lhs, expr)
#define THALWEG_ASSIGN_OR_RETURN_IMPL(result, lhs, expr) \
  auto result = (expr);                                  \
  if (!result.ok()) return std::move(result).status();   \
  lhs = *std::move(result)
