// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "thalweg/testing/op_case.h"

namespace thalweg {
namespace {

TEST(SequenceTest, Range) {
  OpCase("Range")
      .Reference([](RefCall<double>& r) {
        const double start = r.in[0][0], limit = r.in[1][0], delta = r.in[2][0];
        const auto count = static_cast<int64_t>(std::ceil((limit - start) / delta));
        r.out = {Array<double>(Shape{count})};
        for (int64_t i = 0; i < count; ++i) r.out[0][i] = start + static_cast<double>(i) * delta;
      })
      .ShapesFromValues("half precision is counted by the kernel")
      .Try({In({}, {0}), In({}, {7}), In({}, {1})})
      .Try({In({}, {3}), In({}, {-200}), In({}, {-2})})
      .Try({In({}, {3}), In({}, {18}), In({}, {4})})
      .Try({In({}, {5}), In({}, {5}), In({}, {1})})
      .Bad({In({}, {0}), In({}, {5}), In({}, {0})}, {}, Code::kInvalidArgument, "delta")
      .Bad({In({}, {6}), In({}, {5}), In({}, {1})}, {}, Code::kInvalidArgument,
           "Requires start <= limit when delta > 0: 6/5")
      .Bad({In({}, {0}), In({}, {5}), In({2}, {1, 1})}, {}, Code::kInvalidArgument, "")
      .Run();
}

TEST(SequenceTest, RangesAtTheEndsOfTheIntegers) {
  const int64_t least = std::numeric_limits<int64_t>::min();
  const int64_t most = std::numeric_limits<int64_t>::max();
  const auto range = [](int64_t start, int64_t limit, int64_t delta) {
    return RunOp("Range", {Tensor::Scalar(start), Tensor::Scalar(limit), Tensor::Scalar(delta)});
  };
  EXPECT_EQ((*range(most - 2, most, 1))[0].num_elements(), 2);
  EXPECT_EQ((*range(0, least, least))[0].num_elements(), 1);
  EXPECT_EQ(range(least, most, 1).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(range(0, most, 1).status().code(), Code::kResourceExhausted);
}

TEST(SequenceTest, LinSpace) {
  OpCase("LinSpace")
      .Reference([](RefCall<double>& r) {
        const auto count = static_cast<int64_t>(r.in[2][0]);
        r.out = {Array<double>(Shape{count})};
        for (int64_t i = 0; i < count; ++i) {
          const double part =
              count == 1 ? 0 : static_cast<double>(i) / static_cast<double>(count - 1);
          r.out[0][i] = r.in[0][0] + (r.in[1][0] - r.in[0][0]) * part;
        }
      })
      .Try({In({}, {2}), In({}, {5}), In({}, {300})})
      .Try({In({}, {2}), In({}, {5}), In({}, {7})}, {{"Tidx", DType::kInt64}})
      .Try({In({}, {2}), In({}, {5}), In({}, {1})})
      .Bad({In({}, {2}), In({}, {5}), In({}, {0})}, {}, Code::kInvalidArgument, "num")
      .Run();
}

}  // namespace
}  // namespace thalweg
