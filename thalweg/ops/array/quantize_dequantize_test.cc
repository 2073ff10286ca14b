// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>

#include "thalweg/testing/op_case.h"

namespace thalweg {
namespace {

struct Spec {
  int64_t bits;
  bool is_signed, narrow, clamp, round_up;
};

// One number by the definition: the larger of the two ranges decides the scale.
double Quantized(const Spec& spec, double x, double low, double high) {
  const double half = std::pow(2.0, static_cast<double>(spec.bits - (spec.is_signed ? 1 : 0)));
  const double first = !spec.is_signed ? 0 : spec.narrow ? 1 - half : -half;
  const double step = std::max(first == 0 ? 0 : low / first, high / (half - 1));
  if (spec.clamp) x = std::clamp(x, first * step, (half - 1) * step);
  const double rounded = spec.round_up ? std::floor(x / step + 0.5) : std::nearbyint(x / step);
  return rounded * step;
}

// Elements of channel c (of `channels`, the last dimension) are quantized together.
auto Reference(const Spec& spec, int64_t channels) {
  return [=](RefCall<double>& r) {
    r.out = {r.in[0]};
    for (int64_t c = 0; c < channels; ++c) {
      double low = r.in[0][c], high = low;
      for (int64_t i = c; i < r.in[0].size(); i += channels) {
        low = std::min(low, r.in[0][i]);
        high = std::max(high, r.in[0][i]);
      }
      if (spec.clamp) low = r.in[1][c], high = r.in[2][c];
      for (int64_t i = c; i < r.in[0].size(); i += channels) {
        r.out[0][i] = Quantized(spec, r.in[0][i], low, high);
      }
    }
  };
}

const Spec kSpecs[] = {{8, true, false, false, false},
                       {4, true, true, true, false},
                       {5, false, false, true, false},
                       {6, true, false, true, true}};

AttrMap Attrs(const Spec& spec, bool has_bits) {
  AttrMap attrs = {{"signed_input", spec.is_signed}, {"range_given", spec.clamp}};
  if (has_bits) attrs.Set("num_bits", spec.bits);
  return attrs;
}

constexpr const char* kSteps = "steps: the registered gradient passes as if there were none";

TEST(QuantizeDequantizeTest, OneRange) {
  for (const Spec& spec : kSpecs) {
    for (const char* op : {"QuantizeAndDequantizeV2", "QuantizeAndDequantizeV4"}) {
      AttrMap attrs = Attrs(spec, true);
      attrs.Set("narrow_range", spec.narrow);
      attrs.Set("round_mode", spec.round_up ? "HALF_UP" : "HALF_TO_EVEN");
      OpCase(op)
          .Reference(Reference(spec, 1))
          .Try({In({7, 9}), In({}, {-1.25}), In({}, {1.75})}, attrs)
          .Bad({In({2}), In({}, {2}), In({}, {1})}, {{"range_given", true}}, Code::kInvalidArgument,
               "Invalid range")
          .Bad({In({2}), In({1}, {0}), In({}, {1})}, {{"range_given", true}},
               Code::kInvalidArgument, "Shape must be rank 0 but is rank 1 for ",
               "must be a scalar")
          .Bad({In({2}), In({}, {0}), In({1}, {1})}, {{"range_given", true}},
               Code::kInvalidArgument, "Shapes must be equal rank, but are 1 and 0 for ",
               "must be a scalar")
          .Bad({In({2}), In({}, {0}), In({}, {1})}, {{"num_bits", 62}}, Code::kInvalidArgument,
               "out of range")
          .Bad({In({2}), In({2}, {0, 0}), In({2}, {1, 1})}, {{"axis", 1}}, Code::kInvalidArgument,
               "at least rank 2")
          .Bad({In({2}), In({}, {0}), In({}, {1})}, {{"axis", 0}, {"range_given", true}},
               Code::kInvalidArgument, "Shape must be rank 1 but is rank 0 for ", "incorrect size")
          .Bad({In({2}), In({3}, {0, 0, 0}), In({3}, {1, 1, 1})},
               {{"axis", 0}, {"range_given", true}}, Code::kInvalidArgument,
               "Dimensions must be equal, but are 3 and 2 for ", "incorrect size")
          .NoGradient(kSteps)
          .Run();
    }
    if (spec.round_up) continue;
    AttrMap attrs = Attrs(spec, false);
    attrs.Set("narrow_range", spec.narrow);
    OpCase("QuantizeAndDequantizeV3")
        .Reference(Reference(spec, 1))
        .Try(
            {In({7, 9}), In({}, {-1.25}), In({}, {1.75}), In({}, {static_cast<double>(spec.bits)})},
            attrs)
        .Bad({In({2}), In({}, {0}), In({}, {1}), In({}, {0})}, {}, Code::kInvalidArgument,
             "out of range")
        .Bad({In({2}), In({}, {0}), In({}, {1}), In({2}, {8, 8})}, {}, Code::kInvalidArgument,
             "Shape must be rank 0 but is rank 1 for ", "")
        .NoGradient(kSteps)
        .Run();
  }
}

TEST(QuantizeDequantizeTest, ARangeForEachChannel) {
  for (const Spec& spec : kSpecs) {
    if (spec.round_up) continue;
    AttrMap attrs = Attrs(spec, true);
    attrs.Set("narrow_range", spec.narrow);
    attrs.Set("axis", 1);
    OpCase("QuantizeAndDequantizeV2")
        .Reference(Reference(spec, 3))
        .Try({In({20, 3}), In({3}, {-1, -0.5, -2}), In({3}, {1, 3, 0.5})}, attrs)
        .NoGradient(kSteps)
        .Run();
  }
}

TEST(QuantizeDequantizeTest, TheFirstVersionHasAttributes) {
  const Spec spec{8, true, false, true, false};
  AttrMap attrs = Attrs(spec, true);
  attrs.Set("input_min", -1.0f);
  attrs.Set("input_max", 0.5f);
  OpCase("QuantizeAndDequantize")
      .Reference([&](RefCall<double>& r) {
        r.out = {r.in[0]};
        for (double& x : r.out[0].values) x = Quantized(spec, x, -1, 0.5);
      })
      .Try({In({30})}, attrs)
      .NoGradient(kSteps)
      .Run();
}

TEST(QuantizeDequantizeTest, NothingAndZeros) {
  for (const In& x : {In({0, 3}), In({3}, {0, 0, 0})}) {
    OpCase("QuantizeAndDequantizeV2")
        .Reference([](RefCall<double>& r) { r.out = {r.in[0]}; })
        .Try({x, In({}, {0}), In({}, {0})})
        .Trivial("nothing changes")
        .NoGradient(kSteps)
        .Run();
  }
}

TEST(QuantizeDequantizeTest, TheGradientPassesInsideOfTheRange) {
  OpCase("QuantizeAndDequantizeV4Grad")
      .Reference([](RefCall<double>& r) {
        r.out = {r.in[0], Array<double>(r.in[2].shape), Array<double>(r.in[3].shape)};
        const int64_t channels = r.in[2].size();
        for (int64_t i = 0; i < r.in[1].size(); ++i) {
          const double x = r.in[1][i];
          if (x < r.in[2][i % channels] || x > r.in[3][i % channels]) r.out[0][i] = 0;
        }
      })
      .Try({In({4, 9}), In({4, 9}), In({}, {-1}), In({}, {1})})
      .Try({In({9, 3}), In({9, 3}), In({3}, {-1, 0, -2}), In({3}, {1, 0.5, 0})}, {{"axis", 1}})
      .Bad({In({3}), In({4}), In({}, {-1}), In({}, {1})}, {}, Code::kInvalidArgument, "")
      .Bad({In({3}), In({3}), In({2}, {-1, 1}), In({2}, {1, 1})}, {{"axis", 0}},
           Code::kInvalidArgument, "Dimensions must be equal, but are 2 and 3 for ",
           "incorrect size")
      .GradInputs({0})
      .GradOutputs({0})
      .Run();
}

}  // namespace
}  // namespace thalweg
