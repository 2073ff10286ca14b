// SPDX-License-Identifier: Apache-2.0
#include "thalweg/graph/graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "thalweg/graph/function.h"
#include "thalweg/graph/graph_builder.h"
#include "thalweg/graph/node_maker.h"
#include "thalweg/graph/shape_inference.h"

namespace thalweg {
namespace {

using ::testing::HasSubstr;

class GraphTest : public ::testing::Test {
 protected:
  Node* Add(NodeSpec spec) {
    Result<Node*> node = graph_.AddNode(std::move(spec));
    EXPECT_TRUE(node.ok()) << node.status().ToString();
    return node.ok() ? *node : nullptr;
  }
  Output Placeholder(const char* name, DType dtype) {
    return {Add({.name = name, .op = "Placeholder", .attrs = {{"dtype", dtype}}}), 0};
  }
  // The message of a refusal, which must leave the graph as it was.
  std::string Refusal(NodeSpec spec, Code code = Code::kInvalidArgument) {
    const int before = graph_.num_nodes();
    Result<Node*> node = graph_.AddNode(std::move(spec));
    EXPECT_FALSE(node.ok());
    EXPECT_EQ(node.status().code(), code) << node.status().ToString();
    EXPECT_EQ(graph_.num_nodes(), before);
    return std::string(node.status().message());
  }

