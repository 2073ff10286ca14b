// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <numbers>

#include "thalweg/testing/test_values.h"

namespace thalweg {
namespace {

using Complex = std::complex<double>;

// The sum over dimension `axis`, by the definition.
Array<Complex> Along(const Array<Complex>& x, int axis, bool inverse) {
  Array<Complex> y(x.shape);
  const int64_t n = x.shape.dim(axis);
  const double sign = inverse ? 2 : -2;
  ForEachIndex(x.shape, [&](const std::vector<int64_t>& at) {
    std::vector<int64_t> from = at;
    Complex sum;
    for (int64_t j = 0; j < n; ++j) {
      from[static_cast<size_t>(axis)] = j;
      const int64_t turns = j * at[static_cast<size_t>(axis)] % n;
      sum += x.At(from) * std::polar(1.0, sign * std::numbers::pi * static_cast<double>(turns) /
                                              static_cast<double>(n));
    }
    y.At(at) = inverse ? sum / static_cast<double>(n) : sum;
  });
  return y;
}

Array<Complex> Transformed(Array<Complex> x, int rank, bool inverse) {
  for (int i = 0; i < rank; ++i) x = Along(x, x.shape.rank() - rank + i, inverse);
  return x;
}

void ExpectComplex(const std::string& op, int rank, std::vector<std::vector<In>> tries) {
  OpCase c(op);
  c.Reference([=](RefCall<Complex>& r) { r.out = {Transformed(r.in[0], rank, op[0] == 'I')}; });
  for (auto& inputs : tries) c.Try(inputs);
  c.NoGradient("complex inputs: compared with differences below").Run();
}

TEST(FftTest, OneDimension) {
  ExpectComplex("FFT", 1,
                {{In({3, 8})},
                 {In({1})},
                 {In({2, 30})},
                 {In({2, 7, 5})},
                 {In({67})},
                 {In({2, 134})},
                 {In({0, 4})},
                 {In({2, 0})},
                 {In({49})},
                 {In({96})}});
  ExpectComplex("IFFT", 1, {{In({3, 8})}, {In({2, 15})}, {In({67})}, {In({1, 1})}});
  ExpectError("FFT", {Tensor::Scalar(std::complex<float>(1))}, {}, Code::kInvalidArgument, "rank");
}

TEST(FftTest, MoreDimensions) {
  ExpectComplex("FFT2D", 2, {{In({2, 3, 4})}, {In({6, 5})}, {In({1, 7})}});
  ExpectComplex("IFFT2D", 2, {{In({2, 3, 4})}});
  ExpectComplex("FFT3D", 3, {{In({2, 3, 4})}, {In({2, 2, 3, 5})}});
  ExpectComplex("IFFT3D", 3, {{In({2, 3, 4})}});
}

Array<Complex> ComplexOf(const Tensor& tensor) { return ToArray<Complex>(tensor); }

// The real transforms against the complex ones, and back.
template <class Real>
void ExpectReal(const std::string& suffix, const Shape& shape, std::vector<int32_t> length) {
  const int rank = static_cast<int>(length.size());
  const DType real = kDTypeOf<Real>, complex = kDTypeOf<std::complex<Real>>;
  In in({});
  in.shape = shape;
  const auto allocator = MakeCpuAllocator();
  const Tensor x = *MakeInput(in, real, 7, *allocator);
  const AttrMap types = {{"Treal", real}, {"Tcomplex", complex}};
  const auto got = RunOp("RFFT" + suffix, {x, Numbers(length)}, types);
  ASSERT_TRUE(got.ok()) << got.status().ToString();
  // Cut to the length.
  Array<Complex> whole = ComplexOf(x);
  Dims dims = shape.dims();
  for (int i = 0; i < rank; ++i) dims[dims.size() - rank + i] = length[static_cast<size_t>(i)];
  Array<Complex> cut{Shape(dims)};
  ForEachIndex(cut.shape, [&](const std::vector<int64_t>& at) { cut.At(at) = whole.At(at); });
  const Array<Complex> spectrum = Transformed(cut, rank, false);
  dims[dims.size() - 1] = length.back() / 2 + 1;
  Array<Complex> half{Shape(dims)};
  ForEachIndex(half.shape, [&](const std::vector<int64_t>& at) { half.At(at) = spectrum.At(at); });
  const double tolerance = sizeof(Real) == 4 ? 1e-5 : 1e-12;
  EXPECT_EQ(Difference((*got)[0], half, tolerance), "");
  const auto back = RunOp("IRFFT" + suffix, {(*got)[0], Numbers(length)}, types);
  ASSERT_TRUE(back.ok()) << back.status().ToString();
  Array<double> real_cut{cut.shape};
  for (int64_t i = 0; i < cut.size(); ++i) real_cut[i] = cut[i].real();
  EXPECT_EQ(Difference((*back)[0], real_cut, tolerance), "");
}

TEST(FftTest, OfRealNumbers) {
  ExpectReal<float>("", Shape{3, 8}, {8});
  ExpectReal<double>("", Shape{3, 8}, {5});
  ExpectReal<double>("", Shape{2, 71}, {71});
  ExpectReal<double>("", Shape{1}, {1});
  ExpectReal<float>("2D", Shape{2, 4, 6}, {4, 6});
  ExpectReal<double>("2D", Shape{5, 7}, {3, 7});
  ExpectReal<double>("3D", Shape{2, 3, 4, 5}, {3, 4, 5});
}

// As TensorFlow 2.21 does: what cannot be of real numbers is taken as if it were.
TEST(FftTest, RealPartOfTheMean) {
  ExpectOutputs("IRFFT", {Numbers<std::complex<float>>({{4, 9}, {0, 8}}), Numbers<int32_t>({2})},
                {}, {Numbers<float>({2, 2})});
}

TEST(FftTest, Refusals) {
  const Tensor x = Numbers<float>({1, 2, 3});
  const auto refuse = [&](const Tensor& length, std::string_view why) {
    ExpectError("RFFT", {x, length}, {}, Code::kInvalidArgument, why);
  };
  refuse(Numbers<int32_t>({4}), "at least 4 but got: 3");
  refuse(Numbers<int32_t>({-1}), "");
  refuse(Numbers<int32_t>({1, 2}), "");
  refuse(Tensor::Scalar(3), "");
  ExpectError("IRFFT", {Numbers<std::complex<float>>({1, 2}), Numbers<int32_t>({4})}, {},
              Code::kInvalidArgument, "at least 3 but got: 2");
}

}  // namespace
}  // namespace thalweg
