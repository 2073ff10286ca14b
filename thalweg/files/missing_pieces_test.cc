// SPDX-License-Identifier: Apache-2.0
#include "thalweg/files/missing_pieces.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace thalweg {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// As texts, in order.
std::vector<std::string> Missing(const Shape& shape, const std::vector<std::string>& slices) {
  std::vector<TensorSlice> parsed;
  for (const std::string& slice : slices) parsed.push_back(*TensorSlice::Parse(slice));
  std::vector<std::string> texts;
  const Result<std::vector<TensorSlice>> missing = MissingPieces(shape, parsed);
  for (const TensorSlice& box : *missing) texts.push_back(box.ToString());
  std::sort(texts.begin(), texts.end());
  return texts;
}

TEST(MissingPiecesTest, PartsOfAPartitionedVariable) {
  EXPECT_THAT(Missing({6, 2}, {"0,2:-", "2,2:-", "4,2:-"}), IsEmpty());
  EXPECT_THAT(Missing({6, 2}, {"0,2:-", "4,2:-"}), ElementsAre("2,2:-"));
  EXPECT_THAT(Missing({6, 2}, {}), ElementsAre("-:-"));
  EXPECT_THAT(Missing({6, 4}, {"-:0,1", "-:3,1"}), ElementsAre("-:1,2"));
}

TEST(MissingPiecesTest, AHoleAndSlicesThatOverlap) {
  EXPECT_THAT(Missing({3, 3}, {"1,1:1,1"}), ElementsAre("0,1:-", "1,1:0,1", "1,1:2,1", "2,1:-"));
  EXPECT_THAT(Missing({4}, {"0,3", "1,2"}), ElementsAre("3,1"));
  EXPECT_THAT(Missing({4, 0}, {}), IsEmpty());
}

// Each element is in one of the slices or in one of the boxes that are missing.
TEST(MissingPiecesTest, EveryElementIsHeldOrMissing) {
  const Shape shape{4, 5, 3};
  const std::vector<std::string> slices = {"0,2:1,3:-", "1,3:0,2:1,1", "3,1:4,1:2,1"};
  std::vector<int> count(60);
  const auto add = [&](const TensorSlice& slice, int value) {
    const TensorSlice box = *slice.Resolve(shape);
    for (int64_t at = 0; at < 60; ++at) {
      const int64_t index[] = {at / 15, at / 3 % 5, at % 3};
      bool inside = true;
      for (size_t i = 0; i < 3; ++i) {
        inside = inside && index[i] >= box.extents[i].start &&
                 index[i] < box.extents[i].start + box.extents[i].length;
      }
      if (inside) count[static_cast<size_t>(at)] += value;
    }
  };
  for (const std::string& slice : slices) add(*TensorSlice::Parse(slice), 100);
  for (const std::string& box : Missing(shape, slices)) add(*TensorSlice::Parse(box), 1);
  for (const int found : count) {
    EXPECT_TRUE(found == 1 || (found > 0 && found % 100 == 0)) << found;
  }
}

TEST(MissingPiecesTest, TooManyAreNone) {
  std::vector<std::string> slices;
  for (int i = 0; i < 100; ++i) slices.push_back(std::to_string(2 * i) + ",1");
  EXPECT_THAT(Missing({200}, slices), IsEmpty());
  EXPECT_FALSE(MissingPieces({2}, {*TensorSlice::Parse("1,2")}).ok());
}

}  // namespace
}  // namespace thalweg
