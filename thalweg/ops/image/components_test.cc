// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <vector>

#include "thalweg/testing/op_case.h"

namespace thalweg {
namespace {

// Each pixel's number is that of the first pixel that a walk over equal neighbors comes to.
void ComponentsReference(RefCall<double>& r) {
  const Array<double>& x = r.in[0];
  Array<double> y(x.shape);
  double count = 0;
  std::vector<std::vector<int64_t>> open;
  ForEachIndex(x.shape, [&](const std::vector<int64_t>& at) {
    if (x.At(at) == 0 || y.At(at) != 0) return;
    y.At(at) = ++count;
    open = {at};
    while (!open.empty()) {
      const std::vector<int64_t> here = open.back();
      open.pop_back();
      for (const auto& [down, right] : {std::pair{0, 1}, {0, -1}, {1, 0}, {-1, 0}}) {
        const std::vector<int64_t> next = {here[0], here[1] + down, here[2] + right};
        if (next[1] < 0 || next[2] < 0 || next[1] >= x.shape.dim(1) || next[2] >= x.shape.dim(2)) {
          continue;
        }
        if (x.At(next) != x.At(here) || y.At(next) != 0) continue;
        y.At(next) = count;
        open.push_back(next);
      }
    }
  });
  r.out = {y};
}

TEST(ComponentsTest, Cases) {
  // A spiral, whose arms meet late.
  const In spiral =
      In({1, 5, 5}, {1, 1, 1, 1, 1, 0, 0, 0, 0, 1, 1, 1, 1, 0, 1, 1, 0, 0, 0, 1, 1, 1, 1, 1, 1});
  for (const DType type :
       {DType::kInt64, DType::kInt32, DType::kUint16, DType::kInt16, DType::kUint8, DType::kInt8,
        DType::kHalf, DType::kFloat, DType::kDouble, DType::kBool}) {
    OpCase("ImageConnectedComponents")
        .Reference(ComponentsReference)
        .Types({{"dtype", type}})
        .Try({spiral})
        .Try({In({2, 3, 3}, {1, 1, 0, 0, 1, 2, 2, 0, 2, 3, 3, 3, 0, 0, 0, 3, 3, 3})})
        .Try({In({3, 9, 7}).Range(0, 3)})
        .Try({In({0, 2, 2})})
        .Try({In({2, 0, 2})})
        .Bad({In({2, 2})}, {}, Code::kInvalidArgument, "")
        .Run();
  }
}

TEST(ComponentsTest, Texts) {
  const Result<std::vector<Tensor>> y =
      RunOp("ImageConnectedComponents",
            {Tensor::Of<std::string>(std::vector<std::string>{"a", "a", "", "b", "", "b"},
                                     Shape{1, 2, 3})});
  ASSERT_TRUE(y.ok()) << y.status().ToString();
  EXPECT_EQ(ToArray<double>((*y)[0]).values, (std::vector<double>{1, 1, 0, 2, 0, 3}));
}

}  // namespace
}  // namespace thalweg
