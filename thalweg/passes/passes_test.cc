// SPDX-License-Identifier: Apache-2.0
// Prune, FoldConstants, MergeCommonSubexpressions: what goes, what stays.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "thalweg/graph/graph_builder.h"
#include "thalweg/graph/graph_text.h"
#include "thalweg/graph/shape_inference.h"
#include "thalweg/passes/cse.h"
#include "thalweg/passes/fold_constants.h"
#include "thalweg/passes/prune.h"

namespace thalweg {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

std::vector<std::string> Names(const Graph& graph) {
  std::vector<std::string> names;
  for (const Node* node : graph.Nodes()) names.push_back(node->name());
  return names;
}

// Ids are a topological order, back edges excepted.
void ExpectSorted(const StepGraph& step) {
  for (const Node* node : step.graph->Nodes()) {
    for (const Output& input : node->inputs()) {
      if (input.node->control() == Node::Control::kNextIteration &&
          node->control() == Node::Control::kMerge) {
        continue;
      }
      EXPECT_LT(input.node->id(), node->id()) << node->Label();
      EXPECT_EQ(&input.node->graph(), step.graph.get());
    }
    for (const Node* before : node->control_inputs()) EXPECT_LT(before->id(), node->id());
  }
  EXPECT_EQ(step.origins.size(), static_cast<size_t>(step.graph->num_nodes()));
}

// Adds and negates floats; counts.
class TestEvaluator : public Evaluator {
 public:
  Result<std::vector<Tensor>> Evaluate(const Node& node, std::span<const Tensor> inputs,
                                       WorkBudget*) override {
    ++calls;
    if (node.op_name() == "Add") {
      return std::vector<Tensor>{
          Tensor::Scalar(inputs[0].scalar<float>() + inputs[1].scalar<float>())};
    }
    if (node.op_name() == "Neg") {
      return std::vector<Tensor>{Tensor::Scalar(-inputs[0].scalar<float>())};
    }
    if (node.op_name() == "Tile") {
      return std::vector<Tensor>{Tensor::Of<float>(std::vector<float>(1000), Shape{1000})};
    }
    if (node.op_name() == "Unpack") {
      return std::vector<Tensor>(static_cast<size_t>(node.num_outputs()), Tensor::Scalar(0.0f));
    }
    return Unimplemented("no kernel");
  }
  int calls = 0;
};

class PassesTest : public ::testing::Test {
 protected:
  Output Placeholder(std::string_view name, PartialShape shape = {}) {
    return b.Op("Placeholder", {}, {{"dtype", DType::kFloat}, {"shape", shape}}, name);
  }
  Output Float(float value, std::string_view name = "c") {
    return b.Const(Tensor::Scalar(value), name);
  }
  StepGraph Pruned(PruneRequest request) {
    EXPECT_TRUE(b.ok()) << b.status().ToString();
    Result<StepGraph> step = Prune(*graph, request);
    EXPECT_TRUE(step.ok()) << step.status().ToString();
    ExpectSorted(*step);
    return *step;
  }
  void DefineTap() {
    OpDef def;
    def.name = "_Tap";
    def.is_stateful = true;
    EXPECT_TRUE(ops->Define(def, nullptr, nullptr).ok());
    ops->Op("_Tap").Shape(NoOutputs);
  }
  StepGraph Folded(const StepGraph& step, int64_t limit = 1000) {
    const std::vector<std::string> before = Names(*step.graph);
    Result<StepGraph> folded = FoldConstants(step, evaluator, limit);
    EXPECT_TRUE(folded.ok()) << folded.status().ToString();
    EXPECT_EQ(Names(*step.graph), before);  // a pass leaves its input alone
    ExpectSorted(*folded);
    return *folded;
  }
  StepGraph Merged(const StepGraph& step) {
    Result<StepGraph> merged = MergeCommonSubexpressions(step);
    EXPECT_TRUE(merged.ok()) << merged.status().ToString();
    ExpectSorted(*merged);
    return *merged;
  }

