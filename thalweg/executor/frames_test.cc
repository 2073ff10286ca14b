// SPDX-License-Identifier: Apache-2.0
#include "thalweg/executor/frames.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "thalweg/executor/test_program.h"
#include "thalweg/testing/sanitized.h"

namespace thalweg {
namespace {

using ::testing::HasSubstr;

TEST(FramesTest, NestedLoopsAreNestedFrames) {
  TestProgram p;
  const Value limit = p.Const(3);
  const Value start = p.Feed();
  const auto less = [&](const std::vector<Value>& v) {
    return p.Less(v[0], p.Enter(limit, "outer", true));
  };
  p.While("outer", {start}, less, [&](const std::vector<Value>& outer) {
    const auto inner_less = [&](const std::vector<Value>& v) { return p.Less(v[0], v[1]); };
    return p.While("inner", {outer[0], outer[0]}, inner_less, [](const auto& v) { return v; });
  });
  // The while of the test returns as many values as it has variables.
  p.program().nodes.resize(p.program().nodes.size());
  const Result<FrameTree> tree = AssignFrames(p.program());
  ASSERT_TRUE(tree.ok()) << tree.status().ToString();
  ASSERT_EQ(tree->frames.size(), 3u);
  EXPECT_EQ(tree->frames[1].name, "outer");
  EXPECT_EQ(tree->frames[1].enters.size(), 2u);
  EXPECT_EQ(tree->frames[2].parent, 1);
  EXPECT_EQ(tree->frames[2].exits.size(), 2u);
  EXPECT_EQ(tree->order.size(), p.program().nodes.size());
}

TEST(FramesTest, OneNameInTwoParentsIsTwoFrames) {
  TestProgram p;
  const auto never = [&](const std::vector<Value>& v) { return p.Less(v[0], v[0]); };
  p.While("loop", {p.Feed()}, never, [&](const std::vector<Value>& outer) {
    return p.While("loop", outer, never, [](const auto& v) { return v; });
  });
  const Result<FrameTree> tree = AssignFrames(p.program());
  ASSERT_TRUE(tree.ok()) << tree.status().ToString();
  ASSERT_EQ(tree->frames.size(), 3u);
  EXPECT_EQ(tree->frames[2].parent, 1);
}

TEST(FramesTest, OrderPutsSourcesFirst) {
  TestProgram p;
  Value v = p.Feed();
  for (int i = 0; i < 100; ++i) v = p.Add(v, v);
  const int end = p.NoOp({v.node, 3});
  p.NoOp({end});
  const FrameTree tree = *AssignFrames(p.program());
  std::vector<int> position(tree.order.size());
  for (size_t i = 0; i < tree.order.size(); ++i) position[tree.order[i]] = static_cast<int>(i);
  for (size_t n = 0; n < tree.order.size(); ++n) {
    for (const Value& input : p.program().nodes[n].inputs) {
      if (input.is_feed()) continue;
      EXPECT_LT(position[input.node], position[n]);
    }
    for (const int before : p.program().nodes[n].control_inputs) {
      EXPECT_LT(position[before], position[n]);
    }
  }
}

Status Refused(TestProgram& p) { return AssignFrames(p.program()).status(); }

TEST(FramesTest, RefusesACycleAndNamesIt) {
  TestProgram p;
  const Value a = p.Identity(Value::Feed(0));
  const Value b = p.Identity(a);
  p.Feed();
  p.program().nodes[a.node].inputs[0] = b;
  EXPECT_EQ(Refused(p).code(), Code::kInvalidArgument);
  EXPECT_THAT(Refused(p).ToString(),
              HasSubstr("cycle that goes through no NextIteration: Identity 'n"));
}

TEST(FramesTest, RefusesValuesOfTwoFramesInOneNode) {
  TestProgram p;
  const Value x = p.Identity(p.Feed());
  p.Add(x, p.Enter(x, "loop", true));
  EXPECT_THAT(Refused(p).ToString(), HasSubstr("'n2' has inputs from different frames"));
  EXPECT_THAT(Refused(p).ToString(), HasSubstr("frame 'loop'"));
}

TEST(FramesTest, RefusesAnExitOutsideOfALoop) {
  TestProgram p;
  p.Exit(p.Identity(p.Feed()));
  EXPECT_THAT(Refused(p).ToString(), HasSubstr("outside of any loop"));
}

TEST(FramesTest, RefusesAnExitThatFeedsAnEnterOfItsOwnFrame) {
  TestProgram p;
  const Value in = p.Enter(p.Identity(p.Feed()), "loop");
  const Value out = p.Exit(p.Identity(p.Merge({in, Value::Feed(0)})));
  p.program().nodes[2].inputs.resize(1);
  p.Enter(out, "loop");
  EXPECT_THAT(Refused(p).ToString(), HasSubstr("leads back into an Enter of the same frame"));
}

TEST(FramesTest, RefusesANextIterationThatIsReadByMoreThanMerges) {
  TestProgram p;
  const Value in = p.Enter(p.Identity(p.Feed()), "loop");
  const Value merge = p.Merge({in, Value::Feed(0)});
  const Value next = p.NextIteration(p.Identity(merge));
  p.program().nodes[merge.node].inputs[1] = next;
  EXPECT_TRUE(Refused(p).ok()) << Refused(p).ToString();
  p.Identity(next);
  EXPECT_THAT(Refused(p).ToString(), HasSubstr("which may only lead to a Merge"));
}

TEST(FramesTest, RefusesAFeedInsideALoopAndAFetchFromInside) {
  TestProgram p;
  const Value in = p.Enter(p.Identity(p.Feed()), "loop", true);
  const Value sum = p.Add(in, p.Feed());
  EXPECT_THAT(Refused(p).ToString(), HasSubstr("feed what enters the loop instead"));
  p.program().nodes[sum.node].inputs[1] = in;
  p.Fetch(sum);
  EXPECT_THAT(Refused(p).ToString(), HasSubstr("cannot fetch Add 'n2'"));
}

TEST(FramesTest, AMillionNodesInAChain) {
  constexpr int kNodes = kSanitized ? 100'000 : 1'000'000;  // a million would take a minute
  TestProgram p;
  int last = p.NoOp({});
  for (int i = 1; i < kNodes; ++i) last = p.NoOp({last});
  EXPECT_EQ(AssignFrames(p.program())->order.size(), static_cast<size_t>(kNodes));
}

TEST(FramesTest, TagsDifferByNameParentAndAreMultiplesOfTheIteration) {
  EXPECT_NE(FrameTag(0, "a"), FrameTag(0, "b"));
  EXPECT_NE(FrameTag(0, "a"), FrameTag(FrameTag(0, "a"), "a"));
  EXPECT_EQ(FrameTag(0, "a") & 0xffffffffu, 0u);
  EXPECT_NE(FrameTag(0, "a"), 0u);
}

}  // namespace
}  // namespace thalweg
