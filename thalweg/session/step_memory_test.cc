// SPDX-License-Identifier: Apache-2.0
// The peak that a plan knows beforehand is the one that the allocator sees.
#include <gtest/gtest.h>

#include <random>

#include "thalweg/session/session_fixture.h"
#include "thalweg/testing/sanitized.h"

namespace thalweg {
namespace {

constexpr int64_t kElements = 1 << 16;

// What a step over random dependencies takes, planned and measured.
void Compare(uint32_t seed, int64_t elements) {
  SessionFixture f({.threads = 0});
  const Output x = f.Placeholder(PartialShape{-1});
  std::mt19937 random(seed);
  std::vector<Output> values = {x};
  const auto any = [&] {
    const size_t back = random() % std::min<size_t>(values.size(), 7);
    return values[values.size() - 1 - back];
  };
  for (int i = 0; i < 60; ++i) {
    values.push_back(random() % 3 == 0 ? f.b.Op("Neg", {any()}) : f.b.Op("Mul", {any(), any()}));
  }
  const std::vector<Output> fetches = {values.back(), values[values.size() - 2]};
  const int64_t before = f.environment->allocator()->Stats().bytes_in_use;
  RunMetadata metadata;
  const auto got =
      f.Run({{x, Filled(elements, 1.0f)}}, fetches, {}, {.memory_plan = true}, &metadata);
  ASSERT_TRUE(got.ok()) << got.status().ToString();
  const int64_t measured = f.environment->allocator()->Stats().peak_bytes_in_use - before;
  EXPECT_EQ(metadata.memory.unknown_values, 0);
  EXPECT_FALSE(metadata.memory.peak_node.empty());
  // This room's kernels never work in place, and sizes are powers of two: nothing is rounded.
  EXPECT_EQ(metadata.memory.peak_bytes, measured) << seed;
  EXPECT_GE(measured, 3 * elements * static_cast<int64_t>(sizeof(float)));
}

TEST(StepMemoryTest, ThePlannedPeakIsTheMeasuredOne) {
  constexpr uint32_t kSeeds = kSanitized ? 4 : 20;
  for (uint32_t seed = 0; seed < kSeeds; ++seed) Compare(seed, kElements << (seed % 2));
}

TEST(StepMemoryTest, ShapesThatTheOperationsRefuseAreAnError) {
  SessionFixture f({.threads = 0});
  const Output x = f.Placeholder(PartialShape()), y = f.Placeholder(PartialShape(), "y");
  RunMetadata metadata;
  const auto got = f.Run({{x, Filled(3, 1.0f)}, {y, Filled(4, 1.0f)}}, {f.b.Op("Add", {x, y})}, {},
                         {.memory_plan = true}, &metadata);
  EXPECT_EQ(got.status().code(), Code::kInvalidArgument) << got.status().ToString();
}

}  // namespace
}  // namespace thalweg
