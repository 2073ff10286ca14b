// SPDX-License-Identifier: Apache-2.0
#include "thalweg/cluster/transport/grpc/frame_ids.h"

#include <gtest/gtest.h>

namespace thalweg {
namespace {

// Tags as an executor might give them: any, with room for iterations below.
constexpr uint64_t kLoop = uint64_t{7} << 32;
constexpr uint64_t kOuter = uint64_t{8} << 32;
constexpr uint64_t kInner = uint64_t{9} << 32;

// The numbers were recorded from keys of both releases' workers.
TEST(FrameIdsTest, NamesFramesAsTheReleasesDo) {
  FrameIds ids;
  ids.Open(kLoop, 0, "w/while_context");
  EXPECT_EQ(ids.Find(PeerVersion::k1_15, kLoop + 2), 11525919660353993287u);
  EXPECT_EQ(ids.Find(PeerVersion::k2_21, kLoop), 5328607504811956670u);
  EXPECT_EQ(ids.Find(PeerVersion::kThalweg, kLoop + 2), 7u);
  EXPECT_EQ(ids.TagOf(11525919660353993287u), kLoop);
  EXPECT_EQ(ids.TagOf(5328607504811956670u), kLoop);
}

TEST(FrameIdsTest, AnInnerFrameBelongsToAnIterationOfTheOuterOne) {
  FrameIds ids;
  ids.Open(kOuter, 0, "out/while_context");
  ids.Open(kInner, kOuter + 1, "out/in/while_context");
  EXPECT_EQ(ids.Find(PeerVersion::k1_15, kInner), 14165726676734493473u);
  const auto other = ids.Find(PeerVersion::k2_21, kInner);
  ids.Open(kLoop, kOuter + 2, "out/in/while_context");
  EXPECT_NE(ids.Find(PeerVersion::k2_21, kLoop), other);
  EXPECT_NE(ids.Find(PeerVersion::k1_15, kLoop), 14165726676734493473u);
}

TEST(FrameIdsTest, WhatIsNotOpenHasNoNumber) {
  FrameIds ids;
  EXPECT_EQ(ids.Find(PeerVersion::k1_15, kLoop), std::nullopt);
  EXPECT_EQ(ids.TagOf(5328607504811956670u), std::nullopt);
}

}  // namespace
}  // namespace thalweg
