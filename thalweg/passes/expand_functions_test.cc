// SPDX-License-Identifier: Apache-2.0
#include "thalweg/passes/expand_functions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <unordered_set>

#include "thalweg/graph/graph_proto.h"
#include "thalweg/graph/graph_text.h"
#include "thalweg/passes/prune.h"
#include "thalweg/testing/registries.h"

namespace thalweg {
namespace {

// Twice(x) = x + x; Note(x) = x, and says so; Deep(x) = Twice(x) by PartitionedCall; Again and
// Other call each other; Positive(x) = x > 0; Below3(i) = i < 3, Next(i) = i + 1.
constexpr std::string_view kLibrary = R"(
library {
  function {
    signature { name: "Twice" input_arg { name: "x" type: DT_FLOAT }
      output_arg { name: "y" type: DT_FLOAT } }
    node_def { name: "sum" op: "AddV2" input: "x" input: "x"
      attr { key: "T" value { type: DT_FLOAT } } }
    ret { key: "y" value: "sum:z:0" }
  }
  function {
    signature { name: "Note" is_stateful: true input_arg { name: "x" type: DT_FLOAT }
      output_arg { name: "y" type: DT_FLOAT } }
    node_def { name: "yes" op: "Const" attr { key: "dtype" value { type: DT_BOOL } }
      attr { key: "value" value { tensor { dtype: DT_BOOL tensor_shape { } bool_val: true } } } }
    node_def { name: "say" op: "Assert" input: "yes:output:0" input: "x"
      attr { key: "T" value { list { type: DT_FLOAT } } } }
    node_def { name: "same" op: "Identity" input: "x"
      attr { key: "T" value { type: DT_FLOAT } } }
    ret { key: "y" value: "same:output:0" }
  }
  function {
    signature { name: "Deep" input_arg { name: "x" type: DT_FLOAT }
      output_arg { name: "y" type: DT_FLOAT } }
    node_def { name: "call" op: "PartitionedCall" input: "x"
      attr { key: "Tin" value { list { type: DT_FLOAT } } }
      attr { key: "Tout" value { list { type: DT_FLOAT } } }
      attr { key: "f" value { func { name: "Twice" } } } }
    ret { key: "y" value: "call:output:0" }
  }
  function {
    signature { name: "Again" input_arg { name: "x" type: DT_FLOAT }
      output_arg { name: "y" type: DT_FLOAT } }
    node_def { name: "a" op: "Other" input: "x" }
    ret { key: "y" value: "a:y:0" }
  }
  function {
    signature { name: "Other" input_arg { name: "x" type: DT_FLOAT }
      output_arg { name: "y" type: DT_FLOAT } }
    node_def { name: "b" op: "Again" input: "x" }
    ret { key: "y" value: "b:y:0" }
  }
  function {
    signature { name: "Below3" input_arg { name: "i" type: DT_INT32 }
      output_arg { name: "y" type: DT_BOOL } }
    node_def { name: "three" op: "Const" attr { key: "dtype" value { type: DT_INT32 } }
      attr { key: "value" value { tensor { dtype: DT_INT32 tensor_shape { } int_val: 3 } } } }
    node_def { name: "less" op: "Less" input: "i" input: "three:output:0"
      attr { key: "T" value { type: DT_INT32 } } }
    ret { key: "y" value: "less:z:0" }
  }
  function {
    signature { name: "Next" input_arg { name: "i" type: DT_INT32 }
      output_arg { name: "y" type: DT_INT32 } }
    node_def { name: "one" op: "Const" attr { key: "dtype" value { type: DT_INT32 } }
      attr { key: "value" value { tensor { dtype: DT_INT32 tensor_shape { } int_val: 1 } } } }
    node_def { name: "add" op: "AddV2" input: "i" input: "one"
      attr { key: "T" value { type: DT_INT32 } } }
    ret { key: "y" value: "add:z:0" }
  }
  function {
    signature { name: "Positive" input_arg { name: "x" type: DT_FLOAT }
      output_arg { name: "y" type: DT_BOOL } }
    node_def { name: "zero" op: "Const" attr { key: "dtype" value { type: DT_FLOAT } }
      attr { key: "value" value { tensor { dtype: DT_FLOAT tensor_shape { } float_val: 0 } } } }
    node_def { name: "more" op: "Greater" input: "x" input: "zero:output:0"
      attr { key: "T" value { type: DT_FLOAT } } }
    ret { key: "y" value: "more:z:0" }
  }
}
)";

class ExpandFunctionsTest : public testing::Test {
 protected:
  ExpandFunctionsTest() : graph_(AllRegistries().ops) {
    const Status status = ImportGraphDefText(kLibrary, graph_).status();
    EXPECT_TRUE(status.ok()) << status.ToString();
    x_ = Add({.name = "x", .op = "Placeholder", .attrs = {{"dtype", DType::kFloat}}});
    i_ = Add({.name = "i", .op = "Placeholder", .attrs = {{"dtype", DType::kInt32}}});
    p_ = Add({.name = "p",
              .op = "Placeholder",
              .attrs = {{"dtype", DType::kBool}, {"shape", PartialShape(Shape())}}});
  }

