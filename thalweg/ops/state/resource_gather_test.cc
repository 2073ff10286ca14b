// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "thalweg/testing/op_case.h"

namespace thalweg {
namespace {

TEST(ResourceGatherTest, PicksRowsOfAVariable) {
  OpCase("ResourceGather")
      .Types({{"dtype", DType::kDouble}})
      .Types({{"dtype", DType::kInt16}})
      .Reference([](auto& r) {
        auto rows = r.in[0];
        rows.shape = Shape{4, 3};
        rows.values.resize(12);
        for (int64_t i = 0; i < 4; ++i) {
          for (int64_t k = 0; k < 3; ++k) {
            rows[i * 3 + k] = r.in[0][static_cast<int64_t>(std::real(r.in[1][i])) * 3 + k];
          }
        }
        r.out = {rows, r.in[0]};
      })
      .Try({In({5, 3}), In({4}, {3, 0, 3, 1})}, {{"Tindices", DType::kInt32}})
      .Bad({In({5, 3}), In({1}, {-1})}, {{"Tindices", DType::kInt64}}, Code::kInvalidArgument,
           "is not in [0, 5)")
      .NoGradient("the harness differentiates tensors, not variables")
      .Run();
}

TEST(ResourceGatherTest, PicksSlicesOfAVariable) {
  OpCase("ResourceGatherNd")
      .Types({{"dtype", DType::kDouble}})
      .Types({{"dtype", DType::kInt16}})
      .Reference([](RefCall<double>& r) {
        auto slices = r.in[0];
        slices.shape = Shape{2, 2};
        slices.values.resize(4);
        for (int64_t i = 0; i < 2; ++i) {
          const auto row = static_cast<int64_t>(r.in[1][2 * i] * 3 + r.in[1][2 * i + 1]);
          for (int64_t k = 0; k < 2; ++k) slices[i * 2 + k] = r.in[0][row * 2 + k];
        }
        r.out = {slices, r.in[0]};
      })
      .Try({In({5, 3, 2}), In({2, 2}, {3, 0, 4, 2})}, {{"Tindices", DType::kInt32}})
      .Bad({In({5, 3}), In({1, 2}, {5, 0})}, {{"Tindices", DType::kInt64}}, Code::kInvalidArgument,
           "does not index into")
      .Bad({In({5}), In({1, 2}, {0, 0})}, {{"Tindices", DType::kInt64}}, Code::kInvalidArgument,
           "innermost dimension")
      .NoGradient("the harness differentiates tensors, not variables")
      .Run();
}

}  // namespace
}  // namespace thalweg
