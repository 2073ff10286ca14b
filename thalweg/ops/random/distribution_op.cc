// SPDX-License-Identifier: Apache-2.0
// Gamma, Poisson, binomial and truncated normal numbers with parameters in tensors.
#include "thalweg/graph/gradient_math.h"
#include "thalweg/graph/op_registry.h"
#include "thalweg/ops/random/seed_shape.h"

namespace thalweg {
namespace {

constexpr std::string_view kWhy = "random numbers do not depend on the inputs' values";

// [shape..., parameters...]
template <int kShape, int kParameter>
Status AppendedShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const PartialShape shape, c.ShapeArgument(kShape));
  const PartialShape& parameter = c.input(kParameter);
  if (!shape.known_rank() || !parameter.known_rank()) return OkStatus();
  Dims dims = shape.dims();
  for (int64_t dim : parameter.dims()) dims.push_back(dim);
  ASSIGN_OR_RETURN(const PartialShape out, PartialShape::Make(dims));
  c.set_output(0, out);
  return OkStatus();
}

Status GivenShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const PartialShape shape, c.ShapeArgument(0));
  c.set_output(0, shape);
  return OkStatus();
}
Status SeededShape(ShapeContext& c) {
  RETURN_IF_ERROR(CheckSeed(c, 1));
  return GivenShape(c);
}
Status SampledByKeyShape(ShapeContext& c) {
  RETURN_IF_ERROR(CheckKey(c));
  return GivenShape(c);
}

// Alpha's gradient: the derivatives of the samples, summed over those of one parameter.
Status GammaGradient(GradientContext& c) {
  GradientMath m(c);
  const Output alpha = c.input(1);
  const Output sample = c.output(0);
  const Output one = m.Op("BroadcastTo", {alpha, m.Shape(sample)});
  const Output derivative = m.Op("RandomGammaGrad", {one, sample});
  const Output extra = m.Sub(m.Op("Rank", {sample}), m.Op("Rank", {alpha}));
  const Output zero = c.b().Const(Tensor::Scalar(0)), step = c.b().Const(Tensor::Scalar(1));
  const Output axes = m.Op("Range", {zero, extra, step});
  c.set_input_grad(1, m.Op("Sum", {m.Mul(c.grad(0), derivative), axes}));
  return m.status();
}

// The shape of the samples ends in (a broadcast of) alpha's.
template <int kAlpha>
Status StatelessGammaGradient(GradientContext& c) {
  GradientMath m(c);
  const Output alpha = c.input(kAlpha), sample = c.output(0);
  const Output full = m.Op("BroadcastTo", {alpha, m.Shape(sample)});
  const Output product = m.Mul(c.grad(0), m.Op("RandomGammaGrad", {full, sample}));
  Node* axes = c.b().OpNode("BroadcastGradientArgs", {m.Shape(alpha), m.Shape(sample)});
  c.set_input_grad(kAlpha, m.Op("Reshape", {m.Op("Sum", {product, {axes, 0}}), m.Shape(alpha)}));
  return m.status();
}

}  // namespace
}  // namespace thalweg

THALWEG_OP(distribution) {
  registry.Op("RandomGamma")
      .Shape(AppendedShape<0, 1>)
      .Gradient(GammaGradient)
      .Doc("Gamma distributed numbers, for every alpha a tensor of the given shape.");
  registry.Op("StatelessRandomGammaV2")
      .Shape(SeededShape)
      .Gradient(StatelessGammaGradient<2>)
      .Doc("Gamma distributed numbers; the same seed gives the same numbers.");
  registry.Op("StatelessRandomGammaV3")
      .Shape(SampledByKeyShape)
      .Gradient(StatelessGammaGradient<4>)
      .Doc("Gamma distributed numbers; the same key gives the same numbers.");
  registry.Op("RandomGammaGrad")
      .Shape(BroadcastBinaryShape)
      .NotDifferentiable("its derivative is not implemented")
      .Doc("Derivative of gamma distributed samples by alpha.");
  for (const char* op : {"RandomPoisson", "RandomPoissonV2"}) {
    registry.Op(op)
        .Shape(AppendedShape<0, 1>)
        .NotDifferentiable(kWhy)
        .Doc("Poisson distributed numbers, for every rate a tensor of the given shape.");
  }
  registry.Op("StatelessRandomPoisson")
      .Shape(SeededShape)
      .NotDifferentiable(kWhy)
      .Doc("Poisson distributed numbers; the same seed gives the same numbers.");
  registry.Op("StatelessRandomBinomial")
      .Shape(SeededShape)
      .NotDifferentiable(kWhy)
      .Doc("Numbers of successes; the same seed gives the same numbers.");
}