  Node* Add(NodeSpec spec) {
    Result<Node*> node = graph_.AddNode(std::move(spec));
    EXPECT_TRUE(node.ok()) << node.status().ToString();
    return node.ok() ? *node : nullptr;
  }

  Result<StepGraph> Expand(Output fetch, ExpandOptions options = {}) {
    Result<StepGraph> step =
        Prune(graph_, {.feeds = {{x_, 0}, {i_, 0}, {p_, 0}}, .fetches = {fetch}, .targets = {}});
    EXPECT_TRUE(step.ok());
    return ExpandFunctions(*step, graph_.library(), options);
  }

  static int Count(const StepGraph& step, std::string_view op) {
    int count = 0;
    for (const Node* node : step.graph->Nodes()) count += node->op_name() == op ? 1 : 0;
    return count;
  }

  Graph graph_;
  Node* x_;
  Node* i_;
  Node* p_;
  const std::vector<DType> one_ = {DType::kFloat};
};

TEST_F(ExpandFunctionsTest, NothingToDoIsTheSameGraph) {
  Node* y = Add({.op = "Neg", .inputs = {{x_, 0}}});
  Result<StepGraph> step = Prune(graph_, {.feeds = {{x_, 0}}, .fetches = {{y, 0}}, .targets = {}});
  const Result<StepGraph> same = ExpandFunctions(*step, graph_.library(), {});
  EXPECT_EQ(same->graph, step->graph);
}

TEST_F(ExpandFunctionsTest, BodiesCarryTheNamesOfTheirCalls) {
  Node* y = Add({.name = "outer", .op = "Deep", .inputs = {{x_, 0}}});
  const Result<StepGraph> step = Expand({y, 0});
  ASSERT_TRUE(step.ok()) << step.status().ToString();
  EXPECT_EQ(step->fetches[0].node->name(), "outer/call/sum");
  EXPECT_EQ(step->fetches[0].node->op_name(), "AddV2");
  EXPECT_EQ(Count(*step, "Deep"), 0);
}

TEST_F(ExpandFunctionsTest, EffectsRunAlsoWhenNobodyReadsThem) {
  Node* y = Add({.name = "call",
                 .op = "StatefulPartitionedCall",
                 .inputs = {{x_, 0}},
                 .attrs = {{"Tout", one_}, {"f", FunctionRef{"Note", {}}}}});
  const Result<StepGraph> step = Expand({y, 0});
  ASSERT_TRUE(step.ok()) << step.status().ToString();
  ASSERT_EQ(step->targets.size(), 1u);
  EXPECT_EQ(step->targets[0]->name(), "call/say");
  EXPECT_EQ(step->fetches[0].node->name(), "call/same");
  EXPECT_TRUE(step->fetches[0].node->control_inputs().empty());
}

// What has no inputs waits for the pivot of its branch.
TEST_F(ExpandFunctionsTest, BranchesAreHeldByTheirPivots) {
  Node* y = Add({.name = "if",
                 .op = "If",
                 .inputs = {{p_, 0}, {x_, 0}},
                 .attrs = {{"Tout", one_},
                           {"then_branch", FunctionRef{"Note", {}}},
                           {"else_branch", FunctionRef{"Twice", {}}}}});
  const Result<StepGraph> step = Expand({y, 0});
  ASSERT_TRUE(step.ok()) << step.status().ToString();
  EXPECT_EQ(step->fetches[0].node->op_name(), "Merge");
  const Node* yes = step->graph->FindNode("if/then/yes");
  ASSERT_NE(yes, nullptr) << GraphText(*step->graph);
  ASSERT_EQ(yes->control_inputs().size(), 1u);
  EXPECT_EQ(yes->control_inputs()[0]->name(), "if/then/pivot");
  ASSERT_EQ(step->targets.size(), 1u);
  EXPECT_EQ(step->targets[0]->op_name(), "Merge");
}

TEST_F(ExpandFunctionsTest, AConstantConditionLeavesOneBranch) {
  Node* no =
      Add({.op = "Const", .attrs = {{"dtype", DType::kBool}, {"value", Tensor::Scalar(false)}}});
  Node* y = Add({.name = "if",
                 .op = "If",
                 .inputs = {{no, 0}, {x_, 0}},
                 .attrs = {{"Tout", one_},
                           {"then_branch", FunctionRef{"Again", {}}},
                           {"else_branch", FunctionRef{"Twice", {}}}}});
  const Result<StepGraph> step = Expand({y, 0});
  ASSERT_TRUE(step.ok()) << step.status().ToString();
  EXPECT_EQ(Count(*step, "Switch"), 0);
  EXPECT_EQ(step->fetches[0].node->name(), "if/sum");
}

TEST_F(ExpandFunctionsTest, ALoopIsAFrame) {
  Node* y = Add({.name = "while",
                 .op = "While",
                 .inputs = {{i_, 0}, {x_, 0}},
                 .attrs = {{"cond", FunctionRef{"Below3", {}}},
                           {"body", FunctionRef{"Next", {}}},
                           {"parallel_iterations", 7}}});
  EXPECT_EQ(Expand({y, 0}).status().code(), Code::kInvalidArgument);  // one variable too many
  y = Add({.name = "loop",
           .op = "While",
           .inputs = {{i_, 0}},
           .attrs = {{"cond", FunctionRef{"Below3", {}}},
                     {"body", FunctionRef{"Next", {}}},
                     {"parallel_iterations", 7}}});
  const Result<StepGraph> step = Expand({y, 0});
  ASSERT_TRUE(step.ok()) << step.status().ToString();
  EXPECT_EQ(step->fetches[0].node->op_name(), "Exit");
  for (const char* op : {"Enter", "Merge", "LoopCond", "Switch", "NextIteration", "Exit"}) {
    EXPECT_EQ(Count(*step, op), 1) << op;
  }
  EXPECT_EQ(*step->graph->FindNode("loop/Enter")->Attr<int64_t>("parallel_iterations"), 7);
  EXPECT_TRUE(step->targets.empty());
}

// Whether `node` comes after one of this name, along data and control edges.
bool ComesAfter(const Node* node, std::string_view name) {
  std::unordered_set<const Node*> seen = {node};
  std::vector<const Node*> queue = {node};
  for (size_t i = 0; i < queue.size(); ++i) {
    if (queue[i]->name() == name) return true;
    const auto add = [&](const Node* before) {
      if (before != nullptr && seen.insert(before).second) queue.push_back(before);
    };
    for (const Output& input : queue[i]->inputs()) add(input.node);
    for (const Node* before : queue[i]->control_inputs()) add(before);
  }
  return false;
}

TEST_F(ExpandFunctionsTest, WhoReadsACallComesAfterWhatTheCallWaitsFor) {
  Node* first =
      Add({.name = "first", .op = "Assert", .inputs = {{p_, 0}, {x_, 0}}, .attrs = {{"T", one_}}});
  const std::vector<Node*> calls = {
      Add({.op = "Deep", .inputs = {{x_, 0}}, .control_inputs = {first}}),
      Add({.op = "If",
           .inputs = {{p_, 0}, {x_, 0}},
           .control_inputs = {first},
           .attrs = {{"Tout", one_},
                     {"then_branch", FunctionRef{"Twice", {}}},
                     {"else_branch", FunctionRef{"Deep", {}}}}}),
      Add({.op = "While",
           .inputs = {{i_, 0}},
           .control_inputs = {first},
           .attrs = {{"cond", FunctionRef{"Below3", {}}}, {"body", FunctionRef{"Next", {}}}}})};
  for (Node* call : calls) {
    Result<StepGraph> step = Expand({call, 0});
    ASSERT_TRUE(step.ok()) << step.status().ToString();
    EXPECT_TRUE(ComesAfter(step->fetches[0].node, "first")) << GraphText(*step->graph);
    // And who waits for it does.
    Node* waits = Add({.op = "Identity", .inputs = {{x_, 0}}, .control_inputs = {call}});
    step = Expand({waits, 0});
    ASSERT_TRUE(step.ok()) << step.status().ToString();
    EXPECT_TRUE(ComesAfter(step->fetches[0].node, "first")) << GraphText(*step->graph);
  }
}

// What the loop waits for is in another frame than its body.
TEST_F(ExpandFunctionsTest, ALoopWaitsWhereItIsEntered) {
  Node* first =
      Add({.name = "first", .op = "Assert", .inputs = {{p_, 0}, {x_, 0}}, .attrs = {{"T", one_}}});
  Node* y =
      Add({.name = "loop",
           .op = "While",
           .inputs = {{x_, 0}},
           .control_inputs = {first},
           .attrs = {{"cond", FunctionRef{"Positive", {}}}, {"body", FunctionRef{"Note", {}}}}});
  const Result<StepGraph> step = Expand({y, 0});
  ASSERT_TRUE(step.ok()) << step.status().ToString();
  const Node* enter = step->graph->FindNode("loop/Enter");
  ASSERT_NE(enter, nullptr);
  EXPECT_TRUE(ComesAfter(enter, "first"));
  const Node* say = step->graph->FindNode("loop/body/say");
  ASSERT_NE(say, nullptr) << GraphText(*step->graph);
  for (const Node* before : say->control_inputs()) {
    EXPECT_TRUE(before->name().starts_with("loop/body/")) << before->Label();
  }
}

TEST_F(ExpandFunctionsTest, EndlessRecursionShowsItsCycle) {
  Node* y = Add({.name = "call", .op = "Again", .inputs = {{x_, 0}}});
  const Status status = Expand({y, 0}).status();
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_NE(status.message().find("Again -> Other -> Again"), std::string::npos)
      << status.message();
  EXPECT_NE(status.message().find("'call'"), std::string::npos);
}

TEST_F(ExpandFunctionsTest, UnknownFunctionsAndTooManyNodesAreErrors) {
  Node* y = Add({.op = "PartitionedCall",
                 .inputs = {{x_, 0}},
                 .attrs = {{"Tout", one_}, {"f", FunctionRef{"Twise", {}}}}});
  const Status unknown = Expand({y, 0}).status();
  EXPECT_EQ(unknown.code(), Code::kNotFound);
  EXPECT_NE(unknown.message().find("Twice"), std::string::npos) << unknown.message();
  y = Add({.op = "Deep", .inputs = {{x_, 0}}});
  EXPECT_EQ(Expand({y, 0}, {.max_nodes = 1}).status().code(), Code::kResourceExhausted);
  y = Add({.op = "SymbolicGradient",
           .inputs = {{x_, 0}, {x_, 0}},
           .attrs = {{"Tout", one_}, {"f", FunctionRef{"Twice", {}}}}});
  EXPECT_EQ(Expand({y, 0}).status().code(), Code::kUnimplemented);
}

// Frames in a body: what its loops carry is known as if they stood in the graph itself.
class LoopShapesTest : public ExpandFunctionsTest {
 protected:
  // The shape of the Merge when `body`, a function of the variable, goes round with a first value
  // of `first` in a function that has the loop as a frame.
  PartialShape MergedShape(const PartialShape& first, const std::string& body) {
    const std::string t = R"(attr { key: "T" value { type: DT_FLOAT } } )";
    const auto node = [&](const char* name, const char* op, const std::string& inputs,
                          const std::string& attrs) {
      std::string text = StrCat("node_def { name: \"", name, "\" op: \"", op, "\" ");
      for (size_t at = 0, end; at < inputs.size(); at = end + 1) {
        end = std::min(inputs.find(' ', at), inputs.size());
        text += StrCat("input: \"", inputs.substr(at, end - at), "\" ");
      }
      return StrCat(text, attrs, "}\n");
    };
    const std::string frame = R"(attr { key: "frame_name" value { s: "f" } } )";
    const std::string invariant = R"(attr { key: "is_constant" value { b: true } } )";
    const std::string text = StrCat(
        R"(library { function { signature { name: "Loop" input_arg { name: "x" type: DT_FLOAT }
             input_arg { name: "p" type: DT_BOOL } output_arg { name: "y" type: DT_FLOAT } }
           ret { key: "y" value: "exit:output:0" }
        )",
        node("enter", "Enter", "x", t + frame),
        node("go", "Enter", "p",
             R"(attr { key: "T" value { type: DT_BOOL } } )" + frame + invariant),
        node("merge", "Merge", "enter:output:0 next:output:0",
             t + R"(attr { key: "N" value { i: 2 } } )"),
        node("cond", "LoopCond", "go:output:0", ""),
        node("switch", "Switch", "merge:output:0 cond:output:0", t),
        node("exit", "Exit", "switch:output_false:0", t),
        node("axis", "Const", "^switch",
             R"(attr { key: "dtype" value { type: DT_INT32 } }
                attr { key: "value" value { tensor { dtype: DT_INT32 tensor_shape { } int_val: 0 } } } )"),
        node("body", body == "grow" ? "ConcatV2" : body.c_str(),
             body == "grow" ? "switch:output_true:0 switch:output_true:0 axis:output:0"
                            : "switch:output_true:0",
             t + (body == "grow" ? R"(attr { key: "N" value { i: 2 } }
                                      attr { key: "Tidx" value { type: DT_INT32 } } )"
                                 : "")),
        node("next", "NextIteration", body == "grow" ? "body:output:0" : "body:y:0", t), "} }");
    const Status imported = ImportGraphDefText(text, graph_).status();
    EXPECT_TRUE(imported.ok()) << imported.ToString();
    Node* x = Add({.name = "first",
                   .op = "Placeholder",
                   .attrs = {{"dtype", DType::kFloat}, {"shape", first}}});
    Node* y = Add({.name = "loop", .op = "Loop", .inputs = {{x, 0}, {p_, 0}}});
    Result<StepGraph> pruned =
        Prune(graph_, {.feeds = {{x, 0}, {p_, 0}}, .fetches = {{y, 0}}, .targets = {}});
    EXPECT_TRUE(pruned.ok());
    const Result<StepGraph> step = ExpandFunctions(*pruned, graph_.library(), {});
    EXPECT_TRUE(step.ok()) << step.status().ToString();
    if (!step.ok()) return {};
    const Node* merge = step->graph->FindNode("loop/merge");
    EXPECT_NE(merge, nullptr);
    return merge == nullptr ? PartialShape() : merge->output_shape(0);
  }
};

