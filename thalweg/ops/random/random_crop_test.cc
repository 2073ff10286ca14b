// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <numeric>

#include "thalweg/graph/graph_builder.h"
#include "thalweg/ops/random/test_recorded.h"
#include "thalweg/testing/graph_runner.h"
#include "thalweg/testing/op_case.h"

namespace thalweg {
namespace {

// Pixels that are alike: whichever are taken.
TEST(RandomCropTest, Cases) {
  const std::vector<double> threes(4 * 5 * 2, 3);
  const auto size = [](double rows, double columns) { return In({2}, {rows, columns}); };
  OpCase("RandomCrop")
      .Trivial("alike pixels are what makes the output known")
      .Reference([](RefCall<double>& r) {
        r.out = {Array<double>(Shape{static_cast<int64_t>(r.in[1][0]),
                                     static_cast<int64_t>(r.in[1][1]), r.in[0].shape.dim(2)})};
        for (double& value : r.out[0].values) value = 3;
      })
      .Try({In({4, 5, 2}, threes), size(2, 3)}, {{"seed", 3}})
      .Try({In({4, 5, 2}, threes), size(4, 5)})
      .Try({In({4, 5, 2}, threes), size(4, 1)})
      .Try({In({4, 5, 2}, threes), size(0, 3)})
      .Try({In({2, 2, 0}), size(1, 1)})
      .Bad({In({4, 5, 2}), size(5, 5)}, {}, Code::kFailedPrecondition, "target_height = 5")
      .Bad({In({4, 5, 2}), size(4, 6)}, {}, Code::kFailedPrecondition, "target_width = 6")
      .Bad({In({4, 5, 2}), size(-1, 5)}, {}, Code::kInvalidArgument, "negative")
      .Bad({In({4, 5, 2}), In({3}, {1, 1, 1})}, {}, Code::kInvalidArgument,
           "Dimension 0 in both shapes must be equal, but are 3 and 2. Shapes are [3] and [2].", "")
      .Bad({In({4, 5}), size(1, 1)}, {}, Code::kInvalidArgument, "")
      .Run();
}

// The first pixels of steps of TensorFlow 2.21, each row * columns + column.
TEST(RandomCropTest, RecordedBits) {
  struct Row {
    int64_t rows, columns, height, width, seed, seed2;
    std::vector<int32_t> first;
  };
  const Row rows[] = {
      {5, 4, 2, 2, 3, 5, {8, 14, 4, 10}},
      {5, 4, 2, 2, 0, 7, {6, 4, 14, 4}},
      {5, 4, 2, 2, 1, 0, {1, 10, 4, 0}},
      {5, 4, 5, 2, 3, 5, {0, 2, 0, 2}},
      {5, 4, 2, 4, 3, 5, {12, 0, 8, 12}},
      {1000, 1001, 2, 2, 3, 5, {64915, 410462, 511665, 422573, 851833, 900996}},
  };
  for (const Row& row : rows) {
    std::vector<int32_t> pixels(static_cast<size_t>(row.rows * row.columns));
    std::iota(pixels.begin(), pixels.end(), 0);
    Graph graph(AllRegistries().ops);
    GraphBuilder b(&graph);
    const Output image = b.Const(Tensor::Of<int32_t>(pixels, Shape{row.rows, row.columns, 1}));
    const Output size = b.Const(VectorOf<int64_t>({row.height, row.width}));
    const Output piece =
        b.Op("RandomCrop", {image, size}, {{"seed", row.seed}, {"seed2", row.seed2}});
    ASSERT_TRUE(b.ok()) << b.status().ToString();
    TestMachine machine(compute::BestIsaLevel(), false);
    GraphRunner runner(*AllRegistries().kernels, machine);
    for (int32_t first : row.first) {
      const auto out = runner.Run({}, {piece});
      ASSERT_TRUE(out.ok()) << out.status().ToString();
      EXPECT_EQ(*(*out)[0].data<int32_t>(), first) << row.seed << ", " << row.seed2;
    }
  }
}

}  // namespace
}  // namespace thalweg