  std::shared_ptr<OpRegistry> ops = std::make_shared<OpRegistry>();
  std::shared_ptr<Graph> graph = std::make_shared<Graph>(ops);
  GraphBuilder b{graph.get()};
  TestEvaluator evaluator;
};

// Figure 6 of the white paper: with b fed and f fetched, d and e do not run.
TEST_F(PassesTest, PruneFollowsFigureSix) {
  const Output a = Placeholder("a");
  const Output bb = b.Op("Neg", {a}, {}, "b");
  const Output c = b.Op("Add", {a, bb}, {}, "c");
  const Output d = b.Op("Neg", {a}, {}, "d");
  b.Op("Add", {d, c}, {}, "e");
  const Output f = b.Op("Neg", {c}, {}, "f");
  const StepGraph step = Pruned({.feeds = {bb}, .fetches = {f}, .targets = {}});
  EXPECT_THAT(Names(*step.graph), UnorderedElementsAre("b/feed_0", "a", "c", "f"));
  EXPECT_EQ(step.graph->FindNode("c")->input(1).node->name(), "b/feed_0");
  EXPECT_EQ(step.Origin(*step.graph->FindNode("b/feed_0")), bb.node);
  EXPECT_EQ(step.feeds[0].node->name(), "b/feed_0");
  EXPECT_EQ(step.fetches[0].ToString(), "f");
}

TEST_F(PassesTest, PruneKeepsControlDependenciesAndTargets) {
  Node* first = b.OpNode("NoOp", {}, {}, "first");
  const Output x = b.WithControls({first}).Op("Neg", {Float(1, "one")}, {}, "x");
  Node* target = b.OpNode("NoOp", {}, {}, "target");
  b.OpNode("NoOp", {}, {}, "other");
  const StepGraph step = Pruned({.feeds = {}, .fetches = {x}, .targets = {target}});
  EXPECT_THAT(Names(*step.graph), UnorderedElementsAre("first", "one", "x", "target"));
  EXPECT_THAT(step.graph->FindNode("x")->control_inputs(),
              ElementsAre(step.graph->FindNode("first")));
  EXPECT_EQ(step.targets[0]->name(), "target");
  // A fed node that is waited for still runs: the feed cuts the data edge only.
  const Output y = b.WithControls({x.node}).Op("Neg", {x}, {}, "y");
  EXPECT_THAT(Names(*Pruned({.feeds = {x}, .fetches = {y}, .targets = {}}).graph),
              UnorderedElementsAre("x/feed_0", "first", "one", "x", "y"));
}

TEST_F(PassesTest, PruneForgetsAFeedThatOnlyAControlEdgeLeadsFrom) {
  const Output x = b.Op("Neg", {Float(1, "one")}, {}, "x");
  const Output y = b.WithControls({x.node}).Op("Neg", {Float(2, "two")}, {}, "y");
  const StepGraph step = Pruned({.feeds = {x}, .fetches = {y}, .targets = {}});
  EXPECT_EQ(step.feeds[0].node, nullptr);
  EXPECT_NE(step.graph->FindNode("x"), nullptr);
}

TEST_F(PassesTest, PruneDropsControlEdgesFromFedPlaceholders) {
  const Output p = Placeholder("p");
  const Output y = b.WithControls({p.node}).Op("Neg", {p}, {}, "y");
  const StepGraph step = Pruned({.feeds = {p}, .fetches = {y}, .targets = {}});
  EXPECT_TRUE(step.graph->FindNode("y")->control_inputs().empty());
  EXPECT_TRUE(step.IsFeed(*step.graph->FindNode("p")));
}

TEST_F(PassesTest, PruneMapsAFetchedFeedAndForgetsAnUnusedOne) {
  const Output p = Placeholder("p");
  const Output q = Placeholder("q");
  const StepGraph step = Pruned({.feeds = {p, q}, .fetches = {p}, .targets = {}});
  EXPECT_EQ(step.fetches[0], step.feeds[0]);
  EXPECT_EQ(step.feeds[1].node, nullptr);
}

// What was added later looks at a; who reads a comes behind that.
TEST_F(PassesTest, PruneLetsReadersComeBehindATap) {
  DefineTap();
  const Output a = Placeholder("a");
  const Output read = b.Op("Neg", {a}, {}, "read");
  Node* const after = b.OpNode("NoOp", {}, {}, "after");
  ASSERT_TRUE(graph->AddControlInput(after, a.node).ok());
  const Output other = b.Op("Neg", {Float(1)}, {}, "other");
  const Output looks = b.Op("Neg", {a}, {}, "looks");
  Node* const tap = b.OpNode("_Tap", {}, {}, "tap");
  ASSERT_TRUE(graph->AddControlInput(tap, a.node).ok());
  ASSERT_TRUE(graph->AddControlInput(tap, looks.node).ok());

  const auto controls = [](const StepGraph& step, const char* name) {
    std::vector<std::string> names;
    for (const Node* n : step.graph->FindNode(name)->control_inputs()) names.push_back(n->name());
    return names;
  };
  StepGraph step = Pruned({.feeds = {}, .fetches = {read, other}, .targets = {after, tap}});
  EXPECT_THAT(controls(step, "read"), ElementsAre("tap"));
  EXPECT_THAT(controls(step, "after"), ElementsAre("a", "tap"));
  EXPECT_THAT(controls(step, "looks"), ElementsAre());
  EXPECT_THAT(controls(step, "other"), ElementsAre());
  EXPECT_THAT(step.targets,
              UnorderedElementsAre(step.graph->FindNode("after"), step.graph->FindNode("tap")));
  // It runs where what it looks at does, also for its own sake, and nowhere else.
  step = Pruned({.feeds = {}, .fetches = {a}, .targets = {tap}});
  EXPECT_THAT(Names(*step.graph), UnorderedElementsAre("a", "looks", "tap"));
  step = Pruned({.feeds = {}, .fetches = {other}, .targets = {tap}});
  EXPECT_THAT(Names(*step.graph), UnorderedElementsAre("c", "other"));
  step = Pruned({.feeds = {a}, .fetches = {read}, .targets = {tap}});
  EXPECT_THAT(Names(*step.graph), UnorderedElementsAre("a", "read"));
  // Without the target nothing has changed.
  EXPECT_THAT(Names(*Pruned({.feeds = {}, .fetches = {read}, .targets = {}}).graph),
              UnorderedElementsAre("a", "read"));
}

TEST_F(PassesTest, PruneRefusesATapOfNothing) {
  DefineTap();
  Node* const tap = b.OpNode("_Tap", {}, {}, "tap");
  Status status = Prune(*graph, {.feeds = {}, .fetches = {}, .targets = {tap}}).status();
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("has no control input"));
  const Output merge = b.Op("Merge", {Float(1), Float(2)}, {}, "merge");
  ASSERT_TRUE(graph->AddControlInput(tap, merge.node).ok());
  status = Prune(*graph, {.feeds = {}, .fetches = {merge}, .targets = {tap}}).status();
  EXPECT_THAT(std::string(status.message()), HasSubstr("hands on what others compute"));
}