TEST_F(LoopShapesTest, WhatTheBodyKeepsIsKnown) {
  EXPECT_EQ(MergedShape(PartialShape({2, 3}), "Neg"), PartialShape({2, 3}));
}

TEST_F(LoopShapesTest, WhatTheBodyChangesIsNot) {
  EXPECT_EQ(MergedShape(PartialShape({2, 3}), "grow"), PartialShape({-1, 3}));
}

TEST_F(LoopShapesTest, NothingIsKnownOfAnUnknownFirstValue) {
  EXPECT_FALSE(MergedShape(PartialShape::Unknown(), "Neg").known_rank());
}

TEST_F(ExpandFunctionsTest, AStepThatLeadsABatchRunsItsFunction) {
  const AttrMap attrs = {{"f", FunctionRef{"Twice", {}}},     {"Tin", one_},
                         {"Tcaptured", std::vector<DType>{}}, {"Tout", one_},
                         {"num_batch_threads", int64_t{1}},   {"max_batch_size", int64_t{4}},
                         {"batch_timeout_micros", int64_t{0}}};
  Node* y = Add({.name = "call", .op = "BatchFunction", .inputs = {{x_, 0}}, .attrs = attrs});
  const Result<StepGraph> step = Expand({y, 0});
  ASSERT_TRUE(step.ok()) << step.status().ToString();
  for (const char* op : {"_GatherBatch", "_ScatterBatch", "_AwaitBatch", "AddV2"}) {
    EXPECT_EQ(Count(*step, op), 1) << op;
  }
  for (const Node* node : step->graph->Nodes()) {
    if (node->op_name() != "_GatherBatch") continue;
    EXPECT_EQ(*node->Attr<std::string>("shared_name"), "call");
  }
  AttrMap refused = attrs;
  refused.Set("batch_padding_policy", "BATCH_DOWN");
  Node* down = Add({.op = "BatchFunction", .inputs = {{x_, 0}}, .attrs = refused});
  EXPECT_EQ(Expand({down, 0}).status().code(), Code::kUnimplemented);
}

