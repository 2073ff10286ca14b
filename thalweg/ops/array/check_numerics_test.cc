// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <limits>

#include "thalweg/testing/op_case.h"

namespace thalweg {
namespace {

TEST(CheckNumericsTest, PassesFiniteNumbersOn) {
  for (const char* op : {"CheckNumerics", "CheckNumericsV2"}) {
    OpCase(op)
        .Reference([](auto& r) { r.out = {r.in[0]}; })
        .Try({In({7, 31})}, {{"message", "m"}})
        .Try({In({0})}, {{"message", "m"}})
        .Trivial("it passes its input on")
        .Run();
  }
}

TEST(CheckNumericsTest, SaysWhatItFound) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  const auto message = [](const char* op, std::initializer_list<float> values) {
    const Status status =
        RunOp(op, {Tensor::Vector<float>(values)}, {{"message", "loss"}}).status();
    EXPECT_EQ(status.code(), Code::kInvalidArgument);
    return std::string(status.message());
  };
  EXPECT_NE(message("CheckNumerics", {1, NAN}).find("loss : Tensor had NaN values"),
            std::string::npos);
  EXPECT_NE(message("CheckNumerics", {kInf, NAN}).find("Inf and NaN values"), std::string::npos);
  EXPECT_NE(message("CheckNumericsV2", {-kInf, kInf}).find("-Inf and +Inf values"),
            std::string::npos);
  EXPECT_TRUE(
      RunOp("CheckNumerics", {Tensor::Vector<float>({3e38f, 3e38f})}, {{"message", ""}}).ok());
}

}  // namespace
}  // namespace thalweg
