// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "thalweg/testing/op_case.h"

namespace thalweg {
namespace {

// A matrix of depth 1 has the same form at every instruction set level: the row, then zeros.
TEST(PackMatrixTest, OneStepIsARow) {
  AttrMap transposed;
  transposed.Set("transpose", true);
  OpCase("_PackMatrix")
      .Reference([](RefCall<double>& r) {
        const int64_t n = r.in[0].size();
        r.out = {Array<double>(Shape{(n + 31) / 32 * 32})};
        for (int64_t i = 0; i < n; ++i) r.out[0][i] = r.in[0][i];
      })
      .Try({In({1, 40})})
      .Try({In({1, 7})})
      .Try({In({1, 0})})
      .Try({In({40, 1})}, transposed)
      .Bad({In({1, 2, 3})}, {}, Code::kInvalidArgument, "")
      .Bad({In({4})}, {}, Code::kInvalidArgument, "")
      .Run();
}

// b gives the shape, packed the values.
TEST(PackedMatMulTest, ReadsThePackedForm) {
  AttrMap fused = {{"num_args", int64_t{2}},
                   {"fused_ops", std::vector<std::string>{"BiasAdd", "Add", "Relu"}}};
  AttrMap transposed = {{"num_args", int64_t{0}}, {"transpose_a", true}, {"transpose_b", true}};
  OpCase("_PackedMatMul")
      .Reference([](RefCall<double>& r) {
        const bool tb = r.Attr<bool>("transpose_b"), args = r.Attr<int64_t>("num_args") == 2;
        const int64_t m = r.in[0].size(), n = r.in[1].shape.dim(tb ? 0 : 1);
        r.out = {Array<double>(Shape{m, n})};
        for (int64_t i = 0; i < m; ++i) {
          for (int64_t j = 0; j < n; ++j) {
            double v = r.in[0][i] * r.in[2][j];
            if (args) v = std::max(v + r.in[3][j] + r.in[4].At({i, j}), 0.0);
            r.out[0].At({i, j}) = v;
          }
        }
      })
      .Try({In({5, 1}), In({1, 40}), In({64})}, {{"num_args", int64_t{0}}})
      .Try({In({5, 1}), In({1, 40}), In({64}), In({40}), In({5, 40})}, fused)
      .Try({In({1, 20}), In({40, 1}), In({64})}, transposed)
      .Bad({In({5, 2}), In({2, 40}), In({64})}, {{"num_args", int64_t{0}}}, Code::kInvalidArgument,
           "packed must have")
      .Bad({In({5, 3}), In({2, 40}), In({128})}, {{"num_args", int64_t{0}}}, Code::kInvalidArgument,
           "inner dimensions differ")
      .Bad({In({5, 1}), In({1, 40}), In({64}), In({39}), In({5, 40})}, fused,
           Code::kInvalidArgument, "bias must have one element per column")
      .Run();
}

Tensor Values(const Dims& dims, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> distribution(-1, 1);
  std::vector<float> values(static_cast<size_t>(Shape(dims).num_elements()));
  for (float& v : values) v = distribution(random);
  return Tensor::Of<float>(values, Shape(dims));
}

// Deeper than one pass, with partial panels: the bits of a product that packs for itself.
TEST(PackedMatMulTest, GivesTheBitsOfMatMul) {
  for (const bool transpose : {false, true}) {
    const Tensor a = Values({20, 300}, 1);
    const Tensor b = transpose ? Values({77, 300}, 2) : Values({300, 77}, 2);
    const auto packed = RunOp("_PackMatrix", {b}, {{"transpose", transpose}});
    ASSERT_TRUE(packed.ok()) << packed.status().ToString();
    const auto product = RunOp("_PackedMatMul", {a, b, (*packed)[0]},
                               {{"num_args", int64_t{0}}, {"transpose_b", transpose}});
    const auto expected = RunOp("MatMul", {a, b}, {{"transpose_b", transpose}});
    ASSERT_TRUE(product.ok()) << product.status().ToString();
    ASSERT_TRUE(expected.ok());
    ASSERT_EQ((*product)[0].shape(), (*expected)[0].shape());
    EXPECT_EQ(std::memcmp((*product)[0].raw_data(), (*expected)[0].raw_data(),
                          static_cast<size_t>((*expected)[0].bytes())),
              0);
  }
}

}  // namespace
}  // namespace thalweg