// F0 calls F1 `calls` times, each with what the one before gave, F1 likewise F2, and so on; the
// last one is Neg.
std::string Chain(int functions, int calls) {
  std::string text = "library {\n";
  for (int i = 0; i < functions; ++i) {
    text += StrCat("function { signature { name: \"F", i,
                   "\" input_arg { name: \"x\" type: DT_FLOAT } output_arg { name: \"y\" type: "
                   "DT_FLOAT } }\n");
    std::string from = "x";
    for (int c = 0; c < calls; ++c) {
      const std::string op = i + 1 == functions ? "Neg" : StrCat("F", i + 1);
      text += StrCat("node_def { name: \"c", c, "\" op: \"", op, "\" input: \"", from, "\"");
      if (op == "Neg") text += " attr { key: \"T\" value { type: DT_FLOAT } }";
      text += " }\n";
      from = StrCat("c", c, ":y:0");
    }
    text += StrCat("ret { key: \"y\" value: \"", from, "\" } }\n");
  }
  return text + "}\n";
}

// What expanding a call of F0 visits.
class ExpandWorkTest : public ExpandFunctionsTest {
 protected:
  Status ExpandChain(int functions, int calls) {
    const Status imported = ImportGraphDefText(Chain(functions, calls), graph_).status();
    EXPECT_TRUE(imported.ok()) << imported.ToString();
    Node* y = Add({.name = "call", .op = "F0", .inputs = {{x_, 0}}});
    Result<StepGraph> step =
        Prune(graph_, {.feeds = {{x_, 0}}, .fetches = {{y, 0}}, .targets = {}});
    EXPECT_TRUE(step.ok());
    step->work = &work_;
    const Result<StepGraph> expanded = ExpandFunctions(*step, graph_.library(), {.work = &work_});
    return expanded.status();
  }
  WorkBudget work_;
};

