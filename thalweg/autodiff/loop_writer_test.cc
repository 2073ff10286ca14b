// SPDX-License-Identifier: Apache-2.0
#include "thalweg/autodiff/loop_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "thalweg/autodiff/gradients.h"
#include "thalweg/testing/graph_session.h"

namespace thalweg {
namespace {

class LoopWriterTest : public testing::Test {
 protected:
  LoopWriterTest() : frames_(*local_.graph) {
    run_.graph = local_.graph.get();
    run_.options = &options_;
    run_.frames = &frames_;
  }
  Output Number(int32_t value) { return local_.b.Const(Tensor::Scalar(value)); }
  int32_t Value(const Output& output) {
    const Result<std::vector<Tensor>> value = local_.session->Run({}, {output.ToString()});
    EXPECT_TRUE(value.ok()) << value.status().ToString();
    return value.ok() ? (*value)[0].scalar<int32_t>() : -1;
  }

  GraphSession local_;
  GradientOptions options_;
  LoopFrames frames_;
  GradientRun run_;
};

TEST_F(LoopWriterTest, ALoopThatIsWrittenRuns) {
  const Output zero = Number(0), one = Number(1), limit = Number(5), product = Number(1);
  Frame* const frame = frames_.NewFrame("written", nullptr);
  LoopWriter w(run_, frame, local_.b.Scope("loop"));
  const int i = w.Start(zero, Shape()), p = w.Start(product, Shape());
  w.SetCondition(w.Op("Less", {w.merged(i), w.Invariant(limit)}));
  w.Finish(i, w.Op("AddV2", {w.body(i), w.Invariant(one)}));
  w.Finish(p, w.Op("Mul", {w.body(p), w.Op("AddV2", {w.body(i), w.Invariant(one)})}));
  const Output count = w.Exit(i), last = w.Exit(p);
  ASSERT_TRUE(w.status().ok()) << w.status().ToString();
  EXPECT_EQ(Value(count), 5);
  EXPECT_EQ(Value(last), 120);
}

TEST_F(LoopWriterTest, WhatIsWrittenIsTheLoopThatFramesFind) {
  Frame* const frame = frames_.NewFrame("found", nullptr);
  LoopWriter w(run_, frame, local_.b);
  const int i = w.Start(Number(0), Shape());
  w.SetCondition(w.Op("Less", {w.merged(i), w.Invariant(Number(5))}));
  const Output next = w.Op("AddV2", {w.body(i), w.body(i)});
  w.Finish(i, next);
  const Output last = w.Exit(i);
  ASSERT_TRUE(w.status().ok()) << w.status().ToString();
  EXPECT_EQ(frames_.Of(next.node), frame);
  EXPECT_EQ(frames_.Of(last.node), nullptr) << "an Exit is placed around the loop";
  const LoopFrames again(*local_.graph);
  const Frame* const found = again.Of(next.node);
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->flaw, "");
  EXPECT_EQ(found->variables.size(), 1u);
  EXPECT_EQ(again.VariableOfExit(last.node), 0);
}

TEST_F(LoopWriterTest, AValueIsBroughtInOncePerLoopHoweverOftenItIsAskedFor) {
  Frame* const frame = frames_.NewFrame("once", nullptr);
  const Output value = Number(7), other = Number(7);
  LoopWriter w(run_, frame, local_.b);
  const Output inside = w.Invariant(value);
  EXPECT_EQ(w.Invariant(value), inside);
  EXPECT_NE(w.Invariant(other), inside);
  LoopWriter second(run_, frame, local_.b);
  EXPECT_EQ(second.Invariant(value), inside) << "for all writers of the loop";
  LoopWriter elsewhere(run_, frames_.NewFrame("elsewhere", nullptr), local_.b);
  EXPECT_NE(elsewhere.Invariant(value), inside);
  EXPECT_TRUE(*inside.node->Attr<bool>("is_constant"));
  EXPECT_EQ(frames_.Of(inside.node), frame);
}

TEST_F(LoopWriterTest, AnErrorStaysInTheBuilder) {
  LoopWriter w(run_, frames_.NewFrame("bad", nullptr), local_.b.Scope("bad"));
  const Output none = w.Op("NoSuchOperation", {});
  EXPECT_EQ(none.node, nullptr);
  EXPECT_EQ(w.status().code(), Code::kNotFound);
}

}  // namespace
}  // namespace thalweg
