// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "thalweg/testing/kernel_call.h"
#include "thalweg/testing/op_case.h"

namespace thalweg {
namespace {

In ProjectedSize(int32_t rows, int32_t columns) {
  return In(Tensor::Vector<int32_t>({rows, columns}));
}

// Pixel by pixel, with places that lie away from halves and whole numbers.
void ProjectiveReference(RefCall<double>& r) {
  const auto &x = r.in[0], &t = r.in[1];
  const double fill = r.in.size() > 3 ? r.in[3][0] : 0;
  const bool bilinear = r.Attr<std::string>("interpolation") == "BILINEAR";
  const bool nearest =
      r.node->FindAttr("fill_mode") != nullptr && r.Attr<std::string>("fill_mode") == "NEAREST";
  Array<double> y(Shape{x.shape.dim(0), static_cast<int64_t>(r.in[2][0]),
                        static_cast<int64_t>(r.in[2][1]), x.shape.dim(3)});
  ForEachIndex(y.shape, [&](const std::vector<int64_t>& at) {
    const int64_t which = t.shape.dim(0) == 1 ? 0 : at[0];
    const auto a = [&](int64_t i) { return t.At({which, i}); };
    const auto row = static_cast<double>(at[1]), column = static_cast<double>(at[2]);
    const double k = a(6) * column + a(7) * row + 1;
    double px = (a(0) * column + a(1) * row + a(2)) / k;
    double py = (a(3) * column + a(4) * row + a(5)) / k;
    if (nearest) {
      px = std::clamp(px, 0.0, static_cast<double>(x.shape.dim(2) - 1));
      py = std::clamp(py, 0.0, static_cast<double>(x.shape.dim(1) - 1));
    }
    const auto pixel = [&](double i, double j) {
      if (i < 0 || j < 0 || i >= static_cast<double>(x.shape.dim(1)) ||
          j >= static_cast<double>(x.shape.dim(2))) {
        return fill;
      }
      return x.At({at[0], static_cast<int64_t>(i), static_cast<int64_t>(j), at[3]});
    };
    if (!bilinear) {
      y.At(at) = pixel(std::round(py), std::round(px));
    } else {
      const double v = py - std::floor(py), u = px - std::floor(px);
      const double i = std::floor(py), j = std::floor(px);
      y.At(at) = (1 - v) * ((1 - u) * pixel(i, j) + u * pixel(i, j + 1)) +
                 v * ((1 - u) * pixel(i + 1, j) + u * pixel(i + 1, j + 1));
    }
    if (!IsFloating(r.in_type(0))) y.At(at) = std::trunc(y.At(at));
  });
  r.out = {y};
}

AttrMap Modes(const std::string& interpolation, const std::string& fill = "CONSTANT") {
  return {{"interpolation", interpolation}, {"fill_mode", fill}};
}

const In kOne = In({1, 8}, {1.09, 0.17, -0.63, -0.11, 0.87, 0.41, 0.013, 0.021});
const In kTwoImages = In({2, 8}, {1.09, 0.17, -0.63, -0.11, 0.87, 0.41, 0.013, 0.021, 0.53, -0.31,
                                  1.27, 0.23, 1.21, -0.79, -0.017, 0.011});

OpCase Cases(const std::string& op, std::vector<In> more) {
  OpCase c(op);
  c.Reference(ProjectiveReference)
      .NoGradient("it is that of the inverse map, see below")
      .Tolerance(DType::kFloat, 1e-4)
      .Tolerance(DType::kDouble, 1e-4);  // places are floats
  const auto with = [&](std::vector<In> inputs) {
    inputs.insert(inputs.end(), more.begin(), more.end());
    return inputs;
  };
  for (const char* fill : {"CONSTANT", "NEAREST"}) {
    c.Try(with({In({2, 5, 6, 2}), kTwoImages, ProjectedSize(7, 4)}), Modes("NEAREST", fill));
  }
  c.Try(with({In({2, 5, 6, 2}), kOne, ProjectedSize(3, 8)}), Modes("NEAREST"))
      .Try(with({In({0, 5, 6, 2}), kOne, ProjectedSize(3, 8)}), Modes("NEAREST"))
      .Bad(with({In({5, 6, 2}), kOne, ProjectedSize(3, 8)}), Modes("NEAREST"),
           Code::kInvalidArgument, "")
      .Bad(with({In({1, 5, 6, 2}), kTwoImages, ProjectedSize(3, 8)}), Modes("NEAREST"),
           Code::kInvalidArgument, "num_images x 8")
      .Bad(with({In({1, 5, 6, 2}), In({1, 7}), ProjectedSize(3, 8)}), Modes("NEAREST"),
           Code::kInvalidArgument, "num_images x 8")
      .Bad(with({In({1, 5, 6, 2}), kOne, ProjectedSize(0, 8)}), Modes("NEAREST"),
           Code::kInvalidArgument, "positive")
      .Bad(with({In({1, 5, 6, 2}), kOne, ProjectedSize(1, 8)}), Modes("CUBIC"),
           Code::kInvalidArgument, "CUBIC")
      .Bad(with({In({1, 5, 6, 2}), kOne, ProjectedSize(1, 8)}), Modes("NEAREST", "NONE"),
           Code::kInvalidArgument, "NONE");
  return c;
}

TEST(ProjectiveTest, Nearest) {
  Cases("ImageProjectiveTransformV2", {}).Run();
  Cases("ImageProjectiveTransformV3", {In(Tensor::Scalar(3.0f))}).Run();
}

// The first version gives images of the size that they have.
TEST(ProjectiveTest, First) {
  OpCase("ImageProjectiveTransform")
      .Reference([](RefCall<double>& r) {
        Array<double> size(Shape{2});
        size[0] = static_cast<double>(r.in[0].shape.dim(1));
        size[1] = static_cast<double>(r.in[0].shape.dim(2));
        r.in.push_back(size);
        ProjectiveReference(r);
      })
      .NoGradient("it is that of the inverse map, see below")
      .Try({In({2, 5, 6, 2}), kTwoImages}, {{"interpolation", "NEAREST"}})
      .Try({In({2, 5, 6, 2}), kOne}, {{"interpolation", "NEAREST"}})
      .Bad({In({5, 6, 2}), kOne}, {{"interpolation", "NEAREST"}}, Code::kInvalidArgument, "")
      .Bad({In({1, 5, 6, 2}), In({1, 7})}, {{"interpolation", "NEAREST"}}, Code::kInvalidArgument,
           "num_images x 8")
      .Bad({In({1, 5, 6, 2}), kOne}, {{"interpolation", "CUBIC"}}, Code::kInvalidArgument, "CUBIC")
      .Run();
}

TEST(ProjectiveTest, Bilinear) {
  for (const DType type : {DType::kFloat, DType::kDouble, DType::kHalf, DType::kBfloat16}) {
    OpCase("ImageProjectiveTransformV2")
        .Reference(ProjectiveReference)
        .Types({{"dtype", type}})
        .NoGradient("it is that of the inverse map, see below")
        .Tolerance(DType::kFloat, 1e-4)
        .Tolerance(DType::kDouble, 1e-4)
        .Try({In({2, 5, 6, 2}), kTwoImages, ProjectedSize(7, 4)}, Modes("BILINEAR"))
        .Try({In({2, 5, 6, 2}), kTwoImages, ProjectedSize(7, 4)}, Modes("BILINEAR", "NEAREST"))
        .Run();
  }
}

// A row moved by `shift`, as TensorFlow 2.21 does it.
std::vector<float> Moved(const std::string& fill, const std::string& interpolation, float shift) {
  const auto y =
      RunOp("ImageProjectiveTransformV3",
            {Tensor::Of<float>(std::vector<float>{1, 2, 3, 4}, Shape{1, 1, 4, 1}),
             Tensor::Of<float>(std::vector<float>{1, 0, shift, 0, 1, 0, 0, 0}, Shape{1, 8}),
             Tensor::Vector<int32_t>({1, 11}), Tensor::Scalar(-1.0f)},
            Modes(interpolation, fill));
  EXPECT_TRUE(y.ok()) << y.status().ToString();
  return {(*y)[0].data<float>(), (*y)[0].data<float>() + 11};
}

TEST(ProjectiveTest, RecordedBorders) {
  using Row = std::vector<float>;
  EXPECT_EQ(Moved("CONSTANT", "NEAREST", -0.5f), (Row{-1, 2, 3, 4, -1, -1, -1, -1, -1, -1, -1}));
  EXPECT_EQ(Moved("CONSTANT", "BILINEAR", -5.25f),
            (Row{-1, -1, -1, -1, -1, 0.5f, 1.75f, 2.75f, 3.75f, 0.25f, -1}));
  EXPECT_EQ(Moved("REFLECT", "NEAREST", -9.5f), (Row{2, 1, 2, 3, 4, 4, 4, 3, 2, 1, 2}));
  EXPECT_EQ(Moved("REFLECT", "BILINEAR", -5.25f),
            (Row{3.75f, 4, 3.25f, 2.25f, 1.25f, 1, 1.75f, 2.75f, 3.75f, 4, 3.25f}));
  EXPECT_EQ(Moved("REFLECT", "NEAREST", 9), (Row{2, 3, 4, 4, 3, 2, 1, 1, 2, 3, 4}));
  EXPECT_EQ(Moved("WRAP", "NEAREST", -9.5f), (Row{4, 4, 4, 4, 4, 4, 4, 3, 4, 4, 2}));
  EXPECT_EQ(Moved("WRAP", "BILINEAR", -5.25f),
            (Row{3.75f, 4, 4, 2.75f, 3.75f, 4, 1.75f, 2.75f, 3.75f, 1, 1.75f}));
  EXPECT_EQ(Moved("WRAP", "NEAREST", 0), (Row{1, 2, 3, 4, 1, 2, 1, 1, 1, 1, 1}));
  EXPECT_EQ(Moved("NEAREST", "BILINEAR", -0.5f), (Row{1, 1.5f, 2.5f, 3.5f, 4, 4, 4, 4, 4, 4, 4}));
  const Row filled(11, -1.0f);
  for (const char* fill : {"CONSTANT", "REFLECT", "WRAP", "NEAREST"}) {
    EXPECT_EQ(Moved(fill, "BILINEAR", std::nanf("")), filled) << fill;
    EXPECT_EQ(Moved(fill, "NEAREST", INFINITY), filled) << fill;
    EXPECT_EQ(Moved(fill, "BILINEAR", 1e14f).size(), 11u);
  }
}

// The nearest pixel is the pixel, to its last bit.
template <class T>
void ExpectKept(std::vector<T> pixels) {
  const Tensor image = Tensor::Of<T>(pixels, Shape{1, 1, static_cast<int64_t>(pixels.size()), 1});
  const std::vector<float> same = {1, 0, 0, 0, 1, 0, 0, 0};
  KernelCall call("ImageProjectiveTransform", {image, Tensor::Of<float>(same, Shape{1, 8})},
                  {{"interpolation", std::string("NEAREST")}});
  const Status status = call.Run();
  ASSERT_TRUE(status.ok()) << status.ToString();
  const auto kept = call.output(0).template flat<T>();
  EXPECT_TRUE(std::equal(kept.begin(), kept.end(), pixels.begin(), pixels.end()));
}

TEST(ProjectiveTest, NumbersOfPixelsAreKept) {
  ExpectKept<int32_t>({200000001, INT32_MAX, INT32_MIN});
  ExpectKept<int64_t>({(int64_t{1} << 53) + 1, INT64_MAX, INT64_MIN});
}

}  // namespace
}  // namespace thalweg
