// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <cstring>

#include "thalweg/ops/quantized/test_levels.h"
#include "thalweg/testing/kernel_call.h"

namespace thalweg {
namespace {

using Values = std::vector<double>;

// Products of ranges from 0, whose level of zero is the lowest.
void ProductReference(RefCall<double>& r) {
  const bool ta = r.Attr<bool>("transpose_a"), tb = r.Attr<bool>("transpose_b");
  const auto &a = r.in[0], &b = r.in[1];
  const int64_t m = a.shape.dim(ta ? 1 : 0), k = a.shape.dim(ta ? 0 : 1);
  const int64_t n = b.shape.dim(tb ? 0 : 1);
  Array<double> y(Shape{m, n});
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      for (int64_t l = 0; l < k; ++l) {
        y[i * n + j] += a[ta ? l * m + i : i * k + l] * b[tb ? j * k + l : l * n + j];
      }
    }
  }
  const bool bias = r.in.size() > 6;
  const double step_a = (r.in[bias ? 4 : 3][0] - r.in[bias ? 3 : 2][0]) / 255;
  const double step_b = (r.in[bias ? 6 : 5][0] - r.in[bias ? 5 : 4][0]) / (bias ? 254 : 255);
  const std::string& name = r.node->op_name();
  const double step = step_a * step_b;
  const bool integers = bias && r.in_type(2) == DType::kQint32;
  const bool requantize = name.find("AndRequantize") != std::string::npos;
  const bool dequantize = name.find("Dequantize") != std::string::npos;
  for (int64_t i = 0; bias && i < y.size(); ++i) {
    const double shift = r.in[2][i % n] / (integers ? 1 : step);
    y[i] += requantize || dequantize ? shift : std::nearbyint(shift);
    if (name.find("Relu") != std::string::npos) y[i] = std::max(0.0, y[i]);
    if (dequantize) y[i] *= step;
    if (requantize) {
      const double reach = std::max(std::abs(r.in[7][0]), std::abs(r.in[8][0]));
      y[i] = std::clamp(std::nearbyint(y[i] * step * 255 / reach), 0.0, 255.0);
    }
  }
  r.out = {y};
  if (dequantize) return;
  const double most = step * 2147483648.0;
  r.out.push_back(requantize ? r.in[7] : Array<double>(Shape{}, {-most}));
  r.out.push_back(requantize ? r.in[8] : Array<double>(Shape{}, {most}));
}

AttrMap Transposed(bool a, bool b) { return {{"transpose_a", a}, {"transpose_b", b}}; }

TEST(QuantizedMatMulTest, Product) {
  OpCase("QuantizedMatMul")
      .Reference(ProductReference)
      .Tolerance(DType::kFloat, 1e-6)
      .Try({In({3, 7}).Range(0, 255), In({7, 5}).Range(0, 255), End(0), End(2), End(0), End(3)},
           Transposed(false, false))
      .Try({In({7, 3}).Range(0, 255), In({5, 7}).Range(0, 255), End(0), End(2), End(0), End(3)},
           Transposed(true, true))
      .Try({In({0, 3}), In({3, 2}), End(0), End(1), End(0), End(1)}, Transposed(false, false))
      .Bad({In({2, 3}), In({2, 3}), End(0), End(1), End(0), End(1)}, Transposed(false, false),
           Code::kInvalidArgument, "Dimensions must be equal, but are 3 and 2 for ",
           "size-incompatible")
      .Bad({In({2}), In({2, 3}), End(0), End(1), End(0), End(1)}, Transposed(false, false),
           Code::kInvalidArgument, "")
      .Bad({In({2, 3}), In({3, 2}), End(1), End(1), End(0), End(1)}, Transposed(false, false),
           Code::kInvalidArgument, "larger")
      .Run();
}

// Nobody may write into what a step reads; who did would see whether a packed form is read instead.
void Clear(const Tensor& tensor) {
  std::memset(const_cast<void*>(tensor.raw_data()), 0, tensor.bytes());
}

// The second operand in packed form, kept by the session: the same sums, also of the next call,
// which packs nothing.
TEST(QuantizedMatMulTest, PackedWeight) {
  Values left, right;
  for (int i = 0; i < 21; ++i) left.push_back(11 * i + 4);
  for (int i = 0; i < 35; ++i) right.push_back(7 * i + 2);
  std::vector<Tensor> inputs = {Levels(DType::kQuint8, {3, 7}, left),
                                Levels(DType::kQuint8, {7, 5}, right)};
  for (const float end : {-1.f, 2.f, -0.5f, 3.f}) inputs.push_back(Tensor::Scalar(end));
  const auto plain = RunFirst("QuantizedMatMul", inputs, Transposed(false, false));
  AttrMap attrs = Transposed(false, false);
  attrs.Set("_weight", std::string("w"));
  KernelCall call("QuantizedMatMul", inputs, attrs);
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(call.Run().ok());
    const auto* levels = static_cast<const int32_t*>(call.output(0).raw_data());
    EXPECT_EQ(Values(levels, levels + 15), plain);
    Clear(inputs[1]);
  }
}