  std::shared_ptr<OpRegistry> registry_ = std::make_shared<OpRegistry>();
  Graph graph_{registry_};
};

TEST_F(GraphTest, InfersTypeAttribute) {
  const Output a = Placeholder("a", DType::kDouble);
  Node* y = Add({.name = "y", .op = "MatMul", .inputs = {a, a}});
  EXPECT_EQ(*y->Attr<DType>("T"), DType::kDouble);
  EXPECT_EQ(*y->Attr<bool>("transpose_a"), false);
  EXPECT_EQ(y->attrs().size(), 1u);  // defaults are not stored
  EXPECT_EQ(y->output_type(0), DType::kDouble);
  EXPECT_EQ(y->input_type(1), DType::kDouble);
  EXPECT_EQ(y->Label(), "MatMul 'y'");
  EXPECT_EQ(y->id(), 1);
}

TEST_F(GraphTest, InfersNumberAttribute) {
  const Output a = Placeholder("a", DType::kInt32);
  Node* y = Add({.name = "y", .op = "Pack", .inputs = {a, a, a}});
  EXPECT_EQ(*y->Attr<int64_t>("N"), 3);
  EXPECT_EQ(*y->Attr<DType>("T"), DType::kInt32);
  EXPECT_EQ(*y->InputRange("values"), (std::pair<int, int>(0, 3)));
  EXPECT_EQ(y->InputRange("value").status().code(), Code::kNotFound);
  // A list with something after it.
  Node* c = Add({.name = "c", .op = "ConcatV2", .inputs = {a, a, a}});
  EXPECT_EQ(*c->Attr<int64_t>("N"), 2);
  EXPECT_EQ(*c->InputRange("axis"), (std::pair<int, int>(2, 3)));
  EXPECT_EQ(*c->Attr<DType>("Tidx"), DType::kInt32);
}

TEST_F(GraphTest, InfersTypeListAttribute) {
  const Output a = Placeholder("a", DType::kInt32);
  const Output b = Placeholder("b", DType::kString);
  Node* y = Add({.name = "y", .op = "IdentityN", .inputs = {a, b}});
  EXPECT_EQ(*y->Attr<std::vector<DType>>("T"), (std::vector<DType>{DType::kInt32, DType::kString}));
  ASSERT_EQ(y->num_outputs(), 2);
  EXPECT_EQ(y->output_type(1), DType::kString);
  EXPECT_EQ(*y->OutputRange("output"), (std::pair<int, int>(0, 2)));
  EXPECT_EQ((Output{y, 1}.ToString()), "y:1");
  EXPECT_EQ((Output{y, 0}.ToString()), "y");
}

TEST_F(GraphTest, SeveralListsOfOneLengthAreSolved) {
  const Output i = Placeholder("i", DType::kInt64);
  const Output v = Placeholder("v", DType::kFloat);
  Node* y = Add({.name = "y",
                 .op = "SparseConcat",
                 .inputs = {i, i, v, v, i, i},
                 .attrs = {{"concat_dim", 0}}});
  EXPECT_EQ(*y->Attr<int64_t>("N"), 2);
  EXPECT_THAT(Refusal({.name = "z",
                       .op = "SparseConcat",
                       .inputs = {i, i, v, v, i},
                       .attrs = {{"concat_dim", 0}}}),
              HasSubstr("SparseConcat 'z': expected the inputs (indices (N of them), values (N of "
                        "them), shapes (N of them)), got 5 inputs"));
}

TEST_F(GraphTest, CountsInputs) {
  const Output a = Placeholder("a", DType::kFloat);
  EXPECT_EQ(Refusal({.name = "y", .op = "MatMul", .inputs = {a}}),
            "MatMul 'y': expected the inputs (a, b), got 1 inputs");
  EXPECT_EQ(Refusal({.name = "y", .op = "MatMul", .inputs = {a, a, a}}),
            "MatMul 'y': expected the inputs (a, b), got 3 inputs");
  EXPECT_EQ(Refusal({.name = "y", .op = "AddN", .inputs = {a}, .attrs = {{"N", 2}}}),
            "AddN 'y': expected the inputs (inputs (N=2 of them)), got 1 inputs");
  EXPECT_THAT(
      Refusal({.name = "y", .op = "AddN", .inputs = {a}, .attrs = {{"N", int64_t{1} << 62}}}),
      HasSubstr("got 1 inputs"));
}

TEST_F(GraphTest, RefusesTypeClash) {
  const Output a = Placeholder("a", DType::kFloat);
  const Output b = Placeholder("b", DType::kInt32);
  EXPECT_EQ(Refusal({.name = "y", .op = "MatMul", .inputs = {a, b}}),
            "MatMul 'y': input 'b' must be float32 as attribute 'T' says, but 'b' is int32");
  EXPECT_EQ(Refusal({.name = "y", .op = "AddN", .inputs = {a, a, b}}),
            "AddN 'y': input 'inputs' [2] must be float32 as attribute 'T' says, but 'b' is int32");
  EXPECT_EQ(Refusal({.name = "y", .op = "LogicalNot", .inputs = {a}}),
            "LogicalNot 'y': input 'x' must be bool, but 'a' is float32");
  EXPECT_EQ(
      Refusal({.name = "y",
               .op = "IdentityN",
               .inputs = {a},
               .attrs = {{"T", std::vector<DType>{DType::kInt32}}}}),
      "IdentityN 'y': input 'input' [0] must be int32 as attribute 'T' says, but 'a' is float32");
}

TEST_F(GraphTest, ChecksAllowedValues) {
  const Output s = Placeholder("s", DType::kString);
  const std::string message = Refusal({.name = "y", .op = "MatMul", .inputs = {s, s}});
  EXPECT_THAT(message, HasSubstr("MatMul 'y': attribute 'T' must be one of "));
  EXPECT_THAT(message, HasSubstr("; got string"));
  const Output a = Placeholder("a", DType::kFloat);
  EXPECT_THAT(Refusal({.name = "y",
                       .op = "MaxPool",
                       .inputs = {a},
                       .attrs = {{"ksize", std::vector<int64_t>{1, 2, 2, 1}},
                                 {"strides", std::vector<int64_t>{1, 2, 2, 1}},
                                 {"padding", "FULL"}}}),
              HasSubstr("attribute 'padding' must be one of 'SAME', 'VALID'"));
  EXPECT_THAT(Refusal({.name = "y",
                       .op = "MaxPool",
                       .inputs = {a},
                       .attrs = {{"ksize", std::vector<int64_t>{1, 2}},
                                 {"strides", std::vector<int64_t>{1, 2, 2, 1}},
                                 {"padding", "SAME"}}}),
              HasSubstr("attribute 'ksize' needs at least 4 elements; got 2"));
  EXPECT_THAT(Refusal({.name = "y", .op = "AddN", .inputs = {}, .attrs = {{"T", DType::kFloat}}}),
              HasSubstr("attribute 'N' must be at least 1; got 0"));
}

TEST_F(GraphTest, ChecksAttributes) {
  const Output a = Placeholder("a", DType::kFloat);
  EXPECT_EQ(Refusal({.name = "y", .op = "Placeholder"}),
            "Placeholder 'y': attribute 'dtype' (a type) is missing: it has no default and no "
            "input fixes it");
  EXPECT_EQ(
      Refusal({.name = "y", .op = "MatMul", .inputs = {a, a}, .attrs = {{"transpos_a", true}}}),
      "MatMul 'y': the operation has no attribute 'transpos_a'; nearest: 'transpose_a', "
      "'transpose_b'");
  EXPECT_EQ(Refusal({.name = "y", .op = "MatMul", .inputs = {a, a}, .attrs = {{"transpose_a", 1}}}),
            "MatMul 'y': attribute 'transpose_a' must be a bool; got the int 1");
  EXPECT_EQ(Refusal({.name = "y", .op = "Split", .inputs = {a, a}, .attrs = {{"num_split", 0}}}),
            "Split 'y': attribute 'num_split' must be at least 1; got 0");
  // Attributes that begin with '_' belong to nobody's schema.
  Node* y = Add({.name = "y", .op = "MatMul", .inputs = {a, a}, .attrs = {{"_mine", 5}}});
  EXPECT_EQ(*y->Attr<int64_t>("_mine"), 5);
  EXPECT_EQ(y->Attr<int64_t>("T").status().message(),
            "MatMul 'y', attribute 'T': expected an int, got a type");
  EXPECT_EQ(y->Attr<int64_t>("U").status().message(), "MatMul 'y' has no attribute 'U'");
}

TEST_F(GraphTest, ManyOutputsAreRefused) {
  const Output a = Placeholder("a", DType::kInt32);
  EXPECT_THAT(Refusal({.name = "y",
                       .op = "Split",
                       .inputs = {a, a},
                       .attrs = {{"num_split", int64_t{1} << 40}}}),
              HasSubstr("attribute 'num_split' must be from 0 to 1048576"));
}

TEST_F(GraphTest, EmptyListTakesTheKindOfItsAttribute) {
  Node* y = Add({.name = "y", .op = "NoOp", .attrs = {{"_class", AttrValue::EmptyList()}}});
  EXPECT_EQ(y->FindAttr("_class")->kind(), AttrValue::Kind::kEmptyList);
  const Output a = Placeholder("a", DType::kFloat);
  Node* s = Add({.name = "s",
                 .op = "Squeeze",
                 .inputs = {a},
                 .attrs = {{"squeeze_dims", AttrValue::EmptyList()}}});
  EXPECT_EQ(s->FindAttr("squeeze_dims")->kind(), AttrValue::Kind::kIntList);
}

TEST_F(GraphTest, ReferenceRules) {
  Node* v = Add({.name = "v",
                 .op = "VariableV2",
                 .attrs = {{"dtype", DType::kFloat}, {"shape", PartialShape{2}}}});
  EXPECT_TRUE(v->output_is_ref(0));
  const Output plain = Placeholder("p", DType::kFloat);
  Node* assign = Add({.name = "assign", .op = "Assign", .inputs = {{v, 0}, plain}});
  EXPECT_TRUE(assign->input_is_ref(0));
  EXPECT_FALSE(assign->input_is_ref(1));
  EXPECT_TRUE(assign->output_is_ref(0));
  // A reference read by a plain argument is plain.
  Node* read = Add({.name = "read", .op = "Identity", .inputs = {{v, 0}}});
  EXPECT_FALSE(read->input_is_ref(0));
  EXPECT_FALSE(read->output_is_ref(0));
  EXPECT_EQ(Refusal({.name = "bad", .op = "Assign", .inputs = {plain, plain}}),
            "Assign 'bad': input 'ref' must be a reference to a variable, but 'p' is a plain "
            "value");
}

TEST_F(GraphTest, Names) {
  Add({.name = "a", .op = "NoOp"});
  EXPECT_EQ(Refusal({.name = "a", .op = "NoOp"}),
            "Duplicate node name in graph: 'a' (NoOp 'a' is there already)");
  EXPECT_THAT(Refusal({.name = "a b", .op = "NoOp"}), HasSubstr("'a b' is no valid node name"));
  EXPECT_THAT(Refusal({.name = "_a", .op = "NoOp"}), HasSubstr("no valid node name"));
  EXPECT_THAT(Refusal({.name = "a:0", .op = "NoOp"}), HasSubstr("no valid node name"));
  Add({.name = ".a/B-c_>\\d", .op = "NoOp"});
  EXPECT_EQ(Add({.op = "NoOp"})->name(), "NoOp");
  EXPECT_EQ(Add({.op = "NoOp"})->name(), "NoOp_1");
  EXPECT_EQ(Add({.name = "a", .op = "NoOp", .make_unique = true})->name(), "a_1");
  EXPECT_EQ(graph_.UniqueName("a"), "a_2");
  EXPECT_EQ(graph_.UniqueName("a"), "a_2");
  EXPECT_EQ(graph_.UniqueScope("a"), "a_2");
  EXPECT_EQ(graph_.UniqueName("a"), "a_3");
  EXPECT_EQ(graph_.FindNode("a")->id(), 0);
  EXPECT_EQ(graph_.FindNode("b"), nullptr);
}

TEST_F(GraphTest, UnknownOperation) {
  EXPECT_EQ(Refusal({.name = "y", .op = "MatMull"}, Code::kNotFound),
            "Op type not registered 'MatMull'; nearest: 'MatMul'; node 'y'");
}

TEST_F(GraphTest, ErrorsNameTheSite) {
  const uint32_t site = graph_.InternSite("train.py:41 in build");
  EXPECT_EQ(site, graph_.InternSite("train.py:41 in build"));
  EXPECT_EQ(graph_.Site(site), "train.py:41 in build");
  EXPECT_EQ(graph_.Site(0), "unknown");
  EXPECT_EQ(graph_.Site(99), "unknown");
  EXPECT_EQ(Refusal({.name = "y", .op = "Neg", .site = site}),
            "Neg 'y': expected the inputs (x), got 0 inputs (created at train.py:41 in build)");
}

TEST_F(GraphTest, SourcesMustExist) {
  const Output a = Placeholder("a", DType::kFloat);
  Graph other(registry_);
  Node* foreign = *other.AddNode({.name = "f", .op = "NoOp"});
  EXPECT_EQ(Refusal({.name = "y", .op = "Neg", .inputs = {{a.node, 1}}}),
            "Neg 'y': input 0 is output 1 of Placeholder 'a', which has 1 outputs");
  EXPECT_EQ(Refusal({.name = "y", .op = "Neg", .inputs = {{}}}),
            "Neg 'y': input 0 is none: only a Merge may be made with an open input");
  EXPECT_EQ(Refusal({.name = "y", .op = "Neg", .inputs = {{foreign, 0}}}),
            "Neg 'y': input 0 comes from NoOp 'f' of another graph");
  EXPECT_EQ(Refusal({.name = "y", .op = "NoOp", .control_inputs = {foreign}}),
            "NoOp 'y': control input 0 is no node of this graph");
  Node* y = Add({.name = "y", .op = "NoOp", .control_inputs = {a.node, a.node}});
  EXPECT_EQ(y->control_inputs().size(), 1u);
}

TEST_F(GraphTest, ShapeFunctionErrorsNameTheNode) {
  registry_->Op("Neg").Shape([](ShapeContext& c) -> Status {
    ASSIGN_OR_RETURN(PartialShape shape, c.InputWithRank(0, 2));
    c.set_output(0, shape);
    return OkStatus();
  });
  registry_->Op("Placeholder").Shape([](ShapeContext& c) -> Status {
    ASSIGN_OR_RETURN(PartialShape shape, c.Attr<PartialShape>("shape"));
    c.set_output(0, shape);
    return OkStatus();
  });
  Node* a = Add({.name = "a",
                 .op = "Placeholder",
                 .attrs = {{"dtype", DType::kFloat}, {"shape", PartialShape{3}}}});
  EXPECT_EQ(
      Refusal({.name = "y", .op = "Neg", .inputs = {{a, 0}}}),
      "Shape must be rank 2 but is rank 1 for 'y' (op: 'Neg') with input shapes: [3].; of input "
      "0");
}

TEST_F(GraphTest, BackEdges) {
  const Output start = Placeholder("start", DType::kFloat);
  Node* enter =
      Add({.name = "enter", .op = "Enter", .inputs = {start}, .attrs = {{"frame_name", "loop"}}});
  Node* merge = Add({.name = "merge", .op = "Merge", .inputs = {{enter, 0}, {}}});
  EXPECT_EQ(merge->control(), Node::Control::kMerge);
  EXPECT_EQ(merge->input(1).node, nullptr);
  EXPECT_EQ(*merge->Attr<int64_t>("N"), 2);
  Node* next = Add({.name = "next", .op = "NextIteration", .inputs = {{merge, 0}}});
  const Output wrong = Placeholder("wrong", DType::kInt32);
  Node* next_int = Add({.name = "next_int", .op = "NextIteration", .inputs = {wrong}});
  EXPECT_THAT(std::string(graph_.SetBackEdge(merge, 1, start).message()),
              HasSubstr("a back edge comes from a NextIteration"));
  EXPECT_THAT(std::string(graph_.SetBackEdge(merge, 1, {next_int, 0}).message()),
              HasSubstr("must be float32, but 'next_int' is int32"));
  EXPECT_EQ(graph_.SetBackEdge(merge, 2, {next, 0}).code(), Code::kInvalidArgument);
  EXPECT_EQ(graph_.SetBackEdge(enter, 0, {next, 0}).code(), Code::kInvalidArgument);
  EXPECT_TRUE(graph_.SetBackEdge(merge, 1, {next, 0}).ok());
  EXPECT_EQ(merge->input(1), (Output{next, 0}));
  EXPECT_EQ(graph_.SetBackEdge(merge, 1, {next, 0}).code(), Code::kFailedPrecondition);
}

TEST_F(GraphTest, ControlInputsCloseNoCycle) {
  Node* a = Add({.name = "a", .op = "NoOp"});
  Node* b = Add({.name = "b", .op = "NoOp", .control_inputs = {a}});
  Node* c = Add({.name = "c", .op = "NoOp"});
  EXPECT_THAT(std::string(graph_.AddControlInput(a, a).message()), HasSubstr("close a cycle"));
  EXPECT_THAT(std::string(graph_.AddControlInput(a, b).message()), HasSubstr("close a cycle"));
  EXPECT_TRUE(graph_.AddControlInput(a, c).ok());
  EXPECT_TRUE(graph_.AddControlInput(a, c).ok());
  EXPECT_EQ(a->control_inputs().size(), 1u);
  EXPECT_THAT(std::string(graph_.AddControlInput(c, b).message()), HasSubstr("close a cycle"));
  Node* d = Add({.name = "d", .op = "NoOp", .control_inputs = {b}});
  EXPECT_TRUE(graph_.AddControlInput(d, c).ok());
  EXPECT_THAT(std::string(graph_.AddControlInput(c, d).message()), HasSubstr("close a cycle"));
}

TEST_F(GraphTest, ANodeCanReadALaterOneButNotItself) {
  const Output a = Placeholder("a", DType::kFloat);
  Node* b = Add({.name = "b", .op = "Neg", .inputs = {a}});
  Node* c = Add({.name = "c", .op = "Neg", .inputs = {{b, 0}}});
  Node* late = Add({.name = "late", .op = "Neg", .inputs = {a}});
  ASSERT_TRUE(NodeMaker::Rewire(c, 0, {late, 0}).ok());
  EXPECT_EQ(c->input(0), (Output{late, 0}));
  EXPECT_TRUE(c->control_inputs().empty());
  // c is older than late, and yet late before c: both checks know.
  EXPECT_EQ(NodeMaker::Rewire(late, 0, {c, 0}).message(),
            "Neg 'late': an edge from Neg 'c' would close a cycle: "
            "Neg 'late' -> Neg 'c' -> Neg 'late'");
  EXPECT_EQ(late->input(0), a);
  EXPECT_THAT(std::string(graph_.AddControlInput(late, c).message()), HasSubstr("close a cycle"));
  EXPECT_THAT(std::string(NodeMaker::Rewire(b, 0, {b, 0}).message()), HasSubstr("close a cycle"));
  EXPECT_TRUE(NodeMaker::Rewire(c, 0, {b, 0}).ok());
  EXPECT_TRUE(NodeMaker::Rewire(late, 0, {c, 0}).ok());
}

TEST_F(GraphTest, RewireRefusesWhatDoesNotFit) {
  const Output a = Placeholder("a", DType::kFloat);
  Node* b = Add({.name = "b", .op = "Neg", .inputs = {a}});
  const Output other = Placeholder("other", DType::kInt32);
  Graph elsewhere(registry_);
  Node* foreign = elsewhere.CopyNode(*a.node, {}, {});
  const Output two = Placeholder("two", DType::kFloat);
  const Output three = Placeholder("three", DType::kFloat);
  ASSERT_TRUE(NodeMaker::RefineShape(two, *PartialShape::Make(std::vector<int64_t>{2})).ok());
  ASSERT_TRUE(NodeMaker::RefineShape(three, *PartialShape::Make(std::vector<int64_t>{3})).ok());
  Node* of_two = Add({.name = "of_two", .op = "Neg", .inputs = {two}});
  Node* merge = Add({.name = "merge", .op = "Merge", .inputs = {a, Output()}});
  Node* next = Add({.name = "next", .op = "NextIteration", .inputs = {{merge, 0}}});
  const struct {
    Node* node;
    int input;
    Output source;
    const char* words;
  } cases[] = {{b, 1, a, "has 1 inputs, there is no 1"},
               {b, -1, a, "there is no -1"},
               {b, 0, {}, "an output of the same graph"},
               {b, 0, {foreign, 0}, "an output of the same graph"},
               {b, 0, {a.node, 1}, "has 1 outputs, there is no 1"},
               {b, 0, other, "must be float32, but 'other' is int32"},
               {of_two, 0, three, "'three' cannot stand for"},
               {merge, 1, a, "back edge of a loop is set once"},
               {b, 0, {next, 0}, "back edge of a loop is set once"}};
  for (const auto& c : cases) {
    const Status status = NodeMaker::Rewire(c.node, c.input, c.source);
    EXPECT_EQ(status.code(), Code::kInvalidArgument);
    EXPECT_THAT(std::string(status.message()), HasSubstr(c.words));
  }
  EXPECT_EQ(b->input(0), a);
}

TEST_F(GraphTest, FindsOutputs) {
  const Output a = Placeholder("layer/alpha", DType::kFloat);
  EXPECT_EQ(*graph_.FindOutput("layer/alpha"), a);
  EXPECT_EQ(*graph_.FindOutput("layer/alpha:0"), a);
  EXPECT_EQ(graph_.FindOutput("layer/alpa:0").status().message(),
            "no node named 'layer/alpa' in the graph; nearest: 'layer/alpha'");
  EXPECT_EQ(graph_.FindOutput("layer/alpha:1").status().message(),
            "Placeholder 'layer/alpha' has 1 outputs, there is no 'layer/alpha:1'");
  for (const char* bad : {"", ":0", "a:", "a:-1", "a:99999999999", "a:0x", "^a"}) {
    EXPECT_EQ(graph_.FindOutput(bad).status().code(), Code::kInvalidArgument) << bad;
  }
}

TEST_F(GraphTest, CopyNodeKeepsWhatWasInferred) {
  const Output a = Placeholder("a", DType::kFloat);
  const uint32_t site = graph_.InternSite("x.py:1");
  Node* y = Add({.name = "y", .op = "Neg", .inputs = {a}, .device = "/cpu:0", .site = site});
  Graph other(registry_);
  Node* copied_a = other.CopyNode(*a.node, {}, {});
  Node* copy = other.CopyNode(*y, {{copied_a, 0}}, {copied_a});
  EXPECT_EQ(copy->name(), "y");
  EXPECT_EQ(copy->device(), "/cpu:0");
  EXPECT_EQ(copy->output_type(0), DType::kFloat);
  EXPECT_EQ(copy->input(0).node, copied_a);
  EXPECT_EQ(other.Site(copy->site()), "x.py:1");
  EXPECT_EQ(other.CopyNode(*y, {{copied_a, 0}}, {})->name(), "y_1");
}

TEST_F(GraphTest, FunctionsAreCalledLikeOperations) {
  OpDef signature;
  signature.name = "my_function";
  signature.inputs.push_back({.name = "x", .type = DType::kFloat});
  signature.outputs.push_back({.name = "y", .type = DType::kInt32});
  ASSERT_TRUE(graph_.library().Add(signature, "body").ok());
  ASSERT_TRUE(graph_.library().Add(signature, "body").ok());
  EXPECT_EQ(graph_.library().Add(signature, "other").code(), Code::kInvalidArgument);
  EXPECT_EQ(graph_.library().FindDefinition("my_function"), "body");
  Node* call =
      Add({.name = "call", .op = "my_function", .inputs = {Placeholder("a", DType::kFloat)}});
  EXPECT_EQ(call->output_type(0), DType::kInt32);
}

TEST_F(GraphTest, AChainOfAMillionNodesIsNoBurden) {
  Output last = Placeholder("a", DType::kFloat);
  for (int i = 0; i < 1'000'000; ++i) {
    NodeSpec spec;
    spec.op = "Neg";
    spec.name = StrCat("n", i);
    spec.inputs = {last};
    Result<Node*> node = graph_.AddNode(std::move(spec));
    ASSERT_TRUE(node.ok());
    last = {*node, 0};
  }
  EXPECT_EQ(graph_.num_nodes(), 1'000'001);
  EXPECT_FALSE(graph_.AddControlInput(graph_.FindNode("a"), last.node).ok());
}

TEST_F(GraphTest, ThreadsAddNodesAtOnce) {
  const Output a = Placeholder("a", DType::kFloat);
  const auto add = [&] {
    for (int i = 0; i < 500; ++i) {
      NodeSpec spec;
      spec.name = "n";
      spec.op = "Neg";
      spec.inputs = {a};
      spec.make_unique = true;
      ASSERT_TRUE(graph_.AddNode(std::move(spec)).ok());
    }
  };
  std::thread first(add);
  std::thread second(add);
  first.join();
  second.join();
  EXPECT_EQ(graph_.num_nodes(), 1001);
  EXPECT_NE(graph_.FindNode("n_999"), nullptr);
}

TEST_F(GraphTest, BuilderMakesScopesControlsAndColocation) {
  GraphBuilder b(&graph_);
  const Output x = b.Const(std::vector<float>{1, 2}, "x");
  const Output y = b.Scope("loss").WithDevice("/cpu:1").ColocatedWith(*x.node).Op("Neg", {x});
  EXPECT_EQ(y.node->name(), "loss/Neg");
  EXPECT_EQ(y.node->device(), "/cpu:1");
  EXPECT_EQ(y.node->Attr<std::vector<std::string>>("_class")->at(0), "loc:@x");
  EXPECT_EQ(b.Scope("loss").Op("Neg", {x}).node->name(), "loss_1/Neg");
  Node* group = b.Group({x.node, y.node});
  EXPECT_EQ(group->name(), "group_deps");
  EXPECT_EQ(group->control_inputs().size(), 2u);
  EXPECT_EQ(b.ScalarConst(DType::kBfloat16, 2).dtype(), DType::kBfloat16);
  ASSERT_TRUE(b.ok()) << b.status().ToString();
}

TEST_F(GraphTest, BuilderKeepsTheFirstError) {
  GraphBuilder b(&graph_);
  const Output x = b.Const(std::vector<float>{1, 2});
  const Output bad = b.Op("LogicalNot", {x});
  EXPECT_EQ(bad.node, nullptr);
  EXPECT_EQ(b.Op("Neg", {bad}).node, nullptr);
  EXPECT_EQ(b.Op("Neg", {x}).node, nullptr);
  EXPECT_THAT(std::string(b.status().message()), HasSubstr("LogicalNot 'LogicalNot'"));
  GraphBuilder c(&graph_);
  EXPECT_EQ(c.ScalarConst(DType::kUint8, 300).node, nullptr);
  EXPECT_THAT(std::string(c.status().message()), HasSubstr("does not fit"));
  GraphBuilder d(&graph_);
  EXPECT_EQ(d.Const(Tensor()).node, nullptr);
  EXPECT_FALSE(d.ok());
}

}  // namespace
}  // namespace thalweg
