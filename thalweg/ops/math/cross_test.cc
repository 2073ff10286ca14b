// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "thalweg/testing/kernel_call.h"
#include "thalweg/testing/op_case.h"

namespace thalweg {
namespace {

TEST(CrossTest, Cases) {
  OpCase("Cross")
      .Reference([](RefCall<double>& r) {
        r.out = {Array<double>(r.in[0].shape)};
        for (int64_t i = 0; i < r.in[0].size(); i += 3) {
          for (int k = 0; k < 3; ++k) {
            const int next = (k + 1) % 3, last = (k + 2) % 3;
            r.out[0][i + k] =
                r.in[0][i + next] * r.in[1][i + last] - r.in[0][i + last] * r.in[1][i + next];
          }
        }
      })
      .Try({In({7, 3}), In({7, 3})})
      .Try({In({2, 5, 3}), In({2, 5, 3})})
      .Try({In({3}, {1, 2, 3}), In({3}, {3, 2, 1})})
      .Try({In({0, 3}), In({0, 3})})
      .Bad({In({2, 3}), In({3})}, {}, Code::kInvalidArgument, "")
      .Bad({In({}), In({})}, {}, Code::kInvalidArgument,
           "Shape must be at least rank 1 but is rank 0 for ", "at least vectors")
      .Bad({In({}), In({3})}, {}, Code::kInvalidArgument,
           "Shape must be at least rank 1 but is rank 0 for ", "one shape")
      .Run();
}

TEST(CrossTest, OnlyThreeElements) {
  const Tensor two = Tensor::Vector<float>({1, 2});
  const Status status = RunOp("Cross", {two, two}).status();
  EXPECT_NE(status.message().find("must be 3"), std::string_view::npos) << status.ToString();
  const Status step = KernelCall("Cross", {two, two}).Run();
  EXPECT_EQ(step.code(), Code::kFailedPrecondition);
  EXPECT_TRUE(step.message().starts_with("Cross-products are only defined for 3-element vectors"));
}

}  // namespace
}  // namespace thalweg
