// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>

#include "thalweg/testing/op_case.h"

namespace thalweg {
namespace {

constexpr double kTable[10][4] = {
    {1, 1, 0, 1},     {0, 0, 1, 1},   {1, 0, 0, 1},   {0, 1, 0, 1}, {0.5, 0, 0.5, 1},
    {0.5, 0.5, 0, 1}, {0.5, 0, 0, 1}, {0, 0, 0.5, 1}, {0, 1, 1, 1}, {1, 0, 1, 1}};

// Pixel by pixel: it is of a frame when it is inside and one of its coordinates is a side's.
void Reference(RefCall<double>& r) {
  const auto& boxes = r.in[1];
  Array<double> y = r.in[0];
  const bool given = r.in.size() > 2 && r.in[2].shape.dim(0) > 0;
  for (int64_t b = 0; b < boxes.shape.dim(1); ++b) {
    ForEachIndex(y.shape, [&](const std::vector<int64_t>& at) {
      const double* box = &boxes.values[static_cast<size_t>((at[0] * boxes.shape.dim(1) + b) * 4)];
      const auto side = [&](int i) {
        return std::trunc(box[i] * static_cast<double>(y.shape.dim(i % 2 + 1) - 1));
      };
      const auto row = static_cast<double>(at[1]), column = static_cast<double>(at[2]);
      if (!(side(0) <= row && row <= side(2) && side(1) <= column && column <= side(3))) return;
      if (row != side(0) && row != side(2) && column != side(1) && column != side(3)) return;
      const double gray_or = y.shape.dim(3) == 1 ? 1 : kTable[b % 10][at[3]];
      y.At(at) = given ? r.in[2].At({b % r.in[2].shape.dim(0), at[3]}) : gray_or;
    });
  }
  r.out = {y};
}

// Sides away from the edges between pixels, in and outside.
const In kDrawnBoxes =
    In({2, 3, 4}, {0.21,  0.23, 0.83, 0.71, -0.4, 0.3, 1.6, 0.9, 0.3, 0.31, 0.93, 1.5,
                   -0.55, -0.4, 0.57, 0.53, 0.9,  0.1, 0.2, 0.4, 1.3, 0.2,  1.7,  0.5});

TEST(DrawBoxesTest, TableOfColors) {
  OpCase("DrawBoundingBoxes")
      .Reference(Reference)
      .NoGradient("there is none")
      .Try({In({2, 7, 9, 4}), kDrawnBoxes})
      .Try({In({2, 7, 9, 3}), kDrawnBoxes})
      .Try({In({2, 5, 6, 1}), kDrawnBoxes})
      .Try({In({1, 1, 1, 3}), In({1, 1, 4}, {0, 0, 1, 1})})
      .Bad({In({7, 9, 4}), kDrawnBoxes}, {}, Code::kInvalidArgument, "")
      .Bad({In({2, 7, 9, 2}), kDrawnBoxes}, {}, Code::kInvalidArgument, "Channel depth")
      .Bad({In({1, 7, 9, 3}), kDrawnBoxes}, {}, Code::kInvalidArgument, "")
      .Bad({In({1, 7, 9, 3}), In({1, 2, 3})}, {}, Code::kInvalidArgument, "")
      .Run();
}

TEST(DrawBoxesTest, GivenColors) {
  OpCase("DrawBoundingBoxesV2")
      .Reference(Reference)
      .NoGradient("there is none")
      .Try({In({2, 7, 9, 3}), kDrawnBoxes, In({2, 4})})
      .Try({In({2, 7, 9, 4}), kDrawnBoxes, In({1, 4})})
      .Try({In({2, 7, 9, 4}), kDrawnBoxes, In({0, 4})})
      .Bad({In({2, 7, 9, 4}), kDrawnBoxes, In({1, 3})}, {}, Code::kInvalidArgument, "channels")
      .Bad({In({2, 7, 9, 4}), kDrawnBoxes, In({4})}, {}, Code::kInvalidArgument, "")
      .Bad({In({}), kDrawnBoxes, In({1, 4})}, {}, Code::kInvalidArgument,
           "Shape must be at least rank 3 but is rank 0 for ", "")
      .Run();
}

TEST(DrawBoxesTest, ElevenBoxesAndNoNumbers) {
  // The eleventh box has the first color again; a side that is no number is not drawn.
  std::vector<float> boxes;
  for (int i = 0; i < 11; ++i) {
    const float share = (static_cast<float>(i) + 0.1f) / 10;
    boxes.insert(boxes.end(), {share, 0, share, 1});
  }
  boxes.insert(boxes.end(), {std::nanf(""), 0.2f, 0.3f, 0.2f});
  const auto y =
      RunOp("DrawBoundingBoxes", {Tensor::Of<float>(std::vector<float>(33), Shape{1, 11, 1, 3}),
                                  Tensor::Of<float>(boxes, Shape{1, 12, 4})});
  ASSERT_TRUE(y.ok()) << y.status().ToString();
  const float* pixels = (*y)[0].data<float>();
  EXPECT_EQ(pixels[30], 1);
  EXPECT_EQ(pixels[31], 1);
  EXPECT_EQ(pixels[32], 0);
}

}  // namespace
}  // namespace thalweg
