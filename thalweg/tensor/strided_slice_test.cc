// SPDX-License-Identifier: Apache-2.0
#include "thalweg/tensor/strided_slice.h"

#include <gtest/gtest.h>

namespace thalweg {
namespace {

Result<StridedSlice> Make(PartialShape input, Dims begin, Dims end, Dims strides,
                          StridedSliceMasks masks = {}) {
  return MakeStridedSlice(input, &begin, &end, strides, masks);
}

TEST(StridedSliceTest, PlainAndNegativePositions) {
  const StridedSlice s = *Make({5, 6}, {1, -1}, {-1, -7}, {2, -2});
  EXPECT_EQ(s.begin, (Dims{1, 5}));
  EXPECT_EQ(s.sizes, (Dims{2, 3}));
  EXPECT_EQ(s.shape, (PartialShape{2, 3}));
  EXPECT_EQ(Make({3}, {2}, {1}, {1})->sizes, (Dims{0}));
  EXPECT_EQ(Make({3}, {-100}, {100}, {1})->sizes, (Dims{3}));
}

TEST(StridedSliceTest, Masks) {
  // x[::-1, ..., newaxis, 2] of [2, 3, 4, 5]
  const StridedSlice s =
      *Make({2, 3, 4, 5}, {9, 9, 9, 2}, {9, 9, 9, 3}, {-1, 1, 1, 1},
            {.begin = 1, .end = 1, .ellipsis = 2, .new_axis = 4, .shrink_axis = 8});
  EXPECT_EQ(s.begin, (Dims{1, 0, 0, 2}));
  EXPECT_EQ(s.sizes, (Dims{2, 3, 4, 1}));
  EXPECT_EQ(s.shape, (PartialShape{2, 3, 4, 1}));
  // An ellipsis may stand for nothing; without one the rest is whole.
  EXPECT_EQ(Make({2}, {0, 0}, {1, 0}, {1, 1}, {.ellipsis = 2})->shape, (PartialShape{1}));
  EXPECT_EQ(Make({2, 3}, {0}, {1}, {1})->shape, (PartialShape{1, 3}));
  EXPECT_EQ(Make(PartialShape::OfRank(0), {0}, {0}, {1}, {.new_axis = 1})->shape,
            (PartialShape{1}));
}

TEST(StridedSliceTest, ExtremesDoNotOverflow) {
  EXPECT_EQ(Make({3}, {INT64_MIN}, {INT64_MAX}, {INT64_MAX})->sizes, (Dims{1}));
  EXPECT_EQ(Make({3}, {INT64_MAX}, {INT64_MIN}, {INT64_MIN})->sizes, (Dims{1}));
  EXPECT_EQ(Make({0}, {0}, {0}, {-1}, {.begin = 1, .end = 1})->sizes, (Dims{0}));
}

TEST(StridedSliceTest, UnknownDimensionsAndPositions) {
  EXPECT_EQ(Make({-1, 4}, {0, 1}, {2, 3}, {1, 1})->shape, (PartialShape{-1, 2}));
  EXPECT_EQ(MakeStridedSlice({5, 4}, nullptr, nullptr, {1, 1}, {.shrink_axis = 1})->shape,
            (PartialShape{-1}));
  EXPECT_EQ(MakeStridedSlice({5, 4}, nullptr, nullptr, {1, 1}, {.begin = 2, .end = 2})->shape,
            (PartialShape{-1, 4}));
  EXPECT_FALSE(MakeStridedSlice(PartialShape::OfRank(0), nullptr, nullptr, {1}, {}).ok());
  EXPECT_FALSE(
      MakeStridedSlice(PartialShape::Unknown(), nullptr, nullptr, {1}, {})->shape.known_rank());
}

TEST(StridedSliceTest, Refusals) {
  EXPECT_NE(Make({3}, {0}, {1}, {0}).status().message().find("strides[0] must be non-zero"),
            std::string_view::npos);
  EXPECT_NE(Make({3}, {3}, {4}, {1}, {.shrink_axis = 1}).status().message().find("out of bounds"),
            std::string_view::npos);
  EXPECT_FALSE(Make({3}, {INT64_MIN}, {4}, {1}, {.shrink_axis = 1}).ok());
  EXPECT_FALSE(Make({3}, {0}, {1}, {-1}, {.shrink_axis = 1}).ok());
  EXPECT_FALSE(Make({3}, {0, 0}, {1, 1}, {1, 1}).ok());
  EXPECT_FALSE(Make({3}, {0, 0}, {1, 1}, {1, 1}, {.ellipsis = 3}).ok());
  EXPECT_FALSE(Make({3}, {0, 0}, {1, 1}, {1, 1}, {.ellipsis = 1 + 8}).ok());
  EXPECT_FALSE(Make({3}, {0, 0}, {1, 1}, {1, 1}, {.ellipsis = -3}).ok());
  EXPECT_FALSE(Make({3}, {0, 0}, {1}, {1}).ok());
}

}  // namespace
}  // namespace thalweg
