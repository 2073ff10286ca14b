// SPDX-License-Identifier: Apache-2.0
#include "thalweg/ops/sparse/test_sparse.h"
#include "thalweg/testing/kernel_call.h"

namespace thalweg {
namespace {

const Tensor kA = Numbers<int64_t>({0, 1, 1, 0, 1, 2}, Shape{3, 2});
const Tensor kB = Numbers<int64_t>({0, 0, 1, 0}, Shape{2, 2});
const Tensor kShape = Numbers<int64_t>({2, 3});

TEST(SparseAddTest, Adds) {
  OpCase("SparseAdd")
      .Types({{"T", DType::kDouble}, {"Treal", DType::kDouble}})
      .Types({{"T", DType::kInt32}, {"Treal", DType::kInt32}})
      .Types({{"T", DType::kComplex64}, {"Treal", DType::kFloat}})
      .Reference([](auto& r) {
        const auto &x = r.in[1], &y = r.in[4];
        r.out = {{Shape{4, 2}, {0, 0, 0, 1, 1, 0, 1, 2}},
                 {Shape{4}, {y[0], x[0], x[1] + y[1], x[2]}},
                 {Shape{2}, {2, 3}}};
      })
      .GradInputs({1, 4})
      .GradOutputs({1})
      .ShapesFromValues("how many places both have together")
      .Try({In(kA), In({3}), In(kShape), In(kB), In({2}), In(kShape), In({}, {0})})
      .Bad({In(kA), In({3}), In(kShape), In(kB), In({2}), In({2}, {2, 4}), In({}, {0})}, {},
           Code::kInvalidArgument, "shapes do not match")
      .Bad({In(kA), In({3}), In(kShape), In(kB), In({2}), In(kShape), In({1}, {0})}, {},
           Code::kInvalidArgument, "")
      .Run();
  ExpectOutputs(
      "SparseAdd",
      {kA, Numbers<float>({1, 2, -3}), kShape, kB, Numbers<float>({1, -2}), kShape,
       Tensor::Scalar(2.0f)},
      {}, {Numbers<int64_t>({0, 0, 0, 1, 1, 2}, Shape{3, 2}), Numbers<float>({1, 1, -3}), kShape});
}

TEST(SparseAddTest, ToDense) {
  OpCase("SparseTensorDenseAdd")
      .Types({{"T", DType::kDouble}, {"Tindices", DType::kInt64}})
      .Types({{"T", DType::kHalf}, {"Tindices", DType::kInt32}})
      .Types({{"T", DType::kComplex128}, {"Tindices", DType::kInt32}})
      .Reference([](auto& r) {
        auto sum = Dense(r.in[0], r.in[1], r.in[2]);
        for (int64_t i = 0; i < sum.size(); ++i) sum[i] += r.in[3][i];
        r.out = {sum};
      })
      .GradInputs({1, 3})
      .Try({In({3, 2}, {0, 1, 1, 0, 1, 2}), In({3}), In({2}, {2, 3}), In({2, 3})})
      .Bad({In({1, 2}, {0, 3}), In({1}), In({2}, {2, 3}), In({2, 3})}, {}, Code::kInvalidArgument,
           "out of bounds")
      .Bad({In({1, 2}, {0, 2}), In({1}), In({2}, {2, 3}), In({2, 4})}, {}, Code::kInvalidArgument,
           "do not match")
      .Run();
}

TEST(SparseAddTest, Extremes) {
  const Tensor x = Numbers<float>({-1, 2, -3}), y = Numbers<float>({5, -2});
  const Tensor places = Numbers<int64_t>({0, 0, 0, 1, 1, 0, 1, 2}, Shape{4, 2});
  ExpectOutputs("SparseSparseMaximum", {kA, x, kShape, kB, y, kShape}, {},
                {places, Numbers<float>({5, 0, 2, 0})});
  ExpectOutputs("SparseSparseMinimum", {kA, x, kShape, kB, y, kShape}, {},
                {places, Numbers<float>({0, -1, -2, -3})});
  ExpectError("SparseSparseMinimum", {kA, x, kShape, kB, y, Numbers<int64_t>({2, 4})}, {},
              Code::kInvalidArgument, "do not match");
  const Status flat =
      KernelCall("SparseSparseMinimum", {kA, x, kShape, Numbers<int64_t>({0, 1}), y, kShape}).Run();
  EXPECT_EQ(flat.message(), "Sparse indices must be rank 2 but is rank 1");
}

}  // namespace
}  // namespace thalweg