// Of one column a panel would be many times the weight.
TEST(QuantizedMatMulTest, ALongColumnIsNotKept) {
  constexpr int64_t kDepth = 100'000;
  const Values ones(kDepth, 1);
  std::vector<Tensor> inputs = {Levels(DType::kQuint8, {1, kDepth}, ones),
                                Levels(DType::kQuint8, {kDepth, 1}, ones)};
  for (const float end : {0.f, 1.f, 0.f, 1.f}) inputs.push_back(Tensor::Scalar(end));
  AttrMap attrs = Transposed(false, false);
  attrs.Set("_weight", std::string("w"));
  KernelCall call("QuantizedMatMul", inputs, attrs);
  for (const int32_t expected : {int32_t{kDepth}, 0}) {
    ASSERT_TRUE(call.Run().ok());
    EXPECT_EQ(*static_cast<const int32_t*>(call.output(0).raw_data()), expected);
    Clear(inputs[1]);
  }
}

TEST(QuantizedMatMulTest, WithBias) {
  for (const char* op : {"QuantizedMatMulWithBias", "QuantizedMatMulWithBiasAndRelu"}) {
    OpCase(op)
        .Reference(ProductReference)
        .Tolerance(DType::kFloat, 1e-6)
        .Tolerance(DType::kQint32, 1e-4)
        .Try({In({3, 7}).Range(0, 255), In({7, 5}).Range(-127, 127), In({5}).Range(-90, 90), End(0),
              End(2), End(-3), End(3)},
             Transposed(false, false))
        .Try({In({3, 7}).Range(0, 255), In({5, 7}).Range(-127, 127), In({5}).Range(-90, 90), End(0),
              End(2), End(-3), End(3)},
             Transposed(false, true))
        .Bad({In({2, 3}), In({3, 2}), In({3}), End(0), End(1), End(0), End(1)},
             Transposed(false, false), Code::kInvalidArgument, "")
        .Run();
  }
  for (const char* op :
       {"QuantizedMatMulWithBiasAndRequantize", "QuantizedMatMulWithBiasAndReluAndRequantize",
        "QuantizedMatMulWithBiasAndDequantize"}) {
    OpCase(op)
        .Reference(ProductReference)
        .Tolerance(DType::kFloat, 1e-5)
        .Try({In({3, 7}).Range(0, 255), In({7, 5}).Range(-127, 127), In({5}).Range(-9, 9), End(0),
              End(2), End(-3), End(3), End(-10), End(20)},
             Transposed(false, false))
        .Bad({In({2, 3}), In({3, 2}), In({2}), End(0), End(1), End(0), End(1), In({1}), End(1)},
             Transposed(false, false), Code::kInvalidArgument, "rank")
        .Run();
  }
}

// As TensorFlow 2.21 computed them.
TEST(QuantizedMatMulTest, Recorded) {
  const Tensor a = Levels(DType::kQuint8, {2, 3}, {0, 50, 255, 3, 4, 5});
  const auto run = [&](const Tensor& b, const std::vector<float>& rest, const Tensor* bias,
                       const char* op) {
    std::vector<Tensor> inputs = {a, b};
    if (bias != nullptr) inputs.push_back(*bias);
    for (float value : rest) inputs.push_back(Tensor::Scalar(value));
    const bool reals = std::string_view(op).find("Dequantize") != std::string_view::npos;
    return RunFirst(op, inputs, reals ? AttrMap{{"Toutput", DType::kFloat}} : AttrMap{});
  };
  const Tensor plain = Levels(DType::kQuint8, {3, 2}, {10, 128, 200, 1, 5, 6});
  EXPECT_EQ(run(plain, {-1, 1, 0, 4}, nullptr, "QuantizedMatMul"),
            (Values{-16245, -15700, -26665, -16862}));
  EXPECT_EQ(run(plain, {1, 3, -1, 1}, nullptr, "QuantizedMatMul"),
            (Values{-49397, -69332, -22313, -32990}));
  const Tensor b = Levels(DType::kQint8, {3, 2}, {10, -128, 100, 1, 5, 6});
  const Tensor real_bias = Tensor::Vector<float>({1.5f, -20});
  const Tensor integers = Levels(DType::kQint32, {2}, {1000, -2000});
  EXPECT_EQ(run(b, {0, 2, -1, 1}, &real_bias, "QuantizedMatMulWithBias"),
            (Values{30564, -322270, 24744, -324200}));
  EXPECT_EQ(run(b, {-1, 2, -1, 1}, &integers, "QuantizedMatMulWithBias"),
            (Values{7275, -420, 1455, -2350}));
  EXPECT_EQ(run(b, {0, 2, -1, 1, -10, 20}, &real_bias, "QuantizedMatMulWithBiasAndRequantize"),
            (Values{24, 0, 19, 0}));
  EXPECT_EQ(run(b, {-1, 2, -1, 1, -10, 20}, &integers, "QuantizedMatMulWithBiasAndRequantize"),
            (Values{9, 0, 2, 0}));
  ExpectNear(run(b, {0, 2, -1, 1, -10, 20}, &real_bias, "QuantizedMatMulWithBiasAndDequantize"),
             {1.8875250816, -19.902423858, 1.5280994176, -20.021614074}, 2e-5);
}

// A range from below 0 of MIN_FIRST: the product stands for that of the reals.
TEST(QuantizedMatMulTest, LevelOfZero) {
  const auto out = OutputsOf(
      "QuantizedMatMulWithBias",
      {Levels(DType::kQuint8, {1, 2}, {85, 170}), Levels(DType::kQint8, {2, 1}, {127, 127}),
       Tensor::Vector<float>({0.25f}), Tensor::Scalar(-1.0f), Tensor::Scalar(2.0f),
       Tensor::Scalar(-1.0f), Tensor::Scalar(1.0f)});
  EXPECT_NEAR(out[0][0] * out[2][0] / 2147483648.0, 1.25, 1e-4);  // 0 * 1 + 1 * 1 + 0.25
}

}  // namespace
}  // namespace thalweg
