// SPDX-License-Identifier: Apache-2.0
// What follows a product of levels: bias, sum, activation, a narrower type. For the matrix products
// and convolutions of this family; private to it.
// Ownership: values; products and outputs are the context's.
// Threads: those of the kernel's call.
// Errors: InvalidArgument for a bias, range or summand of another shape; those of
// compute/quantized.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "thalweg/compute/quantized/level_sums.h"
#include "thalweg/compute/quantized/requantize.h"
#include "thalweg/ops/quantized/range_inputs.h"

namespace thalweg {

// What an operation does, and which inputs it has for it.
struct ProductKind {
  bool bias = false, summand = false, relu = false;
  bool requantize = false;  // to a given range
  bool dequantize = false;  // to reals
};

// Places of the inputs behind the two operands.
struct ProductInputs {
  explicit ProductInputs(const ProductKind& kind) {
    int next = 2;
    if (kind.bias) bias = next++;
    a = next;
    b = next + 2;
    next += 4;
    if (kind.requantize || kind.dequantize) {
      wanted = next;
      next += 2;
    }
    if (kind.summand) summand = next;
  }
  int bias = -1, a = 0, b = 0, wanted = -1, summand = -1;
};

// The ends of the second operand's range: one for all channels of the product, or one for each.
inline Result<std::vector<compute::RealRange>> ChannelRanges(const Context& ctx, int low,
                                                             int64_t channels) {
  const int64_t count = ctx.input(low).num_elements();
  for (int i = low; i < low + 2; ++i) {
    const Tensor& end = ctx.input(i);
    const bool fits = end.rank() <= 1 && (count == 1 || count == channels);
    if (fits && end.shape() == ctx.input(low).shape()) continue;
    return InvalidArgument("the filter's range must be one number or one for each of the ",
                           channels, " channels, got shape ", end.shape());
  }
  std::vector<compute::RealRange> ranges;
  for (int64_t c = 0; c < channels; ++c) {
    const int64_t at = count == 1 ? 0 : c;
    ranges.push_back({ctx.input(low).data<float>()[at], ctx.input(low + 1).data<float>()[at]});
  }
  return ranges;
}

// Signed levels are symmetric: the lowest one is not used.
inline double ScaledStep(DType dtype, compute::RealRange range) {
  if (dtype != DType::kQint8) return StepOf(dtype, range);
  return (static_cast<double>(range.high) - static_cast<double>(range.low)) / 254;
}
inline double Reach(compute::RealRange range) {
  return std::max(std::abs(static_cast<double>(range.low)),
                  std::abs(static_cast<double>(range.high)));
}

// The bias in levels of a product whose steps are steps[channel]; empty without one.
inline Result<std::vector<double>> BiasLevels(const Context& ctx, int at,
                                              const std::vector<double>& steps) {
  std::vector<double> levels;
  if (at < 0) return levels;
  const Tensor& bias = ctx.input(at);
  const auto channels = static_cast<int64_t>(steps.size());
  if (bias.rank() != 1 || bias.dim(0) != channels) {
    return InvalidArgument("bias must have one element for each of the ", channels,
                           " channels, got shape ", bias.shape());
  }
  const bool real = bias.dtype() == DType::kFloat;
  for (int64_t c = 0; c < channels; ++c) {
    const auto i = static_cast<size_t>(c);
    levels.push_back(real ? static_cast<double>(bias.data<float>()[c]) / steps[i]
                          : static_cast<double>(static_cast<const int32_t*>(bias.raw_data())[c]));
  }
  return levels;
}

// How products of a shape become output 0 in the wanted range, whose ends become outputs 1 and 2.
struct Requantization {
  std::vector<float> scales, shifts;
  compute::RequantizeRule rule;

  const compute::RequantizeRule& Rule() {
    rule.channels = static_cast<int64_t>(scales.size());
    rule.scales = scales.data();
    rule.shifts = shifts.data();
    return rule;
  }
};

// steps: what a level of each channel means.
inline Result<Requantization> MakeRequantization(Context& ctx, const ProductKind& kind,
                                                 const ProductInputs& inputs,
                                                 const std::vector<double>& steps, DType to,
                                                 const Shape& products) {
  ASSIGN_OR_RETURN(const compute::RealRange wanted, ScalarRange(ctx, inputs.wanted, "freezed"));
  ASSIGN_OR_RETURN(const std::vector<double> bias, BiasLevels(ctx, inputs.bias, steps));
  const double unit = static_cast<double>(compute::LevelsOf(to).highest) / Reach(wanted);
  Requantization made;
  made.rule.relu = kind.relu;
  for (size_t c = 0; c < steps.size(); ++c) {
    const double scale = steps[c] * unit;
    made.scales.push_back(static_cast<float>(scale));
    made.shifts.push_back(bias.empty() ? 0 : static_cast<float>(bias[c] * scale));
  }
  if (inputs.summand >= 0) {
    const Tensor& summand = ctx.input(inputs.summand);
    if (summand.shape() != products) {
      return InvalidArgument("summand must have shape ", products, ", got ", summand.shape());
    }
    ASSIGN_OR_RETURN(const compute::RealRange range,
                     ScalarRange(ctx, inputs.summand + 1, "summand"));
    made.rule.summand_type = summand.dtype();
    made.rule.summand = summand.raw_data();
    made.rule.summand_scale = static_cast<float>(
        unit * Reach(range) / static_cast<double>(compute::LevelsOf(summand.dtype()).highest));
  }
  SetRange(ctx, 1, wanted);
  return made;
}

}  // namespace thalweg
