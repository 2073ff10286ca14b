// SPDX-License-Identifier: Apache-2.0
#include "thalweg/session/session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "thalweg/session/session_fixture.h"

namespace thalweg {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

float Value(const Result<std::vector<Tensor>>& result, size_t i = 0) {
  EXPECT_TRUE(result.ok()) << result.status().ToString();
  return result.ok() ? (*result)[i].scalar<float>() : -12345.0f;
}

#define EXPECT_FAILS(result, expected_code, ...)                        \
  do {                                                                  \
    const Status failed = (result);                                     \
    EXPECT_EQ(failed.code(), Code::expected_code) << failed.ToString(); \
    EXPECT_THAT(std::string(failed.message()), AllOf(__VA_ARGS__));     \
  } while (false)

TEST(SessionTest, AddsConstants) {
  SessionFixture f;
  const Output y = f.b.Op("Add", {f.Float(1), f.Float(2)});
  EXPECT_EQ(Value(f.Run({}, {y})), 3);
}

}  // namespace
}  // namespace thalweg
