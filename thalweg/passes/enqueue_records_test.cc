// SPDX-License-Identifier: Apache-2.0
#include "thalweg/passes/enqueue_records.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "thalweg/passes/test_pass.h"

namespace thalweg {
namespace {

using ::testing::Contains;
using ::testing::Not;

class EnqueueRecordsTest : public PassTest {
 protected:
  EnqueueRecordsTest() {
    Define({"FIFOQueueV2", "TFRecordReaderV2", "ReaderReadV2", "DecodeRaw", "StringJoin"},
           UnknownShape);
    Define({"QueueEnqueueV2", "NoOp"}, NoOutputs);
    OpDef def;
    def.name = "_EnqueueRecords";
    def.inputs = {{.name = "handle", .type = DType::kResource},
                  {.name = "components", .type_list_attr = "Tcomponents"},
                  {.name = "reader", .type = DType::kResource}};
    def.attrs = {{.name = "Tcomponents", .kind = AttrValue::Kind::kTypeList},
                 {.name = "timeout_ms", .kind = AttrValue::Kind::kInt},
                 {.name = "read_outputs", .kind = AttrValue::Kind::kIntList}};
    def.is_stateful = true;
    EXPECT_TRUE(ops->Define(std::move(def), nullptr, nullptr).ok());
    reader = b.Op("TFRecordReaderV2", {}, {}, "reader");
    read = b.OpNode("ReaderReadV2", {reader, Queue("names")}, {}, "read");
  }
  Output Queue(std::string_view name) {
    return b.Op("FIFOQueueV2", {}, {{"component_types", std::vector<DType>{DType::kString}}}, name);
  }
  Node* Enqueue(std::vector<Output> components) {
    components.insert(components.begin(), Queue("queue"));
    return b.OpNode("QueueEnqueueV2", components, {}, "enqueue");
  }
  std::vector<std::string> Ops(std::vector<Node*> targets, std::vector<Output> fetches = {}) {
    return Made(EnqueueRecords(Step(std::move(fetches), std::move(targets))));
  }

  Output reader;
  Node* read;
};

TEST_F(EnqueueRecordsTest, TheEnqueueGetsTheReaderOfItsRecords) {
  Node* const enqueue = Enqueue({{read, 1}, {read, 0}});
  EXPECT_THAT(Ops({enqueue}), Not(Contains("QueueEnqueueV2")));
  ASSERT_EQ(result.targets.size(), 1u);
  const Node& made = *result.targets[0];
  EXPECT_EQ(made.Label(), "_EnqueueRecords 'enqueue'");
  EXPECT_EQ(made.input(made.num_inputs() - 1).node->name(), "reader");
  EXPECT_EQ(*made.FindAttr("read_outputs"), AttrValue(std::vector<int64_t>{1, 0}));
  EXPECT_EQ(*made.FindAttr("_fused_from"), AttrValue("QueueEnqueueV2 'enqueue'"));
  EXPECT_EQ(result.Origin(made)->op_name(), "QueueEnqueueV2");
}

TEST_F(EnqueueRecordsTest, WithAnythingElseInTheStepItStays) {
  const auto stays = [&](std::vector<Node*> targets, std::vector<Output> fetches = {}) {
    EXPECT_THAT(Ops(std::move(targets), std::move(fetches)), Not(Contains("_EnqueueRecords")));
  };
  Node* const plain = Enqueue({{read, 1}});
  stays({plain}, {{read, 1}});
  stays({plain, b.OpNode("NoOp", {}, {})});
  stays({b.OpNode("QueueEnqueueV2",
                  {Queue("q2"), b.Op("StringJoin", {{read, 1}, {read, 0}}, {{"N", int64_t{2}}})})});
  Node* const another = b.OpNode("ReaderReadV2", {reader, Queue("more")}, {});
  stays({b.OpNode("QueueEnqueueV2", {Queue("q3"), {read, 1}, {another, 1}}, {})});
  GraphBuilder after = b.WithControls({b.OpNode("NoOp", {}, {}, "before")});
  stays({after.OpNode("QueueEnqueueV2", {Queue("q4"), {read, 1}}, {})});
}

}  // namespace
}  // namespace thalweg
