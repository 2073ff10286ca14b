// SPDX-License-Identifier: Apache-2.0
#include "thalweg/trace/execution_memories.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace thalweg {
namespace {

TEST(ExecutionMemories, EachKeepsItsOwnAndShapesAreThereOnce) {
  ExecutionMemories memories;
  EXPECT_TRUE(memories.empty());
  for (uint32_t device = 0; device < 3; ++device) {
    ExecutionMemory memory;
    memory.device = device;
    memory.end = device + 5;
    for (uint32_t i = 0; i <= device; ++i) memory.changes.push_back({device, 10 * i});
    memory.values = {{.address = device, .bytes = 8, .allocated = 64, .dtype = 1, .shape = {2, 3}},
                     {.address = 9, .allocated = 4, .dtype = 3, .shape = {device}}};
    memory.outputs = 1;
    memories.Add(memory);
  }
  memories.EraseNodesIf([](const ExecutionMemories::Node& node) { return node.device == 1; });
  ASSERT_EQ(memories.nodes().size(), 2u);
  const ExecutionMemories::Node& last = memories.nodes()[1];
  EXPECT_EQ(last.device, 2u);
  EXPECT_EQ(last.end, 7);
  EXPECT_EQ(last.outputs, 1u);
  ASSERT_EQ(memories.ChangesOf(last).size(), 3u);
  EXPECT_EQ(memories.ChangesOf(last)[2].bytes, 20);
  const auto values = memories.ValuesOf(last);
  ASSERT_EQ(values.size(), 2u);
  EXPECT_EQ(values[0].address, 2u);
  EXPECT_EQ(values[0].allocated, 64);
  EXPECT_EQ(values[0].shape, memories.ValuesOf(memories.nodes()[0])[0].shape);
  EXPECT_THAT(memories.Shape(values[0].shape), testing::ElementsAre(2, 3));
  EXPECT_THAT(memories.Shape(values[1].shape), testing::ElementsAre(2));
}

}  // namespace
}  // namespace thalweg
