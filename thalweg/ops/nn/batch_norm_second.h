// SPDX-License-Identifier: Apache-2.0
// The gradient of FusedBatchNormGrad by dy, x and scale: second derivatives of batch normalization.
// Private to batch_norm_op.
//
// Per channel, with xh = (x - mean) * inv, inv = 1 / sqrt(variance + epsilon), m() the mean over a
// channel, the operation computes in training, where the moments are those of x,
//   dx = scale * inv * (dy - m(dy) - xh * m(dy * xh)),  dscale = sum(dy * xh),  doffset = sum(dy),
// and in inference, where they are given, dx = scale * inv * dy.
// Ownership: nodes belong to the graph; the context outlives it.
// Threads: those of the gradient context: one at a time.
// Errors: stick in the context's builder, and come from Make.
#pragma once

#include <string>
#include <vector>

#include "thalweg/graph/gradient_math.h"
#include "thalweg/ops/nn/slide.h"

namespace thalweg {

class SecondBatchNorm {
 public:
  SecondBatchNorm(GradientContext& c, SlideFormat format, float epsilon)
      : c_(c), m_(c), epsilon_(epsilon), channels_(format.channels()) {
    for (int d = 0; d < format.rank; ++d) {
      if (d != channels_) axes_.push_back(d);
      spread_.push_back(d == channels_ ? -1 : 1);
    }
  }

  Status Make(bool training) {
    const Output dy = Wide(c_.input(0)), x = Wide(c_.input(1)), scale = Spread(c_.input(2));
    const Output mean = training ? Mean(x) : Spread(c_.input(3));
    const Output variance =
        training ? Mean(m_.Op("SquaredDifference", {x, mean})) : Spread(c_.input(4));
    const Output inv = m_.Op("Rsqrt", {m_.Add(variance, m_.Number(x, epsilon_))});
    const Output xh = m_.Mul(m_.Sub(x, mean), inv);
    const Output by_dx = Given(0, x), by_scale = GivenVector(1), by_offset = GivenVector(2);
    Output to_dy = m_.Mul(scale, m_.Mul(inv, by_dx)), to_x = m_.Mul(by_scale, m_.Mul(inv, dy));
    Output to_scale = m_.Mul(inv, m_.Mul(dy, by_dx));
    if (training) {
      const Output q = Mean(m_.Mul(by_dx, xh)), r = Mean(m_.Mul(dy, xh));
      const auto centered = [&](Output a, Output along) {  // the part of a that dx lets through
        return m_.Sub(m_.Sub(a, Mean(a)), m_.Mul(xh, along));
      };
      const Output kept = centered(by_dx, q);
      to_dy = m_.Mul(scale, m_.Mul(inv, kept));
      to_scale = m_.Mul(inv, m_.Mul(dy, kept));
      // Through xh, with inv held; then through inv.
      const Output pull = m_.Mul(m_.Mul(scale, inv), m_.Add(m_.Mul(r, by_dx), m_.Mul(q, dy)));
      const Output by_xh = m_.Sub(m_.Mul(by_scale, dy), pull);
      const Output shrink = m_.Mul(m_.Mul(scale, m_.Square(inv)), Mean(m_.Mul(dy, kept)));
      to_x = m_.Sub(m_.Mul(inv, centered(by_xh, Mean(m_.Mul(by_xh, xh)))), m_.Mul(shrink, xh));
    }
    to_dy = m_.Add(to_dy, m_.Add(m_.Mul(by_scale, xh), by_offset));
    c_.set_input_grad(0, As(to_dy, c_.input(0)));
    c_.set_input_grad(1, As(to_x, c_.input(1)));
    c_.set_input_grad(2, As(m_.Op("Sum", {to_scale, m_.Ints(axes_)}), c_.input(2)));
    return m_.status();
  }

 private:
  Output Wide(Output a) {
    return a.dtype() == DType::kFloat ? a : m_.Op("Cast", {a}, {{"DstT", DType::kFloat}});
  }
  Output As(Output a, Output like) {
    return like.dtype() == DType::kFloat ? a : m_.Op("Cast", {a}, {{"DstT", like.dtype()}});
  }
  // A vector of the channels in the shape of an image with one pixel.
  Output Spread(Output vector) { return m_.Op("Reshape", {Wide(vector), m_.Ints(spread_)}); }
  Output Mean(Output a) { return m_.Op("Mean", {a, m_.Ints(axes_)}, {{"keep_dims", true}}); }
  // The gradient of an output, zeros where it has none.
  Output Given(int i, Output like) {
    return c_.has_grad(i) ? Wide(c_.grad(i)) : m_.Op("ZerosLike", {like});
  }
  Output GivenVector(int i) { return Spread(Given(i, c_.input(2))); }

  GradientContext& c_;
  GradientMath m_;
  const float epsilon_;
  const int channels_;
  std::vector<int32_t> axes_, spread_;
};

}  // namespace thalweg
