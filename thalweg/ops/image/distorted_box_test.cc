// SPDX-License-Identifier: Apache-2.0
// Boxes as TensorFlow 2.21 draws them.
#include <cmath>

#include "thalweg/graph/graph_builder.h"
#include "thalweg/testing/graph_runner.h"
#include "thalweg/testing/test_machine.h"
#include "thalweg/testing/test_values.h"

namespace thalweg {
namespace {

struct Box {
  int64_t top, left, rows, columns;
};
const std::vector<float> kTwo = {.1f, .2f, .5f, .9f, .3f, .3f, .6f, .6f};

AttrMap Attrs(int64_t seed, int64_t seed2, std::vector<float> aspects = {.75f, 1.33f},
              std::vector<float> areas = {.05f, 1}, int64_t attempts = 100, bool or_whole = false) {
  return {{"seed", seed},
          {"seed2", seed2},
          {"aspect_ratio_range", std::move(aspects)},
          {"area_range", std::move(areas)},
          {"max_attempts", attempts},
          {"use_image_if_no_bounding_boxes", or_whole}};
}

Tensor Boxes(const std::vector<float>& shares) {
  return Numbers<float>(shares, Shape{1, static_cast<int64_t>(shares.size()) / 4, 4});
}

// The boxes of the first steps.
template <class T>
void Expect(int64_t rows, int64_t columns, const std::vector<float>& shares, float covered,
            const AttrMap& attrs, const std::vector<Box>& expected) {
  Graph graph(AllRegistries().ops);
  GraphBuilder b(&graph);
  const Tensor image = Numbers<T>({static_cast<T>(rows), static_cast<T>(columns), T(3)});
  Node* const node =
      b.OpNode("SampleDistortedBoundingBoxV2",
               {b.Const(image), b.Const(Boxes(shares)), b.Const(Tensor::Scalar(covered))}, attrs);
  ASSERT_TRUE(b.ok()) << b.status().ToString();
  TestMachine machine(compute::BestIsaLevel(), false);
  GraphRunner runner(*AllRegistries().kernels, machine);
  for (const Box& box : expected) {
    const auto out = runner.Run({}, {{node, 0}, {node, 1}, {node, 2}});
    ASSERT_TRUE(out.ok()) << out.status().ToString();
    const T begin[] = {static_cast<T>(box.top), static_cast<T>(box.left), T(0)};
    const T size[] = {static_cast<T>(box.rows), static_cast<T>(box.columns), static_cast<T>(-1)};
    EXPECT_EQ(BitDifference((*out)[0], Tensor::Of<T>(begin, Shape{3})), "");
    EXPECT_EQ(BitDifference((*out)[1], Tensor::Of<T>(size, Shape{3})), "");
    const auto height = static_cast<float>(rows), width = static_cast<float>(columns);
    const float share[] = {static_cast<float>(box.top) / height,
                           static_cast<float>(box.left) / width,
                           static_cast<float>(box.top + box.rows) / height,
                           static_cast<float>(box.left + box.columns) / width};
    EXPECT_EQ(BitDifference((*out)[2], Tensor::Of<float>(share, Shape{1, 1, 4})), "");
  }
}

TEST(DistortedBoxTest, RecordedBoxes) {
  Expect<int32_t>(100, 80, kTwo, .5f, Attrs(1, 2),
                  {{5, 5, 57, 56}, {17, 5, 74, 73}, {22, 29, 35, 36}, {30, 20, 29, 38}});
  Expect<uint8_t>(100, 80, kTwo, .5f, Attrs(1, 2), {{5, 5, 57, 56}, {17, 5, 74, 73}});
  Expect<int64_t>(37, 53, kTwo, .9f, Attrs(7, 0),
                  {{2, 4, 33, 39}, {0, 3, 37, 31}, {11, 16, 20, 25}, {1, 3, 34, 40}});
  Expect<int16_t>(100, 80, kTwo, .1f, Attrs(5, 9, {.5f, 2}, {.5f, .9f}),
                  {{14, 7, 85, 69}, {34, 1, 61, 70}, {21, 5, 67, 65}, {11, 0, 59, 76}});
  Expect<int32_t>(60, 70, {0, 0, 1, 1}, .3f, Attrs(11, 12), {{0, 0, 50, 64}, {7, 4, 51, 53}});
  const AttrMap whole = Attrs(3, 4, {.75f, 1.33f}, {.05f, 1}, 100, true);
  Expect<int32_t>(100, 80, {}, .5f, whole, {{11, 4, 58, 75}, {0, 3, 91, 73}, {42, 3, 57, 75}});
}

TEST(DistortedBoxTest, TheWholeImageWhenNoneFits) {
  const Box whole{0, 0, 100, 80};
  Expect<int32_t>(100, 80, {0, 0, 1, 1}, 1, Attrs(1, 2, {.75f, 1.33f}, {.05f, 1}, 1), {whole});
  Expect<int32_t>(100, 80, kTwo, 2, Attrs(1, 2), {whole});
  Expect<int32_t>(100, 80, {.5f, .2f, .1f, .9f}, .5f, Attrs(1, 2), {whole});
  Expect<int32_t>(100, 80, kTwo, .5f, Attrs(1, 2, {.75f, 1.33f}, {.5f, .4f}), {whole});
}

template <class T, class S>
void ExpectStateless(std::vector<S> seed, int64_t rows, int64_t columns,
                     const std::vector<float>& shares, float covered, const Box& box) {
  const auto out = RunOp("StatelessSampleDistortedBoundingBox",
                         {Numbers<T>({static_cast<T>(rows), static_cast<T>(columns), T(3)}),
                          Boxes(shares), Tensor::Scalar(covered), Numbers<S>(seed)},
                         {{"use_image_if_no_bounding_boxes", shares.empty()}});
  ASSERT_TRUE(out.ok()) << out.status().ToString();
  EXPECT_EQ(BitDifference((*out)[0],
                          Numbers<T>({static_cast<T>(box.top), static_cast<T>(box.left), T(0)})),
            "");
  EXPECT_EQ(BitDifference((*out)[1], Numbers<T>({static_cast<T>(box.rows),
                                                 static_cast<T>(box.columns), static_cast<T>(-1)})),
            "");
}

TEST(DistortedBoxTest, StatelessRecordedBoxes) {
  ExpectStateless<int32_t, int64_t>({1, 2}, 100, 80, kTwo, .5f, {12, 3, 58, 72});
  ExpectStateless<int32_t, int32_t>({1, 2}, 100, 80, kTwo, .1f, {12, 3, 58, 72});
  ExpectStateless<uint8_t, int64_t>({7, 0}, 100, 80, kTwo, .5f, {21, 12, 51, 60});
  ExpectStateless<int64_t, int64_t>({0, 0}, 37, 53, {}, .1f, {1, 16, 34, 33});
  ExpectStateless<int16_t, int64_t>({-5, 9}, 100, 80, kTwo, .5f, {35, 2, 63, 75});
  ExpectStateless<int32_t, int64_t>({int64_t{1} << 40, 3}, 100, 80, kTwo, .1f, {42, 11, 25, 30});
}

TEST(DistortedBoxTest, Errors) {
  for (const Tensor& seed : {Numbers<int64_t>({1, 2, 3}), Numbers<int64_t>({1, 2}, Shape{1, 2})}) {
    ExpectError("StatelessSampleDistortedBoundingBox",
                {Numbers<int32_t>({100, 80, 3}), Boxes(kTwo), Tensor::Scalar(.5f), seed}, {},
                Code::kInvalidArgument, "");
  }
  const Tensor size = Numbers<int32_t>({100, 80, 3}), half = Tensor::Scalar(.5f);
  const auto bad = [&](const Tensor& s, const Tensor& boxes, const Tensor& covered,
                       const AttrMap& attrs, std::string_view words) {
    ExpectError("SampleDistortedBoundingBoxV2", {s, boxes, covered}, attrs, Code::kInvalidArgument,
                words);
  };
  const Tensor boxes = Boxes(kTwo);
  bad(size, Boxes({}), half, Attrs(1, 2), "No bounding boxes");
  bad(Numbers<int32_t>({100, 80}), boxes, half, Attrs(1, 2), "3");
  bad(Numbers<int32_t>({-5, 80, 3}), boxes, half, Attrs(1, 2), "height");
  bad(Numbers<int64_t>({100, int64_t{1} << 33, 3}), boxes, half, Attrs(1, 2), "width");
  bad(size, Boxes({.1f, .2f, 1.5f, .9f}), half, Attrs(1, 2), "[0.0, 1.0]");
  bad(size, Boxes({std::nanf(""), .2f, .5f, .9f}), half, Attrs(1, 2), "[0.0, 1.0]");
  bad(size, Numbers<float>(kTwo), half, Attrs(1, 2), "");
  bad(size, boxes, Tensor::Scalar(-1.0f), Attrs(1, 2), "non-negative");
  bad(size, boxes, Tensor::Scalar(std::nanf("")), Attrs(1, 2), "non-negative");
  bad(size, boxes, Numbers<float>({.5f}), Attrs(1, 2), "");
  bad(size, boxes, half, Attrs(1, 2, {.5f}), "two elements");
  bad(size, boxes, half, Attrs(1, 2, {0, .5f}), "positive");
  bad(size, boxes, half, Attrs(1, 2, {1, 2}, {-1, .4f}), "positive");
  bad(size, boxes, half, Attrs(1, 2, {1, 2}, {.1f, 1.4f}), "above 1");
  bad(size, boxes, half, Attrs(1, 2, {1, 2}, {.1f, 1}, 0), "max_attempts");
  ExpectError("SampleDistortedBoundingBox", {size, boxes}, {{"min_object_covered", -1.0f}},
              Code::kInvalidArgument, "non-negative");
}

}  // namespace
}  // namespace thalweg
