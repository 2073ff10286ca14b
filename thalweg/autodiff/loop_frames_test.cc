// SPDX-License-Identifier: Apache-2.0
// Which loop a node is in, under which conditions it runs, and which loops a Stack links.
#include "thalweg/autodiff/loop_frames.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "thalweg/autodiff/stack_links.h"
#include "thalweg/autodiff/test_loop.h"
#include "thalweg/testing/registries.h"

namespace thalweg {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class LoopFramesTest : public testing::Test {
 protected:
  Output Number(int32_t value) { return b_.Const(Tensor::Scalar(value)); }
  // y = body(y) while y < limit.
  Output While(std::string frame, const Output& first, const Output& limit,
               const std::function<Output(Loop&, Output)>& body) {
    Loop loop(b_, std::move(frame));
    const Output inside = loop.Invariant(limit);
    const Values last = loop.Run(
        {first},
        [&](const Values& v) {
          return b_.Op("Less", {v[0], inside});
        },
        [&](const Values& v) { return Values{body(loop, v[0])}; });
    EXPECT_TRUE(b_.ok()) << b_.status().ToString();
    return last.empty() ? Output() : last[0];
  }
  static std::vector<std::string> GatesOf(LoopFrames& frames, const Output& output) {
    std::vector<std::string> gates;
    for (const Gate& gate : frames.Gates(frames.GatesOf(output))) {
      gates.push_back(StrCat(gate.predicate, "=", gate.side));
    }
    return gates;
  }

