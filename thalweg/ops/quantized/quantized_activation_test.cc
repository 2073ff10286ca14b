// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "thalweg/ops/quantized/test_levels.h"

namespace thalweg {
namespace {

template <bool kSix>
void ClampReference(RefCall<double>& r) {
  const bool bytes = r.in_type(0) == DType::kQuint8;
  const double lowest = bytes ? 0 : -2147483648.0, steps = bytes ? 255 : 4294967295.0;
  const double scale = steps / (r.in[2][0] - r.in[1][0]);
  const auto level = [&](double real) {
    const double at = std::round(real * scale) - std::round(r.in[1][0] * scale) + lowest;
    return std::clamp(at, lowest, lowest + steps);
  };
  r.out = {r.in[0], r.in[1], r.in[2]};
  for (double& value : r.out[0].values) {
    value = std::max(value, level(0));
    if (kSix) value = std::min(value, level(6));
  }
}

template <bool kSix>
void TestCases(const char* op) {
  for (DType dtype : {DType::kQuint8, DType::kQint32}) {
    OpCase(op)
        .Types({{"Tinput", dtype}, {"out_type", dtype}})
        .Reference(ClampReference<kSix>)
        .Try({In({2, 3}, {0, 20, 50, 130, 254, 255}), End(-1), End(7)})
        .Try({In({2, 3}, {0, 20, 50, 130, 254, 255}), End(-4), End(-1)})
        .Bad({In({2}), In({1}), End(7)}, {}, Code::kInvalidArgument, "rank")
        .Run();
  }
}

TEST(QuantizedActivationTest, Relu) { TestCases<false>("QuantizedRelu"); }
TEST(QuantizedActivationTest, Relu6) { TestCases<true>("QuantizedRelu6"); }

// As TensorFlow 2.21 computed it.
TEST(QuantizedActivationTest, Recorded) {
  const Tensor x = Levels(DType::kQint32, {6}, {-2000000000, -5, 0, 7, 100000, 1500000000});
  EXPECT_EQ(RunFirst("QuantizedRelu6", {x, Tensor::Scalar(-10.0f), Tensor::Scalar(20.0f)},
                     {{"out_type", DType::kQint32}}),
            (std::vector<double>{-715827883, -5, 0, 7, 100000, 143165576}));
}

}  // namespace
}  // namespace thalweg