TEST_F(PassesTest, PruneRefusesAnOpenLoop) {
  const Output enter = b.Op("Enter", {Float(1)}, {{"frame_name", "f"}});
  const Output merge = b.Op("Merge", {enter, Output()}, {}, "m");
  const Status status = Prune(*graph, {.feeds = {}, .fetches = {merge}, .targets = {}}).status();
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("Merge 'm': input 1 is open"));
}

TEST_F(PassesTest, PruneSortsLateControlEdges) {
  Node* early = b.OpNode("NoOp", {}, {}, "early");
  Node* late = b.OpNode("NoOp", {}, {}, "late");
  ASSERT_TRUE(graph->AddControlInput(early, late).ok());
  const StepGraph step = Pruned({.feeds = {}, .fetches = {}, .targets = {early}});
  EXPECT_THAT(Names(*step.graph), ElementsAre("late", "early"));
}

TEST_F(PassesTest, PruneTakesALongChain) {
  Output x = Placeholder("p");
  constexpr int kNodes = 100000;  // deep enough for any recursion to fail
  for (int i = 0; i < kNodes; ++i) x = b.Op("Neg", {x}, {}, StrCat("n", i));
  const StepGraph step = Pruned({.feeds = {}, .fetches = {x}, .targets = {}});
  EXPECT_EQ(step.graph->num_nodes(), kNodes + 1);
}

TEST_F(PassesTest, FoldComputesWhatDependsOnConstantsAlone) {
  const Output p = Placeholder("p");
  const Output s = b.Op("Add", {Float(1), Float(2)}, {}, "s");
  const Output n = b.Op("Neg", {s}, {}, "n");
  const Output y = b.Op("Add", {n, p}, {}, "y");
  const StepGraph step = Folded(Pruned({.feeds = {p}, .fetches = {y}, .targets = {}}));
  EXPECT_THAT(Names(*step.graph), UnorderedElementsAre("p", "n", "y"));
  const Node* folded = step.graph->FindNode("n");
  EXPECT_EQ(folded->op_name(), "Const");
  EXPECT_EQ(folded->Attr<Tensor>("value")->scalar<float>(), -3);
  EXPECT_EQ(step.Origin(*folded), n.node);
}

