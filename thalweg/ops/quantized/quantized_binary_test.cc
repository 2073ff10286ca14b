// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "thalweg/ops/quantized/test_levels.h"

namespace thalweg {
namespace {

const Tensor kX = Levels(DType::kQuint8, {1, 3}, {0, 50, 255});
const Tensor kY = Levels(DType::kQuint8, {1, 3}, {10, 128, 200});

std::vector<Tensor> Ranged(Tensor x, Tensor y, float a, float b, float c, float d) {
  return {std::move(x),      std::move(y),      Tensor::Scalar(a),
          Tensor::Scalar(b), Tensor::Scalar(c), Tensor::Scalar(d)};
}

// What the output means is the sum or product, but for half a level of each operand.
template <class F>
void ExpectReal(const char* op, F f) {
  const auto out =
      OutputsOf(op, Ranged(kX, Levels(DType::kQuint8, {2, 1}, {7, 200}), -1, 3, -2, 5));
  for (int64_t i = 0; i < 6; ++i) {
    const double x = -1 + std::vector<double>{0, 50, 255}[static_cast<size_t>(i % 3)] * 4 / 255;
    const double y = -2 + (i < 3 ? 7 : 200) * 7.0 / 255;
    const double real = out[0][static_cast<size_t>(i)] * out[2][0] / 2147483648.0;
    EXPECT_NEAR(real, f(x, y), 0.1) << op << i;
  }
}

TEST(QuantizedBinaryTest, Meaning) {
  ExpectReal("QuantizedAdd", [](double x, double y) { return x + y; });
  ExpectReal("QuantizedMul", [](double x, double y) { return x * y; });
}

// As TensorFlow 2.21 computed them.
TEST(QuantizedBinaryTest, Recorded) {
  auto out = OutputsOf("QuantizedAdd", Ranged(kX, kY, -1, 1, 0, 4));
  EXPECT_EQ(out[0], (std::vector<double>{-27499, 46003, 135696}));
  EXPECT_EQ(out[1][0], -65536);
  EXPECT_EQ(out[2][0], 65536);
  EXPECT_EQ(RunFirst("QuantizedAdd", Ranged(kX, kY, 1, 2, -3, -1)),
            (std::vector<double>{-83780, -34756, 24995}));
  out = OutputsOf("QuantizedMul", Ranged(kX, kY, -1, 1, 0, 4));
  EXPECT_EQ(out[0], (std::vector<double>{-1280, -9984, 25400}));
  EXPECT_FLOAT_EQ(static_cast<float>(out[2][0]), 264204.09375f);
  EXPECT_EQ(RunFirst("QuantizedMul", Ranged(kX, kY, 1, 2, -3, -1)),
            (std::vector<double>{-95115, -77775, -93330}));
}

TEST(QuantizedBinaryTest, Cases) {
  for (const char* op : {"QuantizedAdd", "QuantizedMul"}) {
    const bool mul = std::string(op) == "QuantizedMul";
    OpCase(op)
        .Reference([mul](RefCall<double>& r) {
          // Ranges from 0: levels are multiples of a step.
          const double step_x = r.in[3][0] / 255, step_y = r.in[5][0] / 255;
          const double reach =
              mul ? step_x * step_y * 2147483648.0 : std::max(r.in[3][0], r.in[5][0]) * 16384;
          const double unit = 2147483648.0 / reach;
          Array<double> z(BroadcastShape(r.in[0].shape, r.in[1].shape));
          ForEachIndex(z.shape, [&](const std::vector<int64_t>& at) {
            const double x = r.in[0].At(at), y = r.in[1].At(at);
            z.At(at) = mul ? x * y : x * std::round(step_x * unit) + y * std::round(step_y * unit);
          });
          r.out = {z, Array<double>(Shape{}, {-reach}), Array<double>(Shape{}, {reach})};
        })
        .Try(
            {In({2, 1, 3}).Range(0, 255), In({4, 1}).Range(0, 255), End(0), End(2), End(0), End(3)})
        .Try({In({5}).Range(0, 255), In({}).Range(3, 255), End(0), End(1), End(0), End(1)})
        .Try({In({0, 3}), In({3}), End(0), End(1), End(0), End(1)})
        .Bad({In({2}), In({3}), End(0), End(1), End(0), End(1)}, {}, Code::kInvalidArgument, "")
        .Bad({In({2}), In({2}), End(1), End(1), End(0), End(1)}, {}, Code::kInvalidArgument,
             "larger")
        .Bad({In({2}), In({2}), End(0), End(1), End(0), In({1})}, {}, Code::kInvalidArgument,
             "rank")
        .Run();
  }
}

TEST(QuantizedBinaryTest, BiasAdd) {
  for (DType dtype : {DType::kQint8, DType::kQuint8}) {
    OpCase("QuantizedBiasAdd")
        .Types({{"T1", dtype}, {"T2", dtype}, {"out_type", DType::kQint32}})
        .Reference([dtype](RefCall<double>& r) {
          const double lowest = dtype == DType::kQint8 ? -128 : 0;
          const double reach = std::max(r.in[3][0], r.in[5][0]) * 131072;
          Array<double> y(r.in[0].shape);
          for (int64_t i = 0; i < y.size(); ++i) {
            const double sum = (r.in[0][i] - lowest) * r.in[3][0] / 255 +
                               (r.in[1][i % r.in[1].size()] - lowest) * r.in[5][0] / 255;
            y[i] = std::round(sum * 4294967295.0 / (2 * reach));
          }
          r.out = {y, Array<double>(Shape{}, {-reach}), Array<double>(Shape{}, {reach})};
        })
        .Tolerance(DType::kQint32, 1e-3)
        .Try(
            {In({2, 5}).Range(-100, 100), In({5}).Range(-100, 100), End(0), End(2), End(0), End(3)})
        .Bad({In({2, 3}), In({2}), End(0), End(1), End(0), End(1)}, {}, Code::kInvalidArgument,
             "Dimensions must be equal, but are 3 and 2 for ", "biases")
        .Bad({In({}), In({1}), End(0), End(1), End(0), End(1)}, {}, Code::kInvalidArgument,
             "Shape must be at least rank 2 but is rank 0 for ", "")
        .Run();
  }
  // As TensorFlow 2.21 computed it.
  EXPECT_EQ(RunFirst("QuantizedBiasAdd",
                     Ranged(Levels(DType::kQint8, {2, 3}, {0, 50, -128, 1, 2, 3}),
                            Levels(DType::kQint8, {3}, {10, 127, -100}), -1, 1, 0, 4),
                     {{"out_type", DType::kQint32}}),
            (std::vector<double>{8899, 18022, -2281, 8931, 16480, 1928}));
}

}  // namespace
}  // namespace thalweg
