// SPDX-License-Identifier: Apache-2.0
#include "thalweg/executor/node_error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "thalweg/kernel/described_device.h"
#include "thalweg/kernel/losable.h"

namespace thalweg {
namespace {

using ::testing::HasSubstr;

class Card : public DescribedDevice, public Losable {
 public:
  Card() : DescribedDevice(*DeviceName::Parse("/job:a/replica:0/task:0/device:GPU:0"), 1, 0) {}
  Status lost() const override { return why; }
  Status why;
};

TEST(NodeErrorTest, ADeviceThatIsLostIsNoWantOfMemory) {
  Card card;
  StepContext context;
  context.device = &card;
  ProgramNode node;
  node.name = "product";
  node.op = "MatMul";
  const Status none = AllocationError(card.allocator(), 64), wrong = InvalidArgument("no matrix");
  EXPECT_EQ(NodeError(none, node, context, {}).code(), Code::kResourceExhausted);
  card.why = LostDevice(card.full_name(), "pulled out");
  const Status lost = NodeError(none, node, context, {});
  EXPECT_EQ(lost.code(), Code::kUnavailable);
  EXPECT_THAT(lost.message(), HasSubstr("device:GPU:0 is lost: pulled out"));
  EXPECT_THAT(lost.message(), HasSubstr("'product'"));
  EXPECT_EQ(NodeError(wrong, node, context, {}).code(), Code::kInvalidArgument);
}

}  // namespace
}  // namespace thalweg