  Graph graph_{AllRegistries().ops};
  GraphBuilder b_{&graph_};
};

TEST_F(LoopFramesTest, AGraphWithoutLoopsHasNoFrames) {
  const Output x = Number(1);
  Node* const branch = b_.OpNode("Switch", {x, b_.Const(Tensor::Scalar(true))});
  LoopFrames frames(graph_);
  EXPECT_TRUE(frames.empty());
  EXPECT_EQ(frames.Of(x.node), nullptr);
  EXPECT_EQ(frames.Of(branch), nullptr);
}

TEST_F(LoopFramesTest, ALoopIsFoundFromItsFiveOperations) {
  const Output x = Number(1), limit = Number(100);
  Output doubled;
  const Output y = While("twice", x, limit, [&](Loop&, Output v) {
    return doubled = b_.Op("AddV2", {v, v});
  });
  const Output after = b_.Op("Neg", {y});
  LoopFrames frames(graph_);
  Frame* const loop = frames.Of(doubled.node);
  ASSERT_NE(loop, nullptr);
  EXPECT_EQ(loop->name, "twice");
  EXPECT_EQ(loop->depth, 1);
  EXPECT_EQ(loop->parent, nullptr);
  EXPECT_EQ(loop->flaw, "");
  EXPECT_TRUE(loop->back_prop);
  EXPECT_EQ(loop->parallel_iterations, 10);
  ASSERT_EQ(loop->variables.size(), 1u);
  EXPECT_EQ(loop->variables[0].enter->input(0), x);
  EXPECT_EQ(loop->variables[0].next->input(0), doubled);
  EXPECT_TRUE(frames.IsVariable(loop->variables[0].merge));
  ASSERT_EQ(loop->invariants.size(), 1u);
  EXPECT_EQ(loop->invariants[0]->input(0), limit);
  EXPECT_EQ(loop->condition->op_name(), "LoopCond");
  EXPECT_THAT(loop->exits, ElementsAre(y.node));
  EXPECT_EQ(frames.LoopOfExit(y.node), loop);
  EXPECT_EQ(frames.VariableOfExit(y.node), 0);
  EXPECT_EQ(frames.LoopOfExit(after.node), nullptr);
  EXPECT_EQ(frames.Of(y.node), nullptr) << "an Exit is outside again";
  EXPECT_EQ(frames.InputsOf(y.node), loop);
  EXPECT_EQ(frames.Of(loop->variables[0].enter), loop);
  EXPECT_EQ(frames.InputsOf(loop->variables[0].enter), nullptr);
  EXPECT_EQ(frames.Of(after.node), nullptr);
}

TEST_F(LoopFramesTest, LoopsInLoopsKnowTheirParents) {
  Output innermost;
  const Output limit = Number(100);
  While("outer", Number(1), limit, [&](Loop& outer, Output v) {
    return While("inner", v, outer.Invariant(limit), [&](Loop&, Output w) {
      return innermost = b_.Op("AddV2", {w, w});
    });
  });
  LoopFrames frames(graph_);
  Frame* const inner = frames.Of(innermost.node);
  ASSERT_NE(inner, nullptr);
  ASSERT_NE(inner->parent, nullptr);
  EXPECT_EQ(inner->name, "inner");
  EXPECT_EQ(inner->depth, 2);
  EXPECT_EQ(inner->parent->name, "outer");
  EXPECT_EQ(inner->parent->parent, nullptr);
  EXPECT_TRUE(LoopFrames::Contains(inner->parent, inner));
  EXPECT_TRUE(LoopFrames::Contains(nullptr, inner));
  EXPECT_TRUE(LoopFrames::Contains(inner, inner));
  EXPECT_FALSE(LoopFrames::Contains(inner, inner->parent));
}

TEST_F(LoopFramesTest, ABranchInALoopIsAGateAndItsMergeIsNot) {
  Output taken, both, joined;
  const Output limit = Number(100);
  While("branches", Number(1), limit, [&](Loop& loop, Output v) {
    const Output odd = b_.Op("Equal", {v, loop.Invariant(Number(3))}, {}, "odd");
    Node* const outer = b_.OpNode("Switch", {v, odd});
    const Output even = b_.Op("Equal", {{outer, 1}, loop.Invariant(Number(4))}, {}, "even");
    Node* const inner = b_.OpNode("Switch", {{outer, 1}, even});
    taken = b_.Op("Neg", {{outer, 0}});
    both = b_.Op("Neg", {{inner, 1}});
    joined = b_.Op("Merge", {b_.Op("Merge", {both, {inner, 0}}), taken});
    return joined;
  });
  LoopFrames frames(graph_);
  EXPECT_THAT(GatesOf(frames, taken), ElementsAre("odd=0"));
  EXPECT_THAT(GatesOf(frames, both), ElementsAre("odd=1", "even=1")) << "outer conditions first";
  EXPECT_THAT(GatesOf(frames, joined), ElementsAre()) << "whichever branch it was";
  EXPECT_THAT(GatesOf(frames, {frames.Of(taken.node)->variables[0].merge, 0}), ElementsAre())
      << "the condition of the loop is no gate";
  EXPECT_FALSE(frames.gates_are_too_deep());
}

TEST_F(LoopFramesTest, AControlInputOfABranchIsAGateToo) {
  Output behind;
  const Output limit = Number(100);
  While("controlled", Number(1), limit, [&](Loop& loop, Output v) {
    const Output odd = b_.Op("Equal", {v, loop.Invariant(Number(3))}, {}, "odd");
    Node* const parts = b_.OpNode("Switch", {v, odd});
    const Output then = b_.Op("Neg", {{parts, 1}});
    behind = b_.WithControls({then.node}).Op("Identity", {v});
    return b_.Op("Merge", {behind, {parts, 0}});
  });
  LoopFrames frames(graph_);
  EXPECT_THAT(GatesOf(frames, behind), ElementsAre("odd=1"));
}

TEST_F(LoopFramesTest, ALoopWithoutConditionOrWithAForeignExitHasAFlaw) {
  Output inside;
  While("leaks", Number(1), Number(100), [&](Loop&, Output v) {
    return inside = b_.Op("AddV2", {v, v});
  });
  b_.Op("Exit", {inside}, {}, "leak");
  Loop endless(b_, "endless");
  const Output entered = endless.Invariant(Number(1));
  LoopFrames frames(graph_);
  EXPECT_THAT(frames.Of(inside.node)->flaw,
              HasSubstr("Exit 'leak' does not bring out a variable of the loop"));
  EXPECT_EQ(frames.Of(entered.node)->flaw, "it has no LoopCond");
}

TEST_F(LoopFramesTest, NodesMadeLaterAreWhereTheyArePlaced) {
  Output inside;
  While("later", Number(1), Number(100), [&](Loop&, Output v) {
    return inside = b_.Op("AddV2", {v, v});
  });
  LoopFrames frames(graph_);
  const Output late = b_.Op("Neg", {inside});
  EXPECT_FALSE(frames.IsPlaced(late.node));
  EXPECT_EQ(frames.Of(late.node), nullptr);
  frames.Place(late.node, frames.Of(inside.node));
  EXPECT_TRUE(frames.IsPlaced(late.node));
  EXPECT_EQ(frames.Of(late.node), frames.Of(inside.node));
  const Frame* const made = frames.NewFrame("new", frames.Of(inside.node));
  EXPECT_EQ(made->depth, 2);
}

TEST_F(LoopFramesTest, LoopsMadeLaterForAnIterationAreFoundAndTheRestIsLeft) {
  Output read, inside;
  const Output limit = Number(100);
  While("around", Number(1), limit, [&](Loop& loop, Output v) {
    read = loop.Invariant(limit);
    return inside = b_.Op("AddV2", {v, v});
  });
  LoopFrames frames(graph_);
  Frame* const around = frames.NewFrame("gradient", nullptr);
  const int first = graph_.num_nodes();
  Output deep, body;
  const Output before = b_.Op("Neg", {inside});
  const Output last = While("outer", before, read, [&](Loop& outer, Output v) {
    body = While("inner", v, outer.Invariant(inside), [&](Loop&, Output w) {
      return deep = b_.Op("AddV2", {w, w});
    });
    return b_.Op("Identity", {body});
  });
  const Output after = b_.Op("Neg", {last});
  ASSERT_TRUE(b_.ok()) << b_.status().ToString();
  frames.PlaceLoops(graph_, first, frames.Of(inside.node), around);
  frames.FindLoops(graph_);
  const Frame* const inner = frames.Of(deep.node);
  ASSERT_NE(inner, nullptr);
  EXPECT_EQ(inner->name, "inner");
  EXPECT_EQ(inner->depth, 3);
  const Frame* const outer = frames.Of(body.node);
  ASSERT_EQ(inner->parent, outer);
  EXPECT_EQ(outer->name, "outer");
  EXPECT_EQ(outer->parent, around);
  EXPECT_EQ(around->flaw, "") << "it is still being built";
  EXPECT_EQ(outer->flaw, "");
  ASSERT_EQ(outer->variables.size(), 1u);
  EXPECT_EQ(outer->variables[0].enter->input(0), before);
  EXPECT_EQ(outer->invariants.size(), 2u);
  EXPECT_THAT(outer->exits, ElementsAre(last.node));
  for (const Output& left : {before, last, after}) {
    EXPECT_FALSE(frames.IsPlaced(left.node)) << left.ToString();
  }
}

TEST_F(LoopFramesTest, AStackLinksTheLoopThatPushesToTheOneThatPops) {
  const AttrMap attrs = {{"elem_type", DType::kInt32}};
  const Output stack = b_.Op("StackV2", {Number(-1)}, attrs, "stack");
  const Output other = b_.Op("StackV2", {Number(-1)}, attrs, "other");
  const Output limit = Number(100);
  Output pushed, popped, alone;
  While("writer", Number(1), limit, [&](Loop& loop, Output v) {
    pushed = b_.Op("StackPushV2", {loop.Invariant(stack), v});
    return b_.Op("AddV2", {pushed, b_.Op("StackPushV2", {loop.Invariant(other), v})});
  });
  While("reader", Number(1), limit, [&](Loop& loop, Output v) {
    const Output handle = loop.Invariant(stack);
    popped = b_.Op("StackPopV2", {handle}, attrs);
    return b_.Op("AddV2", {b_.Op("AddV2", {v, popped}), b_.Op("StackPopV2", {handle}, attrs)});
  });
  While("alone", Number(1), limit, [&](Loop&, Output v) { return alone = b_.Op("Neg", {v}); });
  b_.Op("StackPopV2", {other}, attrs);  // outside of all loops
  ASSERT_TRUE(b_.ok()) << b_.status().ToString();
  LoopFrames frames(graph_);
  const std::vector<StackLink> links = FindStackLinks(graph_, frames);
  ASSERT_EQ(links.size(), 1u) << "each pair once";
  EXPECT_EQ(links[0].writer, frames.Of(pushed.node));
  EXPECT_EQ(links[0].reader, frames.Of(popped.node));
  EXPECT_NE(links[0].reader, frames.Of(alone.node));
}

TEST_F(LoopFramesTest, AStackWithinOneLoopLinksNothing) {
  const AttrMap attrs = {{"elem_type", DType::kInt32}};
  const Output stack = b_.Op("StackV2", {Number(-1)}, attrs, "stack");
  While("both", Number(1), Number(100), [&](Loop& loop, Output v) {
    const Output handle = loop.Invariant(stack);
    const Output kept = b_.Op("StackPushV2", {handle, v});
    return b_.Op("AddV2", {b_.Op("StackPopV2", {handle}, attrs), kept});
  });
  ASSERT_TRUE(b_.ok()) << b_.status().ToString();
  EXPECT_TRUE(FindStackLinks(graph_, LoopFrames(graph_)).empty());
}

}  // namespace
}  // namespace thalweg