TEST_F(ExpandWorkTest, AChainIsLinear) {
  ASSERT_TRUE(ExpandChain(500, 1).ok());
  EXPECT_LE(work_.visited(), 500 * 8);
}

TEST_F(ExpandWorkTest, ALongChainIsRefusedBeforeItIsExpanded) {
  const Status status = ExpandChain(2000, 1);
  EXPECT_EQ(status.code(), Code::kResourceExhausted) << status.ToString();
  EXPECT_THAT(std::string(status.message()), testing::HasSubstr("F0 'call'"));
  EXPECT_LE(work_.visited(), 2000);
}

TEST_F(ExpandWorkTest, ABombIsRefusedFromItsCounts) {
  const Status status = ExpandChain(15, 10);
  EXPECT_EQ(status.code(), Code::kResourceExhausted) << status.ToString();
  EXPECT_THAT(std::string(status.message()), testing::HasSubstr("2097152 nodes"));
  EXPECT_LE(work_.visited(), 15 * 10 + 10);
}

TEST_F(ExpandWorkTest, ACancelledExpansionEnds) {
  CancellationManager cancellation;
  cancellation.Cancel(Cancelled("enough"));
  work_ = WorkBudget({.what = "it was still being compiled", .cancellations = {&cancellation}});
  (void)work_.Begin("expanding functions");
  const Status status = ExpandChain(10, 3);
  EXPECT_EQ(status.code(), Code::kCancelled) << status.ToString();
  EXPECT_THAT(std::string(status.message()),
              testing::HasSubstr("enough (it was still being compiled: expanding functions"));
}

