// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "thalweg/ops/queue/test_queue_calls.h"

namespace thalweg {
namespace {

using ::testing::HasSubstr;

std::string MakingError(std::string_view op, AttrMap attrs) {
  KernelCall call(op, {}, std::move(attrs));
  return call.Run().ToString();
}

TEST(ReaderHandleTest, WhatAReaderCannotBe) {
  EXPECT_THAT(MakingError("FixedLengthRecordReaderV2", {{"record_bytes", int64_t{-3}}}),
              HasSubstr("record_bytes must be >= 1 but found -3"));
  EXPECT_THAT(MakingError("FixedLengthRecordReaderV2",
                          {{"record_bytes", int64_t{3}}, {"header_bytes", int64_t{-1}}}),
              HasSubstr("header_bytes must be >= 0 but found -1"));
  EXPECT_THAT(MakingError("TextLineReaderV2", {{"skip_header_lines", int64_t{-1}}}),
              HasSubstr("skip_header_lines must be >= 0"));
}

TEST(ReaderHandleTest, BothKindsOfHandles) {
  KernelCall reference("IdentityReader", {}), handle("IdentityReaderV2", {});
  ASSERT_TRUE(reference.Run().ok());
  EXPECT_TRUE(reference.output(0).is_reference());
  ASSERT_TRUE(handle.Run().ok());
  EXPECT_EQ(handle.output(0).dtype(), DType::kResource);
}

}  // namespace
}  // namespace thalweg
