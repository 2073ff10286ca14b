// SPDX-License-Identifier: Apache-2.0
#include "thalweg/ops/sparse/test_sparse.h"

namespace thalweg {
namespace {

TEST(SparseOrderTest, Reorders) {
  OpCase("SparseReorder")
      .Reference([](auto& r) {
        const int64_t rank = r.in[2].size();
        std::vector<int64_t> order = SortedRows(r.in[0]);
        r.out = {r.in[0], r.in[1]};
        for (int64_t i = 0; i < r.in[1].size(); ++i) {
          for (int64_t d = 0; d < rank; ++d) r.out[0][i * rank + d] = r.in[0][order[i] * rank + d];
          r.out[1][i] = r.in[1][order[i]];
        }
      })
      .Types({{"T", DType::kFloat}})
      .Types({{"T", DType::kDouble}})
      .Types({{"T", DType::kInt32}})
      .GradInputs({1})
      .GradOutputs({1})
      .Try({In({4, 2}, {1, 1, 0, 2, 1, 0, 0, 2}), In({4}), In({2}, {2, 3})})
      .Try({In({0, 2}, {}), In({0}), In({2}, {2, 3})})
      .Bad({In({1, 2}, {0, 3}), In({1}), In({2}, {2, 3})}, {}, Code::kInvalidArgument,
           "indices[0] = [0,3] is out of bounds")
      .Bad({In({1, 2}, {0, 0}), In({2}), In({2}, {2, 3})}, {}, Code::kInvalidArgument, "")
      .Bad({In({1, 2}, {0, 0}), In({1}), In({3}, {2, 3, 4})}, {}, Code::kInvalidArgument, "")
      .Run();
}

TEST(SparseOrderTest, Reshapes) {
  const Tensor places = Numbers<int64_t>({0, 0, 0, 1, 2, 3}, Shape{3, 2});
  const Tensor before = Numbers<int64_t>({3, 4});
  ExpectOutputs("SparseReshape", {places, before, Numbers<int64_t>({2, -1})}, {},
                {Numbers<int64_t>({0, 0, 0, 1, 1, 5}, Shape{3, 2}), Numbers<int64_t>({2, 6})});
  ExpectOutputs("SparseReshape", {places, before, Numbers<int64_t>({12})}, {},
                {Numbers<int64_t>({0, 1, 11}, Shape{3, 1}), Numbers<int64_t>({12})});
  const auto refuse = [&](std::vector<int64_t> shape, std::string_view why) {
    ExpectError("SparseReshape", {places, before, Numbers(shape)}, {}, Code::kInvalidArgument, why);
  };
  refuse({-1, -1}, "only one output dimension");
  refuse({5, -1}, "multiple of 5");
  refuse({13}, "13");
  refuse({0, -1}, "infer");
  refuse({-2, 6}, "must be >= 0");
}

}  // namespace
}  // namespace thalweg
