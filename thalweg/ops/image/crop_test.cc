// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>

#include "thalweg/testing/op_case.h"

namespace thalweg {
namespace {

// Where pixel i of `count` lies between the ends of a box, among `size`.
double Place(double from, double to, int64_t i, int64_t count, int64_t size) {
  const double part = count > 1 ? static_cast<double>(i) / static_cast<double>(count - 1) : 0.5;
  return (from + (to - from) * part) * static_cast<double>(size - 1);
}

// f(crop pixel, image pixel, weight) for all that crops are made of; outside(crop pixel).
template <class F, class G>
void ForTaps(const Array<double>& boxes, const Array<double>& index, const Shape& image,
             const Shape& crops, bool nearest, F f, G outside) {
  ForEachIndex(
      Shape{crops.dim(0), crops.dim(1), crops.dim(2)}, [&](const std::vector<int64_t>& at) {
        const int64_t to = (at[0] * crops.dim(1) + at[1]) * crops.dim(2) + at[2];
        const double* b = &boxes.values[static_cast<size_t>(4 * at[0])];
        const double row = Place(b[0], b[2], at[1], crops.dim(1), image.dim(1));
        const double column = Place(b[1], b[3], at[2], crops.dim(2), image.dim(2));
        if (!(row >= 0 && row <= static_cast<double>(image.dim(1) - 1) && column >= 0 &&
              column <= static_cast<double>(image.dim(2) - 1))) {
          outside(to);
          return;
        }
        const auto from = [&](double r, double c) {
          return (static_cast<int64_t>(index[at[0]]) * image.dim(1) + static_cast<int64_t>(r)) *
                     image.dim(2) +
                 static_cast<int64_t>(c);
        };
        if (nearest) return f(to, from(std::round(row), std::round(column)), 1.0);
        const double v = row - std::floor(row), u = column - std::floor(column);
        f(to, from(std::floor(row), std::floor(column)), (1 - v) * (1 - u));
        f(to, from(std::floor(row), std::ceil(column)), (1 - v) * u);
        f(to, from(std::ceil(row), std::floor(column)), v * (1 - u));
        f(to, from(std::ceil(row), std::ceil(column)), v * u);
      });
}

void CropReference(RefCall<double>& r) {
  const auto& x = r.in[0];
  const int64_t channels = x.shape.dim(3);
  Array<double> y(Shape{r.in[1].shape.dim(0), static_cast<int64_t>(r.in[3][0]),
                        static_cast<int64_t>(r.in[3][1]), channels});
  const auto each = [&](int64_t to, auto value) {
    for (int64_t c = 0; c < channels; ++c) y[to * channels + c] += value(c);
  };
  ForTaps(
      r.in[1], r.in[2], x.shape, y.shape, r.Attr<std::string>("method") == "nearest",
      [&](int64_t to, int64_t from, double weight) {
        each(to, [&](int64_t c) { return weight * x[from * channels + c]; });
      },
      [&](int64_t to) {
        each(to,
             [&](int64_t) { return static_cast<double>(r.Attr<float>("extrapolation_value")); });
      });
  r.out = {y};
}

const In kBoxes = In(
    {3, 4}, {0.113, 0.153, 0.817, 0.723, 0.913, 0.057, 0.217, 1.313, -0.213, 0.307, 0.553, 0.617});
const In kImages = In({3}, {1, 0, 1});
In Size(int32_t rows, int32_t columns) { return In(Tensor::Vector<int32_t>({rows, columns})); }

AttrMap Method(const std::string& method, float outside = 0) {
  return {{"method", method}, {"extrapolation_value", outside}};
}

TEST(CropTest, Crops) {
  OpCase("CropAndResize")
      .Reference(CropReference)
      .Tolerance(DType::kFloat, 1e-5)
      .GradInputs({0})
      .GradStep(1e-2, 2e-3)
      .Try({In({2, 6, 7, 3}), kBoxes, kImages, Size(4, 5)}, Method("bilinear", 0.5f))
      .Try({In({2, 6, 7, 2}), kBoxes, kImages, Size(1, 3)}, Method("bilinear"))
      .Try({In({2, 6, 7, 3}), In({0, 4}), In({0}), Size(4, 5)}, Method("bilinear"))
      .Bad({In({6, 7, 3}), kBoxes, kImages, Size(4, 5)}, Method("bilinear"), Code::kInvalidArgument,
           "Shape must be rank 4 but is rank 3", "input image must be 4-D[6,7,3]")
      .Bad({In({2, 6, 7, 3}), In({4}), kImages, Size(4, 5)}, Method("bilinear"),
           Code::kInvalidArgument, "Shape must be rank 2 but is rank 1",
           "boxes must be 2-D, got: [4]")
      .Bad({In({2, 6, 7, 3}), In({3, 3}), kImages, Size(4, 5)}, Method("bilinear"),
           Code::kInvalidArgument, "Dimension must be 4 but is 3", "boxes must have 4 columns")
      .Bad({In({2, 6, 7, 3}), In({1, 4}), In({2}, {0, 0}), Size(4, 5)}, Method("bilinear"),
           Code::kInvalidArgument, "Dimensions must be equal, but are 1 and 2",
           "box_index has incompatible shape")
      .Bad({In({2, 6, 7, 3}), In({1, 4}), In({1}, {2}), Size(4, 5)}, Method("bilinear"),
           Code::kOutOfRange, "box_index has values outside [0, batch_size)")
      .Bad({In({2, 6, 7, 3}), kBoxes, kImages, In({1}, {4})}, Method("bilinear"),
           Code::kInvalidArgument, "Dimension must be 2 but is 1",
           "crop_size must have two elements[1]")
      .Bad({In({2, 0, 7, 3}), kBoxes, kImages, Size(4, 5)}, Method("bilinear"),
           Code::kInvalidArgument, "image dimensions must be positive")
      .Bad({In({2, 6, 7, 3}), kBoxes, In({}, {0}), Size(4, 5)}, Method("bilinear"),
           Code::kInvalidArgument, "Shape must be rank 1 but is rank 0 for ",
           "box_indices must be rank 1 but is shape []")
      .Bad({In({2, 6, 7, 3}), kBoxes, kImages, Size(0, 5)}, Method("bilinear"),
           Code::kInvalidArgument, "crop dimensions must be positive")
      .Run();
  OpCase("CropAndResize")
      .Reference(CropReference)
      .NoGradient("places of nearest pixels do not move")
      .Try({In({2, 6, 7, 3}), kBoxes, kImages, Size(4, 5)}, Method("nearest", -1.5f))
      .Run();
  const auto refused =
      RunOp("CropAndResize", {Tensor::Of<float>(std::vector<float>{1, 2, 3, 4}, Shape{1, 2, 2, 1}),
                              Tensor::Of<float>(std::vector<float>{0, 0, 1, 1}, Shape{1, 4}),
                              Tensor::Vector<int32_t>({1}), Tensor::Vector<int32_t>({2, 2})});
  EXPECT_EQ(refused.status().code(), Code::kOutOfRange);
}

TEST(CropTest, GradientOfImages) {
  const In size = In(Tensor::Vector<int32_t>({2, 6, 7, 2}));
  OpCase("CropAndResizeGradImage")
      .Reference([](RefCall<double>& r) {
        Array<double> dx(Shape{2, 6, 7, 2});
        ForTaps(
            r.in[1], r.in[2], dx.shape, r.in[0].shape, r.Attr<std::string>("method") == "nearest",
            [&](int64_t to, int64_t from, double weight) {
              for (int64_t c = 0; c < 2; ++c) dx[from * 2 + c] += weight * r.in[0][to * 2 + c];
            },
            [](int64_t) {});
        r.out = {dx};
      })
      .Tolerance(DType::kDouble, 1e-5)  // places are floats
      .Tolerance(DType::kFloat, 1e-5)
      .NoGradient("there is none")
      .Try({In({3, 4, 5, 2}), kBoxes, kImages, size}, {{"method", "bilinear"}})
      .Try({In({3, 4, 5, 2}), kBoxes, kImages, size}, {{"method", "nearest"}})
      .Bad({In({2, 4, 5, 2}), kBoxes, kImages, size}, {}, Code::kInvalidArgument, "")
      .Bad({In({3, 4, 5, 2}), kBoxes, kImages, In({3}, {2, 6, 7})}, {}, Code::kInvalidArgument,
           "Shape must be rank 4 but is rank 3 for ", "")
      .Bad({In({3, 4, 5, 3}), kBoxes, kImages, size}, {}, Code::kInvalidArgument, "")
      .Run();
}

TEST(CropTest, GradientOfBoxes) {
  OpCase("CropAndResizeGradBoxes")
      .Reference([](RefCall<double>& r) {
        // By differences of the crops.
        const auto& grads = r.in[0];
        const auto& image = r.in[1];
        Array<double> d(r.in[2].shape);
        const int64_t channels = image.shape.dim(3);
        for (int64_t k = 0; k < d.size(); ++k) {
          for (const double side : {1.0, -1.0}) {
            Array<double> boxes = r.in[2];
            boxes[k] += side * 1e-6;
            ForTaps(
                boxes, r.in[3], image.shape, grads.shape, false,
                [&](int64_t to, int64_t from, double weight) {
                  for (int64_t c = 0; c < channels; ++c) {
                    d[k] += side / 2e-6 * weight * image[from * channels + c] *
                            grads[to * channels + c];
                  }
                },
                [](int64_t) {});
          }
        }
        r.out = {d};
      })
      .Tolerance(DType::kFloat, 1e-3)
      .NoGradient("there is none")
      .Try({In({3, 4, 5, 2}), In({2, 6, 7, 2}), kBoxes, kImages})
      .Bad({In({2, 4, 5, 2}), In({2, 6, 7, 2}), kBoxes, kImages}, {}, Code::kInvalidArgument, "")
      .Bad({In({3, 4, 5, 2}), In({6, 7, 2}), kBoxes, kImages}, {}, Code::kInvalidArgument, "")
      .Run();
}

}  // namespace
}  // namespace thalweg
