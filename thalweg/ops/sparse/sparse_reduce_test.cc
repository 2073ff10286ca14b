// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "thalweg/ops/sparse/test_sparse.h"

namespace thalweg {
namespace {

const Tensor kReducedPlaces = Numbers<int64_t>({1, 2, 0, 1, 1, 0}, Shape{3, 2});
const Tensor kReducedShape = Numbers<int64_t>({3, 3});

TEST(SparseReduceTest, Sums) {
  const auto rows = [](auto& r) {
    const auto& v = r.in[1];
    r.out = {{r.template Attr<bool>("keep_dims") ? Shape{3, 1} : Shape{3}, {v[1], v[0] + v[2], 0}}};
  };
  OpCase("SparseReduceSum")
      .Reference(rows)
      .GradInputs({1})
      .Try({In(kReducedPlaces), In({3}), In(kReducedShape), In({1}, {-1})})
      .Try({In(kReducedPlaces), In({3}), In(kReducedShape), In({}, {1})}, {{"keep_dims", true}})
      .Bad({In(kReducedPlaces), In({3}), In(kReducedShape), In({1}, {2})}, {},
           Code::kInvalidArgument, "axis")
      .Bad({In({1, 2}, {3, 9}), In({1}), In(kReducedShape), In({1}, {0})}, {}, Code::kInternal,
           "out of bounds")
      .Run();
  OpCase("SparseReduceSum")
      .Types({{"T", DType::kDouble}})
      .Reference([](auto& r) {
        r.out = {{Shape(), {r.in[1][0] + r.in[1][1] + r.in[1][2]}}};
      })
      .GradInputs({1})
      .Try({In(kReducedPlaces), In({3}), In(kReducedShape), In({2}, {0, 1})})
      .Run();
}

TEST(SparseReduceTest, NoAxesReduceNothing) {
  OpCase("SparseReduceSum")
      .Types({{"T", DType::kDouble}})
      .Reference([](auto& r) {
        const auto& v = r.in[1];
        r.out = {{Shape{3, 3}, {0, v[1], 0, v[2], 0, v[0], 0, 0, 0}}};
      })
      .GradInputs({1})
      .Try({In(kReducedPlaces), In({3}), In(kReducedShape), In({0}, {})})
      .Run();
}

TEST(SparseReduceTest, SparseResultsAndMaxima) {
  const Tensor values = Numbers<int32_t>({4, -5, 6}), axis = Numbers<int32_t>({1});
  const std::vector<Tensor> inputs = {kReducedPlaces, values, kReducedShape, axis};
  ExpectOutputs("SparseReduceMax", inputs, {}, {Numbers<int32_t>({-5, 6, 0})});
  ExpectOutputs(
      "SparseReduceMaxSparse", inputs, {},
      {Numbers<int64_t>({0, 1}, Shape{2, 1}), Numbers<int32_t>({-5, 6}), Numbers<int64_t>({3})});
  ExpectOutputs("SparseReduceSumSparse", inputs, {{"keep_dims", true}},
                {Numbers<int64_t>({0, 0, 1, 0}, Shape{2, 2}), Numbers<int32_t>({-5, 10}),
                 Numbers<int64_t>({3, 1})});
}

TEST(SparseReduceTest, Softmax) {
  OpCase("SparseSoftmax")
      .Reference([](RefCall<double>& r) {
        const auto& v = r.in[1];
        const double sum = std::exp(v[0]) + std::exp(v[2]);
        r.out = {{Shape{3}, {std::exp(v[0]) / sum, 1, std::exp(v[2]) / sum}}};
      })
      .GradInputs({1})
      .Try({In(kReducedPlaces), In({3}), In(kReducedShape)})
      .Bad({In({1, 1}, {0}), In({1}), In({1}, {3})}, {}, Code::kInvalidArgument, "rank >= 2")
      .Run();
}

}  // namespace
}  // namespace thalweg
