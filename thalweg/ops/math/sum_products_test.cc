// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <list>
#include <random>

#include "thalweg/testing/kernel_call.h"

namespace thalweg {
namespace {

Tensor Values(const Dims& dims, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> distribution(-1, 1);
  std::vector<double> values(static_cast<size_t>(Shape(dims).num_elements()));
  for (double& v : values) v = distribution(random);
  return Tensor::Of<double>(values, Shape(dims));
}

class SumProductsTest : public ::testing::Test {
 protected:
  // A sum has buffers of the calls that made it.
  ~SumProductsTest() override {
    while (!calls_.empty()) calls_.pop_back();
  }
  Result<Tensor> Call(const char* op, const std::vector<Tensor>& inputs, AttrMap attrs = {}) {
    calls_.emplace_back(op, inputs, std::move(attrs));
    RETURN_IF_ERROR(calls_.back().Run());
    return calls_.back().output(0);
  }
  Result<Tensor> End(const Tensor& sum, const PartialShape& shape = PartialShape::Unknown(),
                     DType dtype = DType::kDouble) {
    return Call("_EndProducts", {sum}, {{"T", dtype}, {"shape", shape}});
  }

 private:
  std::list<KernelCall> calls_;
};

// sum += op(a) op(b), in the order of the definition.
void AddTo(std::vector<double>* sum, const Tensor& a, bool ta, const Tensor& b, bool tb) {
  const int64_t m = a.dim(ta ? 1 : 0), k = a.dim(ta ? 0 : 1), n = b.dim(tb ? 0 : 1);
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      for (int64_t l = 0; l < k; ++l) {
        (*sum)[static_cast<size_t>(i * n + j)] += a.data<double>()[ta ? l * m + i : i * k + l] *
                                                  b.data<double>()[tb ? j * k + l : l * n + j];
      }
    }
  }
}

void ExpectNear(const Result<Tensor>& total, const std::vector<double>& expected) {
  ASSERT_TRUE(total.ok()) << total.status().ToString();
  ASSERT_EQ(total->num_elements(), static_cast<int64_t>(expected.size()));
  for (size_t i = 0; i < expected.size(); ++i) {
    ASSERT_NEAR(total->flat<double>()[i], expected[i], 1e-11) << i;
  }
}

// Products of few rows and of many: some are gathered, some overflow, some go by themselves.
TEST_F(SumProductsTest, IsTheInitialValueAndAllProducts) {
  constexpr int64_t kM = 30, kN = 50;
  for (const bool ta : {false, true}) {
    for (const bool tb : {false, true}) {
      const Tensor initial = Values({kM, kN}, 1);
      std::vector<double> expected(initial.flat<double>().begin(), initial.flat<double>().end());
      Result<Tensor> sum = Call("_StartProducts", {initial});
      unsigned seed = 2;
      for (const int64_t k : {3, 1, 0, 17, 3, 16, 5, 200, 2, 18, 18, 18, 1}) {
        ASSERT_TRUE(sum.ok()) << sum.status().ToString();
        const Tensor a = Values(ta ? Dims{k, kM} : Dims{kM, k}, seed++);
        const Tensor b = Values(tb ? Dims{kN, k} : Dims{k, kN}, seed++);
        AddTo(&expected, a, ta, b, tb);
        sum = Call("_AddProduct", {*sum, a, b}, {{"transpose_a", ta}, {"transpose_b", tb}});
        ASSERT_TRUE(sum.ok()) << sum.status().ToString();
        ExpectNear(End(*sum), expected);
      }
      EXPECT_EQ(initial.flat<double>()[0], Values({kM, kN}, 1).flat<double>()[0]);
    }
  }
}

TEST_F(SumProductsTest, OthersSeeTheSumAsItWas) {
  const Tensor zero = Values({40, 40}, 1), a = Values({40, 7}, 2), b = Values({7, 40}, 3);
  Tensor at[6];
  std::vector<double> expected[6];
  at[0] = *Call("_StartProducts", {zero});
  expected[0].assign(zero.flat<double>().begin(), zero.flat<double>().end());
  for (int i = 1; i < 6; ++i) {
    at[i] = *Call("_AddProduct", {at[i - 1], a, b});
    expected[i] = expected[i - 1];
    AddTo(&expected[i], a, false, b, false);
  }
  const Tensor branch =
      *Call("_AddProduct", {at[2], b, a}, {{"transpose_a", true}, {"transpose_b", true}});
  for (int i = 0; i < 6; ++i) ExpectNear(End(at[i]), expected[i]);
  AddTo(&expected[2], b, true, a, true);
  ExpectNear(End(branch), expected[2]);
}

TEST_F(SumProductsTest, EmptyMatricesStayEmpty) {
  const Tensor sum = *Call("_StartProducts", {Values({0, 5}, 1)});
  const auto more = Call("_AddProduct", {sum, Values({0, 3}, 1), Values({3, 5}, 2)});
  ASSERT_TRUE(more.ok()) << more.status().ToString();
  EXPECT_EQ(End(*more)->shape(), (Shape{0, 5}));
}

TEST_F(SumProductsTest, RefusesWhatDoesNotFit) {
  const Tensor sum = *Call("_StartProducts", {Values({4, 5}, 1)});
  const Tensor a = Values({4, 3}, 1), b = Values({3, 5}, 2);
  const auto code = [](const Result<Tensor>& r) { return r.status().code(); };
  EXPECT_EQ(code(Call("_StartProducts", {Values({4}, 1)})), Code::kInvalidArgument);
  EXPECT_EQ(code(Call("_AddProduct", {sum, b, b})), Code::kInvalidArgument);
  EXPECT_EQ(code(Call("_AddProduct", {sum, b, b}, {{"transpose_a", true}})),
            Code::kInvalidArgument);
  EXPECT_EQ(code(Call("_AddProduct", {sum, Values({3}, 1), b})), Code::kInvalidArgument);
  const Tensor nothing = *Tensor::AllocateHost(DType::kVariant, Shape());
  EXPECT_EQ(code(Call("_AddProduct", {nothing, a, b})), Code::kInvalidArgument);
  EXPECT_EQ(code(End(nothing)), Code::kInvalidArgument);
  EXPECT_EQ(code(End(sum, PartialShape{4, 6})), Code::kInvalidArgument);
  EXPECT_EQ(code(End(sum, PartialShape{4, 5}, DType::kFloat)), Code::kInvalidArgument);
  EXPECT_TRUE(End(sum, PartialShape{4, -1}).ok());
  const auto floats = Tensor::Of<float>(std::vector<float>(12), Shape{4, 3});
  const auto others = Tensor::Of<float>(std::vector<float>(15), Shape{3, 5});
  EXPECT_EQ(code(Call("_AddProduct", {sum, floats, others})), Code::kInvalidArgument);
}

}  // namespace
}  // namespace thalweg