TEST_F(PassesTest, FoldLeavesAlone) {
  const Output one = Float(1);
  const Output fed = b.Op("Add", {one, one}, {}, "fed");
  const Output after_feed = b.Op("Neg", {fed}, {}, "after_feed");
  Node* effect = b.OpNode("NoOp", {}, {}, "effect");
  const Output controlled = b.WithControls({effect}).Op("Neg", {one}, {}, "controlled");
  const Output random =
      b.Op("RandomUniform", {b.Const<int32_t>({2})}, {{"dtype", DType::kFloat}}, "random");
  Node* split = b.OpNode("Switch", {one, b.Const(Tensor::Scalar(true))}, {}, "switch");
  const Output branch = b.WithControls({split}).Op("Neg", {one}, {}, "branch");
  const Output entered = b.Op("Enter", {one}, {{"frame_name", "f"}}, "enter");
  const Output in_loop = b.Op("Neg", {entered}, {}, "in_loop");
  const Output unknown = b.Op("Sqrt", {one}, {}, "no_kernel");
  const StepGraph step =
      Folded(Pruned({.feeds = {fed},
                     .fetches = {after_feed, controlled, random, branch, in_loop, unknown},
                     .targets = {}}));
  for (const char* name :
       {"after_feed", "controlled", "random", "branch", "in_loop", "no_kernel", "switch"}) {
    const Node* node = step.graph->FindNode(name);
    ASSERT_NE(node, nullptr) << name;
    EXPECT_NE(node->op_name(), "Const") << name;
  }
}

TEST_F(PassesTest, FoldDropsWhatGivesItsInput) {
  for (const char* op : {"Placeholder", "Sum", "Reshape"}) {
    ops->Op(op).Shape([](ShapeContext& c) {
      c.set_output(0, {2, 3});
      return OkStatus();
    });
  }
  const Output x = Placeholder("x", {2, 3});
  const Output none = b.Const(std::vector<int32_t>{}, "none");
  const Output shape = b.Const(std::vector<int32_t>{2, 3}, "shape");
  const Output y =
      b.Op("Neg", {b.Op("Reshape", {b.Op("Sum", {x, none}, {}, "sum"), shape}, {}, "r")}, {}, "y");
  const Output z = b.Op("Reshape", {y, shape}, {}, "z");  // of unknown shape before
  const Output fetched = b.Op("Max", {y, none}, {}, "fetched");
  const Output waited = b.Op("Max", {z, none}, {}, "waited");
  const Output after = b.WithControls({waited.node}).Op("Abs", {z}, {}, "after");
  const Output random =
      b.Op("RandomUniformInt",
           {b.Const<int32_t>({2}), b.Const(Tensor::Scalar(2)), b.Const(Tensor::Scalar(3))}, {},
           "random");
  const Output effect = b.Op("Neg", {b.Op("Reshape", {x, random}, {}, "kept")}, {}, "effect");
  const StepGraph step =
      *Prune(Folded(Pruned({.feeds = {x}, .fetches = {fetched, after, effect}, .targets = {}})));
  ExpectSorted(step);
  EXPECT_EQ(step.graph->FindNode("sum"), nullptr);
  EXPECT_EQ(step.graph->FindNode("r"), nullptr);
  EXPECT_EQ(step.graph->FindNode("y")->input(0), step.feeds[0]);
  for (const char* name : {"z", "fetched", "waited", "after", "random", "kept", "effect"}) {
    EXPECT_NE(step.graph->FindNode(name), nullptr) << name;
  }
}

TEST_F(PassesTest, FoldHasALimit) {
  const Output big = b.Op("Tile", {b.Const<float>({1}), b.Const<int32_t>({1000})}, {}, "big");
  const StepGraph step = Pruned({.feeds = {}, .fetches = {big}, .targets = {}});
  EXPECT_EQ(Folded(step, 3999).graph->FindNode("big")->op_name(), "Tile");
  EXPECT_EQ(Folded(step, 4000).graph->FindNode("big")->op_name(), "Const");
}

