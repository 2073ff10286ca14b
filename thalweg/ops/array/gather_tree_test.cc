// SPDX-License-Identifier: Apache-2.0
// Values and errors are those of TensorFlow 1.15.
#include "thalweg/testing/test_values.h"

namespace thalweg {
namespace {

const Shape kTree{4, 1, 3};
const Tensor kIds = Numbers<int32_t>({1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 10, 10}, kTree);
const Tensor kParents = Numbers<int32_t>({0, 0, 0, 0, 1, 1, 2, 1, 2, 1, 0, 2}, kTree);
const Tensor kEnd = Tensor::Scalar<int32_t>(10);

TEST(GatherTreeTest, FollowsTheParents) {
  const auto expect = [](int32_t length, const std::vector<int32_t>& beams) {
    ExpectOutputs("GatherTree", {kIds, kParents, Numbers<int32_t>({length}), kEnd}, {},
                  {Numbers<int32_t>(beams, kTree)});
  };
  const std::vector<int32_t> whole = {2, 2, 2, 5, 6, 6, 8, 7, 9, 10, 10, 10};
  expect(4, whole);
  expect(7, whole);
  expect(3, {2, 2, 2, 6, 5, 6, 7, 8, 9, 10, 10, 10});
  expect(2, {1, 2, 2, 4, 5, 6, 10, 10, 10, 10, 10, 10});
  expect(0, std::vector<int32_t>(12, 10));
  expect(-3, std::vector<int32_t>(12, 10));
}

TEST(GatherTreeTest, EndsWhereTheTokenIsFoundFirst) {
  const Tensor ids = Numbers<int32_t>({1, 2, 3, 4, 10, 6, 7, 8, 9, 10, 10, 10}, kTree);
  ExpectOutputs("GatherTree", {ids, kParents, Numbers<int32_t>({4}), kEnd}, {},
                {Numbers<int32_t>({2, 2, 2, 10, 6, 6, 10, 7, 9, 10, 10, 10}, kTree)});
}

TEST(GatherTreeTest, BadInput) {
  const auto refuse = [](const std::vector<Tensor>& inputs, std::string_view words) {
    ExpectError("GatherTree", inputs, {}, Code::kInvalidArgument, words);
  };
  const Tensor length = Numbers<int32_t>({4});
  for (const int32_t bad : {-1, 3}) {
    const Tensor parents = Numbers<int32_t>({0, 0, 0, 0, 1, 1, 2, bad, 2, 1, 0, 2}, kTree);
    refuse({kIds, parents, length, kEnd},
           StrCat("Saw invalid parent id ", bad, " at (batch, time, beam) == (0, 1, 0)"));
  }
  const Tensor flat = *kIds.Reshaped(Shape{4, 3});
  refuse({flat, flat, length, kEnd}, "Shape must be rank 3 but is rank 2");
  refuse({kIds, *kParents.Reshaped(Shape{4, 3, 1}), length, kEnd},
         "Shapes are [4,1,3] and [4,3,1].");
  refuse({kIds, kParents, Numbers<int32_t>({4, 4}), kEnd},
         "Dimensions must be equal, but are 1 and 2");
  refuse({kIds, kParents, Tensor::Scalar<int32_t>(4), kEnd}, "Shape must be rank 1 but is rank 0");
  refuse({kIds, kParents, length, length}, "Shape must be rank 0 but is rank 1");
}

}  // namespace
}  // namespace thalweg