TEST_F(ExpandFunctionsTest, ACallIsExpandedBesideItself) {
  Node* call = Add({.name = "deep", .op = "Deep", .inputs = {{x_, 0}}});
  Node* reader = Add({.name = "reader", .op = "Neg", .inputs = {{call, 0}}});
  const int before = graph_.num_nodes();
  const Result<std::vector<Output>> made = ExpandCall(&graph_, *call, "seen", {});
  ASSERT_TRUE(made.ok()) << made.status().ToString();
  ASSERT_EQ(made->size(), 1u);
  EXPECT_EQ((*made)[0].node->name(), "seen/deep/call/sum");
  EXPECT_EQ((*made)[0].node->input(0), (Output{x_, 0}));
  EXPECT_EQ(graph_.num_nodes(), before + 2);
  const Node* const done = graph_.FindNode("seen/deep/done");
  ASSERT_NE(done, nullptr);
  EXPECT_EQ(done->id(), before + 1);
  EXPECT_THAT(done->control_inputs(), testing::ElementsAre((*made)[0].node));
  EXPECT_EQ(reader->input(0), (Output{call, 0}));
  EXPECT_THAT(ExpandCall(&graph_, *reader, "seen", {}).status().message(),
              testing::HasSubstr("calls no function"));
  EXPECT_EQ((*made)[0].node->FindAttr("_function"), nullptr);
}