// A constant for each output of such a node takes longer to make than the node takes in a step.
TEST_F(PassesTest, FoldLeavesNodesOfManyOutputsAlone) {
  for (const int64_t n : {10, 10'000}) {
    const Output x =
        b.Const(Tensor::Of<float>(std::vector<float>(static_cast<size_t>(n)), Shape{n}));
    Node* const parts = b.OpNode("Unpack", {x}, {{"num", n}});
    const StepGraph step =
        Pruned({.feeds = {}, .fetches = {{parts, 0}, {parts, 1}}, .targets = {}});
    const bool folds = n == 10;
    evaluator.calls = 0;
    const StepGraph folded = Folded(step, 1 << 20);
    EXPECT_EQ(folded.fetches[1].node->op_name(), folds ? "Const" : "Unpack");
    EXPECT_EQ(evaluator.calls, folds ? 1 : 0);
  }
}

TEST_F(PassesTest, MergeJoinsEqualNodes) {
  const Output p = Placeholder("p");
  const Output q = Placeholder("q");
  const Output one = b.Op("Add", {p, q}, {}, "one");
  const Output same = b.Op("Add", {p, q}, {}, "same");
  const Output turned = b.Op("AddV2", {q, p}, {}, "turned");
  const Output turned_again = b.Op("AddV2", {p, q}, {}, "turned_again");
  const Output minus = b.Op("Sub", {p, q}, {}, "minus");
  const Output other = b.Op("Sub", {q, p}, {}, "other");
  const Output on_top = b.Op("Neg", {same}, {}, "on_top");
  const StepGraph step =
      Merged(Pruned({.feeds = {p, q},
                     .fetches = {one, same, turned, turned_again, minus, other, on_top},
                     .targets = {}}));
  EXPECT_EQ(step.fetches[0], step.fetches[1]);
  const bool commutes = turned.node->op().def.is_commutative;
  EXPECT_EQ(step.fetches[2] == step.fetches[3], commutes);
  EXPECT_FALSE(step.fetches[4] == step.fetches[5]);
  EXPECT_EQ(step.fetches[6].node->input(0), step.fetches[0]);
}

TEST_F(PassesTest, MergeComparesAttributesConstantsAndDevices) {
  const Output p = Placeholder("p");
  const auto product = [&](bool transpose) {
    return b.Op("MatMul", {p, p}, {{"transpose_a", transpose}});
  };
  const Output given_default = product(false);
  const Output implied_default = b.Op("MatMul", {p, p});
  const Output transposed = product(true);
  const Output zero = Float(0.0f);
  const Output zero_again = Float(0.0f);
  const Output minus_zero = Float(-0.0f);
  const Output here = b.Op("Neg", {p});
  const Output there = b.WithDevice("/cpu:1").Op("Neg", {p});
  const StepGraph step = Merged(Pruned({.feeds = {p},
                                        .fetches = {given_default, implied_default, transposed,
                                                    zero, zero_again, minus_zero, here, there},
                                        .targets = {}}));
  EXPECT_EQ(step.fetches[0], step.fetches[1]);
  EXPECT_FALSE(step.fetches[0] == step.fetches[2]);
  EXPECT_EQ(step.fetches[3], step.fetches[4]);
  EXPECT_FALSE(step.fetches[3] == step.fetches[5]);
  EXPECT_FALSE(step.fetches[6] == step.fetches[7]);
}

// Two variables that start as zeros take each its own; one buffer would have to be copied.
TEST_F(PassesTest, MergeLeavesLargeFillsAlone) {
  ops->Op("Fill").Shape([](ShapeContext& c) {
    c.set_output(0, c.InputAsShape(0));
    return OkStatus();
  });
  const auto fill = [&](int32_t size) {
    return b.Op("Fill", {b.Const<int32_t>({size}), Float(0.0f)});
  };
  const std::vector<Output> fills = {fill(1 << 20), fill(1 << 20), fill(1 << 21), fill(1 << 21)};
  const StepGraph step = Merged(Pruned({.feeds = {}, .fetches = fills, .targets = {}}));
  EXPECT_EQ(step.fetches[0], step.fetches[1]);
  EXPECT_FALSE(step.fetches[2] == step.fetches[3]);
}

TEST_F(PassesTest, MergeLeavesStateReferencesAndFeedsAlone) {
  const Output shape = b.Const<int32_t>({2});
  const auto random = [&] { return b.Op("RandomUniform", {shape}, {{"dtype", DType::kFloat}}); };
  const Output r1 = random();
  const Output r2 = random();
  const Output v = b.Op("VariableV2", {}, {{"dtype", DType::kFloat}, {"shape", PartialShape{}}});
  const Output read1 = b.Op("Identity", {v});
  const Output read2 = b.Op("Identity", {v});
  const Output a1 = b.Op("AssignAdd", {v, read1});
  const Output a2 = b.Op("AssignAdd", {v, read1});
  const Output p = Placeholder("p");
  const Output q = Placeholder("q");
  Node* before = b.OpNode("NoOp", {});
  const Output plain = b.Op("Neg", {p});
  const Output after = b.WithControls({before}).Op("Neg", {p});
  const StepGraph step =
      Merged(Pruned({.feeds = {p, q},
                     .fetches = {r1, r2, read1, read2, a1, a2, p, q, plain, after},
                     .targets = {}}));
  for (size_t i = 0; i < step.fetches.size(); i += 2) {
    EXPECT_FALSE(step.fetches[i] == step.fetches[i + 1]) << step.fetches[i].ToString();
  }
}

// A small training-like step through all passes, as text.
TEST_F(PassesTest, PassesAsText) {
  const Output x = Placeholder("x");
  const Output w =
      b.Op("VariableV2", {}, {{"dtype", DType::kFloat}, {"shape", PartialShape{}}}, "w");
  const Output scale =
      b.Op("Neg", {b.Op("Add", {Float(1, "one"), Float(2, "two")}, {}, "three")}, {}, "scale");
  const Output left = b.Op("Mul", {x, w}, {}, "left");
  const Output right = b.Op("Mul", {x, w}, {}, "right");
  const Output a = b.Op("Mul", {x, scale}, {}, "a");
  const Output again = b.Op("Mul", {x, scale}, {}, "again");
  const Output sum = b.Op("AddN", {left, right, a, again}, {}, "sum");
  b.Op("Neg", {sum}, {}, "unused");
  const GraphTextOptions plain{.shapes = false};
  const StepGraph pruned = Pruned({.feeds = {x}, .fetches = {sum}, .targets = {}});
  EXPECT_EQ(GraphText(*pruned.graph, plain), R"(x:0 float32 = Placeholder()
w:0 float32& = VariableV2() {shape: <unknown>}
one:0 float32 = Const() {value: float32[] 1}
two:0 float32 = Const() {value: float32[] 2}
three:0 float32 = Add(one, two)
scale:0 float32 = Neg(three)
left:0 float32 = Mul(x, w)
right:0 float32 = Mul(x, w)
a:0 float32 = Mul(x, scale)
again:0 float32 = Mul(x, scale)
sum:0 float32 = AddN(left, right, a, again)
)");
  const StepGraph folded = Folded(pruned);
  EXPECT_EQ(GraphText(*folded.graph, plain), R"(x:0 float32 = Placeholder()
w:0 float32& = VariableV2() {shape: <unknown>}
left:0 float32 = Mul(x, w)
right:0 float32 = Mul(x, w)
scale:0 float32 = Const() {value: float32[] -3}
a:0 float32 = Mul(x, scale)
again:0 float32 = Mul(x, scale)
sum:0 float32 = AddN(left, right, a, again)
)");
  EXPECT_EQ(GraphText(*Merged(folded).graph, plain), R"(x:0 float32 = Placeholder()
w:0 float32& = VariableV2() {shape: <unknown>}
left:0 float32 = Mul(x, w)
right:0 float32 = Mul(x, w)
scale:0 float32 = Const() {value: float32[] -3}
a:0 float32 = Mul(x, scale)
sum:0 float32 = AddN(left, right, a, a)
)");
}

TEST_F(PassesTest, LoopsSurviveEveryPass) {
  const Output enter = b.Op("Enter", {Float(1)}, {{"frame_name", "f"}});
  Node* merge = b.OpNode("Merge", {enter, Output()});
  const Output go_on = b.Op("LoopCond", {b.Op("Less", {{merge, 0}, enter})});
  Node* split = b.OpNode("Switch", {{merge, 0}, go_on});
  const Output next = b.Op("NextIteration", {b.Op("Neg", {{split, 1}})});
  ASSERT_TRUE(b.ok()) << b.status().ToString();
  ASSERT_TRUE(graph->SetBackEdge(merge, 1, next).ok());
  const Output exit = b.Op("Exit", {{split, 0}}, {}, "exit");
  const StepGraph pruned = Pruned({.feeds = {}, .fetches = {exit}, .targets = {}});
  const StepGraph step = *Prune(Merged(Folded(pruned)));
  EXPECT_EQ(step.graph->num_nodes(), pruned.graph->num_nodes());
  const Node* loop = step.graph->FindNode(merge->name());
  EXPECT_EQ(loop->input(1).node->control(), Node::Control::kNextIteration);
  EXPECT_EQ(&loop->input(1).node->graph(), step.graph.get());
}

}  // namespace
}  // namespace thalweg
