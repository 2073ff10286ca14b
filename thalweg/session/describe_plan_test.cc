// SPDX-License-Identifier: Apache-2.0
// Session::DescribePlan: the plan as text.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "thalweg/session/session_fixture.h"

namespace thalweg {
namespace {

using ::testing::HasSubstr;

Result<std::string> Describe(SessionFixture& f, std::vector<std::string> feeds,
                             std::vector<std::string> fetches) {
  return f.session->DescribePlan(feeds, fetches, {});
}

TEST(DescribePlanTest, BeforeAfterMemoryAndProgram) {
  SessionFixture f;
  ArithmeticCalls() = 0;
  const Output x = f.Placeholder();
  const Output three = f.b.Op("Add", {f.Float(1), f.Float(2)}, {}, "three");
  f.b.Op("Mul", {f.b.Op("Neg", {x}, {}, "minus"), three}, {}, "y");
  const Result<std::string> text = Describe(f, {"x"}, {"y"});
  ASSERT_TRUE(text.ok()) << text.status().ToString();
  EXPECT_THAT(*text, HasSubstr("== Before rewriting: 6 nodes =="));
  EXPECT_THAT(*text, HasSubstr("= Add("));
  EXPECT_THAT(*text, HasSubstr("== What rewriting changed ==\n      1 ->      0  Add\n"));
  EXPECT_THAT(*text, HasSubstr("as many as before: 3 other operations\n"));
  EXPECT_THAT(*text, HasSubstr("== After rewriting: 4 nodes =="));
  EXPECT_THAT(*text, HasSubstr("block of 2: Neg 'minus', Mul 'y'"));
  EXPECT_EQ(ArithmeticCalls(), 1);  // of the folded sum: nothing else has run
}

TEST(DescribePlanTest, Loops) {
  SessionFixture f;
  const auto enter = [&](Output value, bool constant) {
    return f.b.Op("Enter", {value},
                  {{"frame_name", std::string("count")}, {"is_constant", constant}});
  };
  Node* i = f.b.OpNode("Merge", {enter(f.Placeholder(), false), Output()});
  const Output go_on =
      f.b.Op("LoopCond", {f.b.Op("Less", {{i, 0}, enter(f.Float(3), true)}, {}, "less")});
  Node* split = f.b.OpNode("Switch", {{i, 0}, go_on});
  const Output next =
      f.b.Op("NextIteration", {f.b.Op("Add", {{split, 1}, enter(f.Float(1), true)}, {}, "add")});
  ASSERT_TRUE(f.graph->SetBackEdge(i, 1, next).ok());
  f.b.Op("Exit", {{split, 0}}, {}, "out");
  const Result<std::string> text = Describe(f, {"x"}, {"out"});
  ASSERT_TRUE(text.ok()) << text.status().ToString();
  EXPECT_THAT(*text, HasSubstr("structured loop 'count'"));
  EXPECT_THAT(*text, HasSubstr("condition of 1: Less 'less'"));
  EXPECT_THAT(*text, HasSubstr("body of 1: Add 'add'"));
}

TEST(DescribePlanTest, Errors) {
  SessionFixture f;
  f.b.Op("Neg", {f.Placeholder()}, {}, "y");
  EXPECT_EQ(Describe(f, {}, {"y"}).status().code(), Code::kInvalidArgument);
  EXPECT_THAT(std::string(Describe(f, {}, {"nothing"}).status().message()), HasSubstr("nothing"));
  f.session->Close();
  EXPECT_EQ(Describe(f, {"x"}, {"y"}).status().code(), Code::kCancelled);
}

}  // namespace
}  // namespace thalweg