TEST_F(ExpandFunctionsTest, ACallThatIsTooLargeIsNotExpandedBesideItself) {
  Node* call = Add({.name = "deep", .op = "Deep", .inputs = {{x_, 0}}});
  const int before = graph_.num_nodes();
  const Status status = ExpandCall(&graph_, *call, "seen", {.max_nodes = 0}).status();
  EXPECT_EQ(status.code(), Code::kResourceExhausted);
  EXPECT_THAT(std::string(status.message()),
              testing::AllOf(testing::HasSubstr("'deep'"),
                             testing::HasSubstr("expand to more than 0 nodes")));
  EXPECT_EQ(graph_.num_nodes(), before);
  // The graph's own nodes do not count.
  EXPECT_TRUE(ExpandCall(&graph_, *call, "seen", {.max_nodes = before}).ok());
}

TEST_F(ExpandFunctionsTest, WhatStandsInAFunctionSaysWhereWhateverItsName) {
  Add({.name = "seen/deep/call/sum", .op = "NoOp"});
  Node* call = Add({.name = "deep", .op = "Deep", .inputs = {{x_, 0}}});
  const Result<std::vector<Output>> made =
      ExpandCall(&graph_, *call, "seen", {.tell_places = true});
  ASSERT_TRUE(made.ok()) << made.status().ToString();
  const Node& sum = *(*made)[0].node;
  EXPECT_EQ(sum.name(), "seen/deep/call/sum_1");
  EXPECT_EQ(*sum.Attr<std::string>("_function"), "Twice");
  EXPECT_EQ(*sum.Attr<std::string>("_function_node"), "sum");
  EXPECT_THAT(*sum.Attr<std::vector<std::string>>("_function_calls"),
              testing::ElementsAre("deep", "call"));
}

TEST_F(ExpandFunctionsTest, LoopsOfACallMayBeSerial) {
  Node* loop = Add({.name = "loop",
                    .op = "While",
                    .inputs = {{i_, 0}},
                    .attrs = {{"T", std::vector<DType>{DType::kInt32}},
                              {"cond", FunctionRef{"Below3", {}}},
                              {"body", FunctionRef{"Next", {}}}}});
  for (const bool serial : {false, true}) {
    ASSERT_TRUE(ExpandCall(&graph_, *loop, serial ? "one" : "many", {.serial_loops = serial}).ok());
    const Node* const enter = graph_.FindNode(serial ? "one/loop/Enter" : "many/loop/Enter");
    ASSERT_NE(enter, nullptr);
    EXPECT_EQ(*enter->Attr<int64_t>("parallel_iterations"), serial ? 1 : 10);
  }
}

}  // namespace
}  // namespace thalweg
