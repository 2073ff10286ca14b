// SPDX-License-Identifier: Apache-2.0
#include "thalweg/graph/gradient_math.h"
#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"

namespace thalweg {
namespace {

template <int kRank>
Status ComplexShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(PartialShape input, c.InputWithRankAtLeast(0, kRank));
  c.set_output(0, std::move(input));
  return OkStatus();
}

// The last dimensions are those of the length; the last of a half spectrum is about half of it.
template <int kRank, bool kToReal>
Status RealShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(PartialShape shape, c.InputWithRankAtLeast(0, kRank));
  ASSIGN_OR_RETURN(const PartialShape lengths, c.InputWithRank(1, 1));
  RETURN_IF_ERROR(MergeDims(lengths.dim(0), kRank).status());
  if (!shape.known_rank()) return OkStatus();
  const PartialShape length = c.InputAsShape(1);
  for (int i = 0; i < kRank; ++i) {
    int64_t n = length.known_rank() ? length.dim(i) : PartialShape::kUnknownDim;
    if (!kToReal && i == kRank - 1 && n > 0) n = n / 2 + 1;
    shape.set_dim(shape.rank() - kRank + i, n);
  }
  c.set_output(0, shape);
  return OkStatus();
}

// How many elements are transformed together, as a number of the real type of `like`.
template <int kRank>
Output Count(GradientMath& m, Output x, Output like) {
  const Output sizes =
      m.Op("StridedSlice", {m.Shape(x), m.Ints({-kRank}), m.Ints({0}), m.Ints({1})},
           {{"end_mask", int64_t{1}}});
  return m.Op("Cast", {m.Op("Prod", {sizes, m.Ints({0})})}, {{"DstT", like.dtype()}});
}

template <int kRank, bool kInverse>
Status ComplexGradient(GradientContext& c) {
  static constexpr const char* kNames[] = {"FFT", "FFT2D", "FFT3D"};
  GradientMath m(c);
  const std::string other = StrCat(kInverse ? "" : "I", kNames[kRank - 1]);
  const Output turned = m.Op(other, {c.grad(0)});
  const Output count = Count<kRank>(m, c.input(0), c.grad(0));
  c.set_input_grad(0, kInverse ? m.Div(turned, count) : m.Mul(turned, count));
  return m.status();
}

// 1 for the elements of a half spectrum that stand for themselves, 2 for those that stand for
// their conjugates too; of the type of `like`.
template <int kRank>
Output Multiplicity(GradientContext& c, GradientMath& m, Output like) {
  const auto number = [&](int32_t value) { return c.b().Const(Tensor::Scalar(value)); };
  const Output length =
      m.Op("Reshape", {m.Op("Slice", {c.input(1), m.Ints({kRank - 1}), m.Ints({1})}),
                       c.b().Const(std::vector<int32_t>{})});
  const Output half = m.Add(m.Op("FloorDiv", {length, number(2)}), number(1));
  const Output k = m.Op("Range", {number(0), half, number(1)});
  const Output single = m.Op(
      "LogicalOr", {m.Op("Equal", {k, number(0)}), m.Op("Equal", {m.Mul(k, number(2)), length})});
  return m.Op("Cast", {m.Where(single, number(1), number(2))}, {{"DstT", like.dtype()}});
}

// Zeros behind x up to the shape of `like`: what a transform cut off has no influence.
Output Padded(GradientMath& m, Output x, Output like) {
  const Output more = m.Sub(m.Shape(like), m.Shape(x));
  return m.Op("Pad", {x, m.Op("Pack", {m.Op("ZerosLike", {more}), more}, {{"axis", int64_t{1}}})});
}

constexpr const char* kReal[] = {"RFFT", "RFFT2D", "RFFT3D"};
constexpr const char* kRealInverse[] = {"IRFFT", "IRFFT2D", "IRFFT3D"};

template <int kRank>
Status RealGradient(GradientContext& c) {
  GradientMath m(c);
  const Output spread = m.Div(c.grad(0), Multiplicity<kRank>(c, m, c.grad(0)));
  const Output back =
      m.Op(kRealInverse[kRank - 1], {spread, c.input(1)}, {{"Treal", c.input(0).dtype()}});
  c.set_input_grad(0, Padded(m, m.Mul(back, Count<kRank>(m, back, back)), c.input(0)));
  return m.status();
}

template <int kRank>
Status RealInverseGradient(GradientContext& c) {
  GradientMath m(c);
  const Output spectrum =
      m.Op(kReal[kRank - 1], {c.grad(0), c.input(1)}, {{"Tcomplex", c.input(0).dtype()}});
  const Output scaled = m.Div(m.Mul(spectrum, Multiplicity<kRank>(c, m, spectrum)),
                              Count<kRank>(m, c.grad(0), spectrum));
  c.set_input_grad(0, Padded(m, scaled, c.input(0)));
  return m.status();
}

template <int kRank>
void Register(OpRegistry& registry) {
  constexpr const char* kComplex[] = {"FFT", "FFT2D", "FFT3D"};
  constexpr const char* kInverse[] = {"IFFT", "IFFT2D", "IFFT3D"};
  registry.Op(kComplex[kRank - 1])
      .Shape(ComplexShape<kRank>)
      .Gradient(ComplexGradient<kRank, false>)
      .Doc("The discrete Fourier transform over the last dimensions.");
  registry.Op(kInverse[kRank - 1])
      .Shape(ComplexShape<kRank>)
      .Gradient(ComplexGradient<kRank, true>)
      .Doc("The inverse discrete Fourier transform over the last dimensions.");
  registry.Op(kReal[kRank - 1])
      .Shape(RealShape<kRank, false>)
      .Gradient(RealGradient<kRank>)
      .Doc("The Fourier transform of real numbers: the half of it that tells the other.");
  registry.Op(kRealInverse[kRank - 1])
      .Shape(RealShape<kRank, true>)
      .Gradient(RealInverseGradient<kRank>)
      .Doc("The real numbers of which this is the half of the Fourier transform.");
}

}  // namespace
}  // namespace thalweg

THALWEG_OP(fft) {
  Register<1>(registry);
  Register<2>(registry);
  Register<3>(registry);
}
