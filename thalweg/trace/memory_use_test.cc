// SPDX-License-Identifier: Apache-2.0
// What holds the memory of a step, from hand-made traces and from those of both releases.
#include "thalweg/trace/memory_use.h"

#include <gmock/gmock.h>

#include "thalweg/trace/memory_curve.h"
#include "thalweg/trace/memory_json.h"
#include "thalweg/trace/test_memory_step.h"

namespace thalweg {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::vector<std::string> Names(const Trace& trace, const std::vector<const MemoryBlock*>& blocks) {
  std::vector<std::string> names;
  for (const MemoryBlock* const block : blocks) names.push_back(trace.texts[block->name]);
  return names;
}

// y is read by the gradients, z is not; w is scratch of z's kernel; v outlives the step.
TestMemoryStep Training() {
  TestMemoryStep step;
  step.Node("v", "VariableV2", 0, 1).Persistent(1000).Output(1000, 0, 70);
  step.Node("y", "MatMul", 10, 20).Came(11, 400).Went(50, 400).Output(400, 400, 71);
  step.Node("z", "Mul", 20, 30).Came(21, 200).Came(22, 300).Went(28, 300).Went(35, 200);
  step.Output(200, 200, 72);
  step.Node("gradients/y_grad", "Mul", 40, 50).Came(41, 100).Output(100, 100, 73);
  step.Graph("y", "MatMul", {"v"}, "train.py", 41);
  step.Graph("z", "Mul", {"y"}, "train.py", 42);
  step.Graph("gradients/y_grad", "Mul", {"y", "z"}, "", 0);
  return step;
}

TEST(MemoryUseTest, EachTypeOfElementsHasItsNameAndSize) {
  EXPECT_EQ(ElementTypeName(1), "float32");
  EXPECT_EQ(ElementTypeName(101), "float32") << "of a reference";
  EXPECT_EQ(ElementTypeName(25), "float8_e4m3fn");
  EXPECT_EQ(ElementBytes(9), 8);
  EXPECT_EQ(ElementBytes(25), 1);
  EXPECT_EQ(ElementBytes(7), 0) << "texts";
  for (const int none : {-1, 0, 33, 100, 133, 999}) {
    EXPECT_EQ(ElementTypeName(none), "") << none;
    EXPECT_EQ(ElementBytes(none), 0) << none;
  }
}

TEST(MemoryUseTest, ThePeakAndWhoHoldsIt) {
  const auto trace = Training().Finished();
  const std::vector<MemoryUse> uses = MemoryOfStep(*trace, 0);
  ASSERT_EQ(uses.size(), 1u);
  const MemoryUse& use = uses[0];
  EXPECT_EQ(use.block_bytes, 900);
  EXPECT_EQ(use.peak_bytes, 1900);
  EXPECT_EQ(use.peak_at, 22'000);
  EXPECT_EQ(use.unexplained_bytes, 0);
  EXPECT_FALSE(use.inferred);
  const std::vector<const MemoryBlock*> holders = HoldersAtPeak(use);
  EXPECT_THAT(Names(*trace, holders), ElementsAre("v", "y", "z", "z"));
  EXPECT_EQ(holders[0]->kind, HeldKind::kVariable);
  EXPECT_EQ(holders[1]->kind, HeldKind::kActivation);
  EXPECT_EQ(holders[1]->end, 50'000);
  EXPECT_THAT(trace->memory.Shape(holders[1]->shape), ElementsAre(100));
  EXPECT_EQ(holders[2]->kind, HeldKind::kScratch);
  EXPECT_EQ(holders[2]->bytes, 300);
  EXPECT_EQ(holders[3]->kind, HeldKind::kActivation);  // z is read by the gradients, too
  EXPECT_EQ(use.blocks.back().kind, HeldKind::kGradient);
  EXPECT_TRUE(use.blocks.back().stays);
  EXPECT_EQ(use.curve.back().second, 100);
}

TEST(MemoryUseTest, WhatTheAllocatorCountsAndNobodyTellsIsSaid) {
  TestMemoryStep step = Training();
  step.Node("last", "Neg", 51, 52).Came(51, 10).Went(52, 10).InUse(5000);
  const auto trace = step.Finished();
  const MemoryUse use = MemoryOfStep(*trace, 0).at(0);
  EXPECT_TRUE(use.knows_allocator);
  EXPECT_EQ(use.peak_bytes, 5000);
  EXPECT_EQ(use.unexplained_bytes, 5000 - 1900);
}

TEST(MemoryUseTest, AValueThatIsWrittenOverLiesInItsFirstBlock) {
  TestMemoryStep step;
  step.Node("x", "Add", 0, 10).Came(1, 64).Went(30, 64).Output(64, 64, 80);
  step.Node("relu", "Relu", 10, 20).Output(64, 64, 80);
  step.Node("again", "Add", 31, 40).Came(32, 64).Output(64, 64, 80);  // the address is free again
  const auto trace = step.Finished();
  const MemoryUse use = MemoryOfStep(*trace, 0).at(0);
  ASSERT_EQ(use.blocks.size(), 2u);
  EXPECT_EQ(use.block_bytes, 64);
  EXPECT_EQ(trace->texts[use.blocks[0].name], "x");
  EXPECT_EQ(trace->texts[use.blocks[0].last], "relu");
  EXPECT_EQ(trace->texts[use.blocks[1].last], "again");
}

TEST(MemoryUseTest, ALoopWritesToTheSameAddressAgainAndAgain) {
  constexpr int kIterations = 5'000;
  TestMemoryStep step;
  for (int i = 0; i < kIterations; ++i) {
    const std::string name = "x" + std::to_string(i);
    step.Node(name, "Add", 100 * i, 100 * i + 10).Came(100 * i + 1, 64).Went(100 * i + 50, 64);
    step.Output(64, 64, 80).Node("of_" + name, "Relu", 100 * i + 20, 100 * i + 30);
    step.Output(64, 64, 80);
  }
  const auto trace = step.Finished();
  const MemoryUse use = MemoryOfStep(*trace, 0).at(0);
  ASSERT_EQ(use.blocks.size(), static_cast<size_t>(kIterations));
  EXPECT_EQ(use.block_bytes, 64);
  for (const MemoryBlock& block : use.blocks) {
    ASSERT_EQ(trace->texts[block.last], "of_" + trace->texts[block.name]);
  }
}

TEST(MemoryUseTest, WithoutRecordsAValueLivesUntilItsLastReaderEnds) {
  TestMemoryStep step;
  step.Node("x", "Add", 0, 10).Output(64, 64, 80);
  step.Node("y", "Add", 10, 20).Output(64, 64, 81);
  step.Node("z", "Add", 30, 40).Output(32, 32, 82);
  step.Graph("y", "Add", {"x"}, "", 0);
  step.Graph("z", "Add", {"y"}, "", 0);
  const auto trace = step.Finished();
  const MemoryUse use = MemoryOfStep(*trace, 0).at(0);
  EXPECT_TRUE(use.inferred);
  EXPECT_EQ(use.block_bytes, 128);
  EXPECT_THAT(Names(*trace, HoldersAtPeak(use)), ElementsAre("x", "y"));
}

TEST(MemoryUseTest, AQueueThatGrowsIsNamed) {
  auto trace = std::make_unique<Trace>();
  StepStatsReader reader(trace.get(), true);
  for (int number = 0; number < 3; ++number) {
    TestMemoryStep step(1000 * number);
    step.Node("q", "FIFOQueueV2", 0, 1).Persistent(100 + 50 * number);
    step.Node("t", "HashTableV2", 1, 2).Persistent(70);
    step.Node("v", "VariableV2", 2, 3).Persistent(number == 1 ? 300 : 200);
    ASSERT_TRUE(reader.Add("step.pb", step.Bytes()).ok());
  }
  ASSERT_TRUE(FinishTrace(trace.get()).ok());
  const MemoryOfTrace memory = MemoryOf(*trace, -1);
  const std::vector<MemoryGrowth>& grown = memory.growth;
  ASSERT_EQ(grown.size(), 1u);
  EXPECT_EQ(trace->texts[grown[0].name], "q");
  EXPECT_EQ(grown[0].first, 100);
  EXPECT_EQ(grown[0].last, 200);
  EXPECT_EQ(grown[0].steps, 3u);
  EXPECT_EQ(memory.step, 1u);
  EXPECT_EQ(memory.uses.at(0).peak_bytes, 150 + 70 + 300);
  const MemoryOfTrace first = MemoryOf(*trace, 0);
  EXPECT_EQ(first.step, 0u);
  EXPECT_EQ(first.uses.at(0).peak_bytes, 100 + 70 + 200);
  EXPECT_EQ(first.growth.size(), 1u);
}

TEST(MemoryUseTest, AsJson) {
  const auto trace = Training().Finished();
  const Result<std::string> json = MemoryJson(*trace, 0);
  ASSERT_TRUE(json.ok()) << json.status().ToString();
  EXPECT_THAT(*json, HasSubstr("\"line\": \"train.py:41 in build\""));
  EXPECT_THAT(*json, HasSubstr("\"activations\": 600"));
  TestMemoryStep none;
  none.Node("x", "Add", 0, 10);
  const Result<std::string> refused = MemoryJson(*none.Finished(), 0);
  EXPECT_EQ(refused.status().code(), Code::kInvalidArgument);
  EXPECT_THAT(refused.status().message(), HasSubstr("FULL_TRACE"));
}

// No byte of a file may do harm.
TEST(MemoryUseTest, NoDamagedByteHarms) {
  const std::string whole = Training().Bytes();
  size_t read = 0;
  for (size_t i = 0; i < whole.size(); ++i) {
    for (const int change : {1, 64, 128, 255}) {
      std::string damaged = whole;
      damaged[i] = static_cast<char>(damaged[i] ^ change);
      auto trace = std::make_unique<Trace>();
      if (!StepStatsReader(trace.get(), true).Add("step.pb", damaged).ok()) continue;
      if (!FinishTrace(trace.get()).ok()) continue;
      ++read;
      for (uint32_t step = 0; step < trace->steps.size(); ++step) (void)MemoryJson(*trace, step);
      EXPECT_THAT(MemoryOf(*trace, -1).growth, IsEmpty());
    }
  }
  EXPECT_GT(read, 2 * whole.size());
}

TEST(MemoryUseTest, TheCurveOfKindsReachesThePeak) {
  const auto trace = Training().Finished();
  const MemoryUse use = MemoryOfStep(*trace, 0).at(0);
  const std::vector<MemoryPoint> curve = MemoryCurve(use, 1000);
  const auto held = [](const MemoryPoint& point, HeldKind kind) {
    return point.bytes[static_cast<size_t>(kind)];
  };
  ASSERT_EQ(curve.size(), 8u);
  EXPECT_EQ(curve[0].at, 0);
  EXPECT_EQ(held(curve[0], HeldKind::kVariable), 1000);
  EXPECT_EQ(curve[3].at, use.peak_at);
  EXPECT_EQ(held(curve[3], HeldKind::kActivation), 600);
  EXPECT_EQ(held(curve[3], HeldKind::kScratch), 300);
  EXPECT_EQ(held(curve[7], HeldKind::kActivation), 0);
  EXPECT_EQ(held(curve[7], HeldKind::kGradient), 100);
  // Of few points each shows the highest of its own.
  const std::vector<MemoryPoint> merged = MemoryCurve(use, 2);
  ASSERT_EQ(merged.size(), 2u);
  EXPECT_EQ(merged[0].at, 0);
  EXPECT_EQ(held(merged[0], HeldKind::kScratch), 300);
  EXPECT_EQ(merged[1].at, 28'000);
  EXPECT_EQ(held(merged[1], HeldKind::kActivation), 600);
}

TEST(MemoryUseTest, TheLargestHoldersOfEachMoment) {
  TestMemoryStep step;
  step.Node("small", "Op", 0, 1).Came(1, 4).Output(4, 4, 60);
  for (int i = 0; i < 10; ++i) {
    step.Node("n" + std::to_string(i), "Op", 10 + i, 11 + i);
    step.Came(11 + i, 400 + 4 * i).Went(50, 400 + 4 * i);
    step.Output(400 + 4 * i, 400 + 4 * i, 100 + static_cast<uint64_t>(i));
  }
  const auto trace = step.Node("end", "Op", 60, 70).Finished();
  const MemoryUse use = MemoryOfStep(*trace, 0).at(0);
  // Ten more are larger at the peak, but it is one of the largest before.
  EXPECT_THAT(Names(*trace, LargestHolders(use, 100)),
              ElementsAre("small", "n0", "n1", "n2", "n3", "n4", "n5", "n6", "n7", "n8", "n9"));
  EXPECT_THAT(Names(*trace, LargestHolders(use, 2)), ElementsAre("n8", "n9"));
}

}  // namespace
}  // namespace thalweg
