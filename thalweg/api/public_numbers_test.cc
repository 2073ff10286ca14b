// SPDX-License-Identifier: Apache-2.0
// The numbers of codes and types in the public headers are the core's: programs that were built
// with other headers would take one error for another.
#include <gtest/gtest.h>

#include "thalweg/base/status.h"
#include "thalweg/tensor/dtype.h"
#include "thalweg/thalweg.h"

namespace {

template <class A, class B>
constexpr bool AreSame(A a, B b) {
  return static_cast<int>(a) == static_cast<int>(b);
}

static_assert(AreSame(tw::kOk, thalweg::Code::kOk));
static_assert(AreSame(tw::kCancelled, thalweg::Code::kCancelled));
static_assert(AreSame(tw::kUnknown, thalweg::Code::kUnknown));
static_assert(AreSame(tw::kInvalidArgument, thalweg::Code::kInvalidArgument));
static_assert(AreSame(tw::kDeadlineExceeded, thalweg::Code::kDeadlineExceeded));
static_assert(AreSame(tw::kNotFound, thalweg::Code::kNotFound));
static_assert(AreSame(tw::kAlreadyExists, thalweg::Code::kAlreadyExists));
static_assert(AreSame(tw::kPermissionDenied, thalweg::Code::kPermissionDenied));
static_assert(AreSame(tw::kResourceExhausted, thalweg::Code::kResourceExhausted));
static_assert(AreSame(tw::kFailedPrecondition, thalweg::Code::kFailedPrecondition));
static_assert(AreSame(tw::kAborted, thalweg::Code::kAborted));
static_assert(AreSame(tw::kOutOfRange, thalweg::Code::kOutOfRange));
static_assert(AreSame(tw::kUnimplemented, thalweg::Code::kUnimplemented));
static_assert(AreSame(tw::kInternal, thalweg::Code::kInternal));
static_assert(AreSame(tw::kUnavailable, thalweg::Code::kUnavailable));
static_assert(AreSame(tw::kDataLoss, thalweg::Code::kDataLoss));
static_assert(AreSame(tw::kUnauthenticated, thalweg::Code::kUnauthenticated));

static_assert(AreSame(tw::kFloat, thalweg::DType::kFloat));
static_assert(AreSame(tw::kDouble, thalweg::DType::kDouble));
static_assert(AreSame(tw::kInt32, thalweg::DType::kInt32));
static_assert(AreSame(tw::kUint8, thalweg::DType::kUint8));
static_assert(AreSame(tw::kInt16, thalweg::DType::kInt16));
static_assert(AreSame(tw::kInt8, thalweg::DType::kInt8));
static_assert(AreSame(tw::kString, thalweg::DType::kString));
static_assert(AreSame(tw::kComplex64, thalweg::DType::kComplex64));
static_assert(AreSame(tw::kInt64, thalweg::DType::kInt64));
static_assert(AreSame(tw::kBool, thalweg::DType::kBool));
static_assert(AreSame(tw::kBfloat16, thalweg::DType::kBfloat16));
static_assert(AreSame(tw::kUint16, thalweg::DType::kUint16));
static_assert(AreSame(tw::kComplex128, thalweg::DType::kComplex128));
static_assert(AreSame(tw::kHalf, thalweg::DType::kHalf));
static_assert(AreSame(tw::kResource, thalweg::DType::kResource));
static_assert(AreSame(tw::kVariant, thalweg::DType::kVariant));
static_assert(AreSame(tw::kUint32, thalweg::DType::kUint32));
static_assert(AreSame(tw::kUint64, thalweg::DType::kUint64));

TEST(PublicNumbersTest, NamesOfCodesAreTheCores) {
  for (int code = 0; code <= 16; ++code) {
    EXPECT_STREQ(tw_code_name(code), thalweg::CodeName(static_cast<thalweg::Code>(code)));
  }
}

}  // namespace
