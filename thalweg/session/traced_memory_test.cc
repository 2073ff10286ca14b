// SPDX-License-Identifier: Apache-2.0
// What a traced step tells of memory.
#include "thalweg/session/traced_memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "thalweg/proto/messages.h"
#include "thalweg/proto/wire.h"
#include "thalweg/session/run_metadata_message.h"
#include "thalweg/session/session_fixture.h"
#include "thalweg/testing/fake_clock.h"

namespace thalweg {
namespace {

namespace Exec = pb::NodeExecStats;
namespace Used = pb::AllocatorMemoryUsed;
constexpr int64_t kTracedElements = 1 << 16, kTracedBytes = 4 * kTracedElements;

// The statistics of a node.
const Message* StatsOf(const Message& metadata, std::string_view name) {
  for (const Message* device :
       metadata.GetMessage(pb::RunMetadata::kStepStats).Messages(pb::StepStats::kDevStats)) {
    for (const Message* node : device->Messages(pb::DeviceStepStats::kNodeStats)) {
      if (node->GetString(Exec::kNodeName) == name) return node;
    }
  }
  ADD_FAILURE() << "no node " << name;
  return nullptr;
}

std::vector<int64_t> ChangesOf(const Message& node) {
  std::vector<int64_t> changes;
  for (const Message* used : node.Messages(Exec::kMemory)) {
    for (const Message* record : used->Messages(Used::kAllocationRecords)) {
      changes.push_back(record->GetInt(pb::AllocationRecord::kAllocBytes));
    }
  }
  return changes;
}

struct TracedStep {
  explicit TracedStep(int threads) : f({.threads = threads}) {}
  void Run(const std::vector<std::pair<Output, Tensor>>& feeds,
           const std::vector<Output>& fetches) {
    RunMetadata metadata;
    auto got = f.Run(feeds, fetches, {}, {.trace = TraceLevel::kFull}, &metadata);
    ASSERT_TRUE(got.ok()) << got.status().ToString();
    fetched = *std::move(got);
    Result<std::string> bytes = RunMetadataMessage(std::move(metadata));
    ASSERT_TRUE(bytes.ok());
    Result<OwnedMessage> parsed = ParseMessage(pb::RunMetadata::Descriptor(), *std::move(bytes));
    ASSERT_TRUE(parsed.ok()) << parsed.status().ToString();
    told = *std::move(parsed);
  }
  SessionFixture f;
  std::vector<Tensor> fetched;
  OwnedMessage told{pb::RunMetadata::Descriptor()};
};

TEST(TracedMemoryTest, WhatCameWhatWentAndWhatIsPutOut) {
  for (const int threads : {0, 2}) {
    TracedStep step(threads);
    const Output x = step.f.Placeholder(PartialShape{-1});
    const Output y = step.f.b.Op("Mul", {x, x}, {}, "y");
    const Output z = step.f.b.Op("Neg", {y}, {}, "z");
    step.Run({{x, Filled(kTracedElements, 2.0f)}}, {z});
    const Message* const gone = StatsOf(*step.told, "y");
    const Message* const kept = StatsOf(*step.told, "z");
    ASSERT_TRUE(gone != nullptr && kept != nullptr);
    EXPECT_THAT(ChangesOf(*gone), ::testing::ElementsAre(kTracedBytes, -kTracedBytes));
    EXPECT_THAT(ChangesOf(*kept), ::testing::ElementsAre(kTracedBytes));
    const Message& used = *kept->Messages(Exec::kMemory)[0];
    EXPECT_EQ(used.GetString(Used::kAllocatorName), "cpu");
    EXPECT_EQ(used.GetInt(Used::kTotalBytes), kTracedBytes);
    EXPECT_EQ(used.GetInt(Used::kPeakBytes), kTracedBytes);
    EXPECT_EQ(used.GetInt(Used::kLiveBytes), kTracedBytes);
    EXPECT_GE(used.GetInt(Used::kAllocatorBytesInUse), 2 * kTracedBytes);
    const Message& output = *kept->Messages(Exec::kOutput)[0];
    const Message& tensor = output.GetMessage(pb::NodeOutput::kTensorDescription);
    EXPECT_EQ(tensor.GetInt(pb::TensorDescription::kDtype), 1);
    const Message& shape = tensor.GetMessage(pb::TensorDescription::kShape);
    ASSERT_EQ(shape.Size(pb::TensorShapeProto::kDim), 1u);
    EXPECT_EQ(
        shape.Messages(pb::TensorShapeProto::kDim)[0]->GetInt(pb::TensorShapeProto::Dim::kSize),
        kTracedElements);
    const Message& buffer = tensor.GetMessage(pb::TensorDescription::kAllocationDescription);
    EXPECT_EQ(buffer.GetInt(pb::AllocationDescription::kRequestedBytes), kTracedBytes);
    EXPECT_EQ(buffer.GetInt(pb::AllocationDescription::kAllocatedBytes), kTracedBytes);
    EXPECT_EQ(buffer.GetUint(pb::AllocationDescription::kPtr),
              reinterpret_cast<uint64_t>(step.fetched[0].raw_data()));
  }
}

TEST(TracedMemoryTest, WhatAVariableKeepsIsItsNodes) {
  TracedStep step(0);
  const Output v = step.f.b.Op(
      "VariableV2", {}, {{"dtype", DType::kFloat}, {"shape", PartialShape{kTracedElements}}}, "v");
  const Output x = step.f.Placeholder(PartialShape{-1});
  const Output assign = step.f.b.Op("Assign", {v, x});
  step.Run({{x, Filled(kTracedElements, 2.0f)}}, {assign});
  const Output read = step.f.b.Op("Identity", {v}, {}, "read");
  step.Run({}, {read});
  const Message* const node = StatsOf(*step.told, "v");
  ASSERT_NE(node, nullptr);
  EXPECT_EQ(node->GetMessage(Exec::kMemoryStats).GetInt(pb::MemoryStats::kPersistentMemorySize),
            kTracedBytes);
  EXPECT_TRUE(ChangesOf(*node).empty());
  // Who hands the reference on keeps nothing.
  step.Run({{x, Filled(kTracedElements, 3.0f)}}, {step.f.b.Op("Assign", {v, x}, {}, "again")});
  const Message* const again = StatsOf(*step.told, "again");
  ASSERT_NE(again, nullptr);
  EXPECT_EQ(again->GetMessage(Exec::kMemoryStats).GetInt(pb::MemoryStats::kPersistentMemorySize),
            0);
}

// Values outlive the step that traced them, its session and its environment.
TEST(TracedMemoryTest, ValuesOutliveTheTrace) {
  std::vector<Tensor> kept;
  {
    TracedStep step(2);
    const Output x = step.f.Placeholder(PartialShape{-1});
    step.Run({{x, Filled(kTracedElements, 2.0f)}}, {step.f.b.Op("Mul", {x, x})});
    kept = step.fetched;
    const Result<std::vector<Tensor>> again =
        step.f.Run({{x, kept[0]}}, {step.f.b.Op("Neg", {x}, {}, "n")});
    ASSERT_TRUE(again.ok());
    EXPECT_EQ((*again)[0].data<float>()[0], -4.0f);
  }
  EXPECT_EQ(kept[0].data<float>()[kTracedElements - 1], 4.0f);
}

// A step without an executor: what nodes allocate, put out and are told as, for one device each
// memory.
struct HandMadeStep {
  explicit HandMadeStep(std::vector<Allocator*> allocators) : contexts(allocators.size()) {
    for (size_t i = 0; i < allocators.size(); ++i) {
      contexts[i].allocator = allocators[i];
      lent.push_back(&contexts[i]);
    }
    memory = std::make_unique<TracedMemory>(Executor::Step{.contexts = lent}, ticks, INT64_MAX);
  }
  int64_t Now() {
    clock.Advance(std::chrono::microseconds(1));
    return std::chrono::nanoseconds(clock.Now().time_since_epoch()).count();
  }
  // Node 0 runs again, and puts out a block of each memory that comes back behind its end.
  void Call() {
    NodeRecord& record = records.emplace_back();
    record.start_nanos = Now();
    std::vector<void*> blocks;
    for (StepContext& context : contexts) {
      const TracedNode node(0);
      blocks.push_back(context.allocator->Allocate(kTracedBytes));
      values.push_back(
          {.dtype = DType::kFloat, .shape = Shape{kTracedElements}, .block = blocks.back()});
    }
    record.values = static_cast<uint32_t>(blocks.size());
    record.end_nanos = Now();
    Now();
    for (size_t i = 0; i < blocks.size(); ++i)
      contexts[i].allocator->Deallocate(blocks[i], kTracedBytes);
  }
  // Record by record.
  OwnedMessage Told(size_t record) {
    std::string fields;
    memory->AppendFields(records[record], {}, &fields);
    Result<OwnedMessage> told = ParseMessage(Exec::Descriptor(), std::move(fields));
    EXPECT_TRUE(told.ok()) << told.status().ToString();
    return *std::move(told);
  }
  FakeClock clock;
  TickClock ticks{clock};
  std::vector<StepContext> contexts;
  std::vector<StepContext*> lent;
  std::vector<NodeRecord> records;
  std::vector<ValueRecord> values;
  std::unique_ptr<TracedMemory> memory;
};

// Two devices of one type call their memories alike.
TEST(TracedMemoryTest, ABlockIsOfOneMemoryWhateverTheyAreCalled) {
  const AllocatorPtr first = MakeCpuAllocator(), second = MakeCpuAllocator();
  HandMadeStep step({first.get(), second.get()});
  step.Call();
  step.memory->Finish(step.records, step.values);
  const OwnedMessage told = step.Told(0);
  ASSERT_EQ(told->Size(Exec::kMemory), 2u);
  for (const Message* const used : told->Messages(Exec::kMemory)) {
    EXPECT_EQ(used->GetString(Used::kAllocatorName), "cpu");
    EXPECT_EQ(used->GetInt(Used::kTotalBytes), kTracedBytes);
  }
  EXPECT_THAT(ChangesOf(*told),
              ::testing::ElementsAre(kTracedBytes, -kTracedBytes, kTracedBytes, -kTracedBytes));
}

// One place, given and given back, which nobody writes to.
class OnePlace final : public Allocator {
 public:
  void* Allocate(size_t /*bytes*/) override { return &place_; }
  void Deallocate(void* /*block*/, size_t /*bytes*/) override {}
  AllocatorStats Stats() const override { return {}; }
  void Trim() override {}

 private:
  char place_ = 0;
};

TEST(TracedMemoryTest, ALoopIsGivenTheSameAddressAgainAndAgain) {
  constexpr size_t kIterations = 200'000;
  OnePlace place;
  HandMadeStep step({&place});
  for (size_t i = 0; i < kIterations; ++i) step.Call();
  step.memory->Finish(step.records, step.values);
  for (size_t i = 0; i < kIterations; i += kIterations / 8) {
    const OwnedMessage told = step.Told(i);
    EXPECT_THAT(ChangesOf(*told), ::testing::ElementsAre(kTracedBytes, -kTracedBytes)) << i;
    const Message& tensor =
        told->Messages(Exec::kOutput)[0]->GetMessage(pb::NodeOutput::kTensorDescription);
    EXPECT_EQ(tensor.GetMessage(pb::TensorDescription::kAllocationDescription)
                  .GetInt(pb::AllocationDescription::kAllocatedBytes),
              kTracedBytes);
  }
}

}  // namespace
}  // namespace thalweg
