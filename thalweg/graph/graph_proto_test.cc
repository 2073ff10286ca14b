// SPDX-License-Identifier: Apache-2.0
#include "thalweg/graph/graph_proto.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "thalweg/graph/attr_value_proto.h"
#include "thalweg/graph/function.h"
#include "thalweg/graph/function_body.h"
#include "thalweg/graph/function_builder.h"
#include "thalweg/graph/graph_builder.h"
#include "thalweg/graph/op_def_proto.h"
#include "thalweg/proto/text_format.h"
#include "thalweg/proto/wire.h"

namespace thalweg {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string ReadFile(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

std::vector<std::filesystem::path> GoldenGraphs() {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(THALWEG_GOLDEN_DIR "/graphs")) {
    if (entry.path().extension() == ".pb") paths.push_back(entry.path());
  }
  return paths;
}

// Writes the tensors of a node anew: a repeated value can be written once or in full.
void NormalizeTensors(Message* node, bool as_1_15) {
  std::vector<std::pair<std::string, AttrValue>> tensors;
  for (const Message* entry : node->Messages(pb::NodeDef::kAttr)) {
    const Message& value = entry->GetMessage(pb::kMapValue);
    if (!value.Has(pb::AttrValue::kTensor)) continue;
    tensors.emplace_back(entry->GetString(pb::kMapKey), *AttrValueFromProto(value));
  }
  for (const auto& [name, value] : tensors) {
    node->EraseEntry(pb::NodeDef::kAttr, name);
    EXPECT_TRUE(
        AttrValueToProto(value, node->MapMutable(pb::NodeDef::kAttr, name), {.as_1_15 = as_1_15})
            .ok());
  }
}

// Nodes by name (ours come sources first); library and versions always there, if empty.
OwnedMessage Normalized(const Message& def, bool as_1_15) {
  OwnedMessage copy = Clone(def);
  copy->Mutable(pb::GraphDef::kLibrary);
  copy->Mutable(pb::GraphDef::kVersions);
  copy->Clear(pb::GraphDef::kNode);
  const auto span = def.Messages(pb::GraphDef::kNode);
  std::vector<const Message*> nodes(span.begin(), span.end());
  std::sort(nodes.begin(), nodes.end(), [](const Message* a, const Message* b) {
    return a->GetString(pb::NodeDef::kName) < b->GetString(pb::NodeDef::kName);
  });
  for (const Message* node : nodes) {
    Message* copied = copy->Add(pb::GraphDef::kNode);
    copied->MergeFrom(*node);
    NormalizeTensors(copied, as_1_15);
  }
  return copy;
}

class GraphProtoTest : public ::testing::Test {
 protected:
  ImportedGraph Import(std::string_view text, const ImportOptions& options = {}) {
    Result<ImportedGraph> imported = ImportGraphDefText(text, graph_, options);
    EXPECT_TRUE(imported.ok()) << imported.status().ToString();
    return imported.ok() ? *std::move(imported) : ImportedGraph();
  }
  // The message of a refusal, which must leave the nodes as they were.
  std::string Refusal(std::string_view text, const ImportOptions& options = {},
                      Code code = Code::kInvalidArgument) {
    const int before = graph_.num_nodes();
    const Status status = ImportGraphDefText(text, graph_, options).status();
    EXPECT_EQ(status.code(), code) << status.ToString();
    EXPECT_EQ(graph_.num_nodes(), before);
    return std::string(status.message());
  }

  std::shared_ptr<OpRegistry> registry_ = std::make_shared<OpRegistry>();
  Graph graph_{registry_};
};

TEST_F(GraphProtoTest, GoldenGraphsSurviveARoundTrip) {
  const auto paths = GoldenGraphs();
  ASSERT_EQ(paths.size(), 70u);
  for (const auto& path : paths) {
    SCOPED_TRACE(path.string());
    const std::string bytes = ReadFile(path);
    Graph graph(registry_);
    Result<ImportedGraph> imported = ImportGraphDefBytes(bytes, graph);
    ASSERT_TRUE(imported.ok()) << imported.status().ToString();
    Result<OwnedMessage> original = ParseMessage(pb::GraphDef::Descriptor(), bytes);
    EXPECT_EQ(imported->nodes.size(), (*original)->Size(pb::GraphDef::kNode));
    const bool as_1_15 = path.parent_path().filename() == "1.15";
    Result<OwnedMessage> exported = ExportGraphDef(graph, {.for_1_15 = as_1_15});
    ASSERT_TRUE(exported.ok()) << exported.status().ToString();
    EXPECT_TRUE(Normalized(**exported, as_1_15)->Equals(*Normalized(**original, as_1_15)));
    // The text form gives the same graph.
    Graph from_text(registry_);
    ASSERT_TRUE(ImportGraphDefText(ReadFile(path.string() + "txt"), from_text).ok());
    EXPECT_EQ(*ExportGraphDefBytes(from_text), *ExportGraphDefBytes(graph));
    Graph again(registry_);
    ASSERT_TRUE(ImportGraphDefText(*ExportGraphDefText(graph), again).ok());
    EXPECT_EQ(*ExportGraphDefBytes(again), *ExportGraphDefBytes(graph));
  }
}

TEST_F(GraphProtoTest, NodesComeInAnyOrder) {
  Import(
      R"(node { name: "c" op: "Neg" input: "b" input: "^d" attr { key: "T" value { type: DT_FLOAT } } }
            node { name: "b" op: "IdentityN" input: "a" input: "a:0"
                   attr { key: "T" value { list { type: [DT_FLOAT, DT_FLOAT] } } } }
            node { name: "e" op: "Neg" input: "b:1" }
            node { name: "a" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } } }
            node { name: "d" op: "NoOp" device: "/device:CPU:1" })");
  Node* c = graph_.FindNode("c");
  EXPECT_EQ(c->input(0).ToString(), "b");
  EXPECT_EQ(c->control_inputs()[0]->device(), "/device:CPU:1");
  EXPECT_EQ(graph_.FindNode("e")->input(0).ToString(), "b:1");
  EXPECT_EQ(*graph_.FindNode("e")->Attr<DType>("T"), DType::kFloat);
}

constexpr const char* kLoop = R"(
    node { name: "start" op: "Placeholder" attr { key: "dtype" value { type: DT_INT32 } } }
    node { name: "enter" op: "Enter" input: "start" attr { key: "frame_name" value { s: "f" } } }
    node { name: "merge" op: "Merge" input: "enter" input: "next" }
    node { name: "cond" op: "Placeholder" attr { key: "dtype" value { type: DT_BOOL } } }
    node { name: "switch" op: "Switch" input: "merge" input: "cond" }
    node { name: "next" op: "NextIteration" input: "switch:1" }
    node { name: "exit" op: "Exit" input: "switch" })";

TEST_F(GraphProtoTest, LoopsCloseThroughNextIteration) {
  Import(kLoop);
  Node* merge = graph_.FindNode("merge");
  EXPECT_EQ(merge->input(1).ToString(), "next");
  const Result<std::string> bytes = ExportGraphDefBytes(graph_);
  ASSERT_TRUE(bytes.ok());
  Graph again(registry_);
  ASSERT_TRUE(ImportGraphDefBytes(*bytes, again).ok());
  EXPECT_EQ(*ExportGraphDefBytes(again), *bytes);
}

TEST_F(GraphProtoTest, OtherCyclesAreNamed) {
  EXPECT_EQ(Refusal(R"(node { name: "x" op: "NoOp" input: "^b" }
                       node { name: "a" op: "NoOp" input: "^b" }
                       node { name: "b" op: "NoOp" input: "^c" }
                       node { name: "c" op: "NoOp" input: "^a" })"),
            "GraphDef: the nodes 'b' <- 'c' <- 'a' <- 'b' form a cycle; only a NextIteration that "
            "feeds a Merge may close one");
  EXPECT_THAT(Refusal(R"(node { name: "a" op: "Neg" input: "a" })"),
              HasSubstr("the nodes 'a' <- 'a' form a cycle"));
  // A control edge from NextIteration to Merge closes none.
  EXPECT_THAT(Refusal(R"(node { name: "m" op: "Merge" input: "^n" }
                         node { name: "n" op: "NextIteration" input: "m" })"),
              HasSubstr("form a cycle"));
  std::string many;
  for (int i = 0; i < 100; ++i) {
    many += StrCat("node { name: 'n", i, "' op: 'NoOp' input: '^n", (i + 1) % 100, "' }");
  }
  EXPECT_THAT(Refusal(many), HasSubstr("<- ... (90 more) <- 'n0'"));
}

TEST_F(GraphProtoTest, MalformedNodesAreRefused) {
  EXPECT_EQ(Refusal(R"(node { name: "a" op: "NoOp" } node { name: "a" op: "NoOp" })"),
            "GraphDef: Duplicate node name in graph: 'a'");
  EXPECT_EQ(
      Refusal(R"(node { name: "alpha" op: "NoOp" } node { name: "b" op: "Neg" input: "alpa" })"),
      "Node 'b': Unknown input node 'alpa'; nearest: 'alpha'");
  for (const char* input : {"", "^", "a:", "a:x", "a:-1", ":0", "a:99999999999999"}) {
    EXPECT_THAT(Refusal(StrCat("node { name: 'a' op: 'Neg' input: '", input, "' }")),
                HasSubstr("is no input: expected"));
  }
  EXPECT_THAT(Refusal(R"(node { name: "a" op: "NoOp" }
                         node { name: "b" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } } }
                         node { name: "c" op: "Neg" input: "^a" input: "b" })"),
              HasSubstr("Node 'c': Control dependencies must come after regular dependencies"));
  EXPECT_THAT(Refusal(R"(node { name: "a" op: "Constt" })", {}, Code::kNotFound),
              HasSubstr("Op type not registered 'Constt'; nearest: 'Const'"));
  EXPECT_THAT(Refusal(R"(node { op: "NoOp" })"), HasSubstr("node 0 has no name"));
  EXPECT_THAT(Refusal(R"(node { name: "a:b" op: "NoOp" })"), HasSubstr("no valid node name"));
  EXPECT_THAT(Refusal(R"(node { name: "a" op: "NoOp" attr { key: "zip" value { i: 1 } } })"),
              HasSubstr("NoOp 'a': the operation has no attribute 'zip'"));
  EXPECT_THAT(Refusal(R"(node { name: "a" op: "NoOp" attr { key: "zip" value { } } })"),
              HasSubstr("NoOp 'a': attribute 'zip': the attribute has no value"));
  EXPECT_THAT(Refusal(R"(node { name: "a" op: "Const" attr { key: "dtype" value { type: 77 } } })"),
              HasSubstr("attribute 'dtype': type 77 is no element type"));
  EXPECT_THAT(
      Refusal(R"(node { name: "a" op: "NoOp" attr { key: "_x" value { list { i: 1 f: 2 } } } })"),
      HasSubstr("a list has both i and f"));
  EXPECT_EQ(ImportGraphDefBytes("\x0a\xff", graph_).status().code(), Code::kInvalidArgument);
}

TEST_F(GraphProtoTest, ARefusedImportLeavesTheGraph) {
  Import(R"(node { name: "a" op: "NoOp" })");
  Refusal(R"(node { name: "b" op: "NoOp" } node { name: "a" op: "NoOp" })");
  EXPECT_EQ(graph_.FindNode("b"), nullptr);
  EXPECT_EQ(Import(R"(node { name: "b" op: "NoOp" })").nodes[0]->id(), 1);
}

TEST_F(GraphProtoTest, PrefixInputMapAndReturns) {
  const Output outer = {
      *graph_.AddNode({.name = "outer", .op = "Placeholder", .attrs = {{"dtype", DType::kFloat}}}),
      0};
  Node* before = *graph_.AddNode({.name = "before", .op = "NoOp"});
  const char* text = R"(
      node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } } }
      node { name: "y" op: "Neg" input: "x" input: "^x"
             attr { key: "_class" value { list { s: ["loc:@x", "loc:@outer"] } } } }
      node { name: "z" op: "Neg" input: "y:0" })";
  const ImportedGraph imported = Import(text, {.prefix = "model",
                                               .input_map = {{"x:0", outer}, {"^x", {before, 0}}},
                                               .control_dependencies = {before},
                                               .return_outputs = {"y:0", "x"},
                                               .return_nodes = {"z"},
                                               .default_device = "/cpu:0"});
  ASSERT_EQ(imported.nodes.size(), 3u);
  const Node* y = graph_.FindNode("model/y");
  EXPECT_EQ(y->input(0), outer);
  EXPECT_EQ(y->control_inputs()[0], before);
  EXPECT_EQ(y->device(), "/cpu:0");
  EXPECT_EQ(*y->Attr<std::vector<std::string>>("_class"),
            (std::vector<std::string>{"loc:@model/x", "loc:@outer"}));
  EXPECT_EQ(imported.nodes[0]->control_inputs().size(), 1u);
  EXPECT_EQ(imported.return_outputs[0].node, y);
  EXPECT_EQ(imported.return_outputs[1], outer);
  EXPECT_EQ(imported.return_nodes[0]->name(), "model/z");
  EXPECT_EQ(Refusal(text, {.return_outputs = {"q"}}),
            "Requested return tensor 'q' not found in graph def");
  EXPECT_THAT(Refusal(text, {.input_map = {{"x", Output()}}}),
              HasSubstr("the value of 'x' is no output of this graph"));
  EXPECT_THAT(Refusal(text, {.input_map = {{"x", outer}, {"x:0", outer}}}),
              HasSubstr("'x:0' is there twice"));
  EXPECT_EQ(Refusal(text, {.input_map = {{"q:0", outer}, {"x", outer}, {"^r", {before, 0}}}}),
            "Attempted to map inputs that were not found in graph_def: [q:0, ^r]");
  // Nothing reads "z", which is a node; nothing is called "q", which is read.
  Import(R"(node { name: "z" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } } }
            node { name: "w" op: "Neg" input: "q" })",
         {.prefix = "other", .input_map = {{"z", outer}, {"q:0", outer}}});
}

TEST_F(GraphProtoTest, DevicesCanBeCleared) {
  const ImportedGraph imported = Import(R"(node { name: "a" op: "NoOp" device: "/gpu:0" })",
                                        {.default_device = "/cpu:0", .clear_devices = true});
  EXPECT_EQ(imported.nodes[0]->device(), "/cpu:0");
}

TEST_F(GraphProtoTest, Versions) {
  EXPECT_THAT(Refusal("versions { producer: 9 min_consumer: 1000000 }"),
              HasSubstr("GraphDef min consumer version 1000000 above current version 2474"));
  EXPECT_THAT(Refusal("versions { producer: -1 }"),
              HasSubstr("GraphDef producer version -1 below"));
  EXPECT_THAT(Refusal("versions { producer: 9 bad_consumers: 2474 }"),
              HasSubstr("GraphDef disallows consumer version 2474"));
  Import("versions { min_consumer: 1000000 }", {.validate_versions = false});
  Graph graph(registry_);
  ASSERT_TRUE(ImportGraphDefText("node { name: 'a' op: 'NoOp' } versions { producer: 134 "
                                 "min_consumer: 12 bad_consumers: 5 }",
                                 graph)
                  .ok());
  EXPECT_EQ(graph.versions().producer, 134);
  ASSERT_TRUE(
      ImportGraphDefText("node { name: 'b' op: 'NoOp' } versions { producer: 2000 }", graph).ok());
  EXPECT_EQ(graph.versions().producer, 134);
  EXPECT_EQ(graph.versions().min_consumer, 12);
  EXPECT_EQ(graph.versions().bad_consumers, std::vector<int>{5});
  Graph old(registry_);
  ASSERT_TRUE(ImportGraphDefText("version: 7", old).ok());
  EXPECT_EQ(old.versions().producer, 7);
}

TEST_F(GraphProtoTest, AnUnknownOperationNamesTheProducerAndWhatHelps) {  // G4
  const char* text = R"(node { name: "a" op: "Madeup" } versions { producer: 99999 })";
  EXPECT_THAT(Refusal(text, {}, Code::kNotFound),
              AllOf(StartsWith("Op type not registered 'Madeup'"), HasSubstr("node 'a'"),
                    HasSubstr("written by producer version 99999, known here is version 2474"),
                    HasSubstr("load_op_library")));
  EXPECT_THAT(Refusal(R"(node { name: "a" op: "Madeup" })", {}, Code::kNotFound),
              HasSubstr("the graph does not say which version produced it, known here"));
}

TEST_F(GraphProtoTest, UnknownAttributesAtTheProducersDefaultAreDropped) {
  const Result<OwnedMessage> ops =
      ParseText(pb::OpList::Descriptor(),
                "op { name: 'NoOp' attr { name: 'new' type: 'int' default_value { i: 3 } } }");
  const char* text = R"(node { name: "a" op: "NoOp" attr { key: "new" value { i: 3 } } })";
  EXPECT_THAT(Refusal(text), HasSubstr("no attribute 'new'"));
  EXPECT_EQ(Import(text, {.producer_ops = ops->get()}).nodes[0]->attrs().size(), 0u);
  EXPECT_THAT(Refusal(R"(node { name: "b" op: "NoOp" attr { key: "new" value { i: 4 } } })",
                      {.producer_ops = ops->get()}),
              HasSubstr("no attribute 'new'"));
}

TEST_F(GraphProtoTest, DefaultsAreWrittenOrNot) {
  const Output x = {
      *graph_.AddNode({.name = "x", .op = "Placeholder", .attrs = {{"dtype", DType::kFloat}}}), 0};
  Node* y = *graph_.AddNode(
      {.name = "y", .op = "MatMul", .inputs = {x, x}, .attrs = {{"transpose_b", true}}});
  const auto keys = [&](const ExportOptions& options) {
    OwnedMessage proto(pb::NodeDef::Descriptor());
    EXPECT_TRUE(NodeToProto(*y, proto.get(), options).ok());
    std::string text;
    for (const Message* entry : proto->Messages(pb::NodeDef::kAttr)) {
      text += StrCat(entry->GetString(pb::kMapKey), " ");
    }
    return text;
  };
  EXPECT_EQ(keys({}), "T grad_a grad_b transpose_a transpose_b ");
  EXPECT_EQ(keys({.for_1_15 = true}), "T transpose_a transpose_b ");
  EXPECT_EQ(keys({.strip_defaults = true}), "T transpose_b ");
}

TEST_F(GraphProtoTest, CallSitesTravelAsDebugInfo) {
  for (const char* site : {"train.py:41 in build", "lib/a b.py:7", "interactive"}) {
    NodeSpec spec;
    spec.op = "NoOp";
    spec.site = graph_.InternSite(site);
    ASSERT_TRUE(graph_.AddNode(std::move(spec)).ok());
  }
  Graph again(registry_);
  ASSERT_TRUE(ImportGraphDefBytes(*ExportGraphDefBytes(graph_, {.call_sites = true}), again).ok());
  EXPECT_EQ(again.Site(again.FindNode("NoOp")->site()), "train.py:41 in build");
  EXPECT_EQ(again.Site(again.FindNode("NoOp_1")->site()), "lib/a b.py:7");
  EXPECT_EQ(again.Site(again.FindNode("NoOp_2")->site()), "interactive");
  Graph without(registry_);
  ASSERT_TRUE(ImportGraphDefBytes(*ExportGraphDefBytes(graph_), without).ok());
  EXPECT_EQ(without.FindNode("NoOp")->site(), 0u);
}

TEST_F(GraphProtoTest, CallSitesOfFunctionsTravelToo) {
  const auto outside = std::make_shared<Graph>(registry_);
  FunctionBuilder function(outside);
  NodeSpec spec{.name = "one", .op = "Const"};
  spec.attrs = {{"dtype", DType::kFloat}, {"value", Tensor::Scalar(1.0f)}};
  spec.site = function.body()->InternSite("train.py:7 in f");
  Node* one = *function.body()->AddNode(std::move(spec));
  ASSERT_TRUE(function.Define({.name = "f", .results = {{one, 0}}}).ok());
  const auto site_in = [&](const Graph& graph) {
    const auto body = InstantiateFunction(graph.library(), registry_, {"f", {}});
    EXPECT_TRUE(body.ok()) << body.status().ToString();
    const Node* node = (*body)->graph->FindNode("one");
    return node->site() == 0 ? "" : (*body)->graph->Site(node->site());
  };
  EXPECT_EQ(site_in(*outside), "train.py:7 in f");
  Graph again(registry_);
  ASSERT_TRUE(
      ImportGraphDefBytes(*ExportGraphDefBytes(*outside, {.call_sites = true}), again).ok());
  EXPECT_EQ(site_in(again), "train.py:7 in f");
  Graph without(registry_);
  ASSERT_TRUE(ImportGraphDefBytes(*ExportGraphDefBytes(*outside), without).ok());
  EXPECT_EQ(site_in(without), "");
}

TEST_F(GraphProtoTest, ConstantsBeyondTheWallAreNamed) {
  GraphBuilder b(&graph_);
  // Four constants that share one block of memory, which nobody touches.
  const Result<Tensor> big = Tensor::AllocateHost(DType::kFloat, Shape{int64_t{1} << 28});
  ASSERT_TRUE(big.ok());
  for (const char* name : {"w1", "w2", "w3"}) b.Const(*big, name);
  b.Const(Tensor::Scalar(1.0f), "small");
  ASSERT_TRUE(b.ok());
  const Status status = ExportGraphDef(graph_).status();
  EXPECT_EQ(status.code(), Code::kResourceExhausted);
  EXPECT_EQ(status.message(),
            "the constants of the graph have 3221225476 bytes, a GraphDef cannot hold more than 2 "
            "GB; the largest: 'w1' 1073741824, 'w2' 1073741824, 'w3' 1073741824, 'small' 4. Keep "
            "such values in variables and load them from a checkpoint");
}

TEST_F(GraphProtoTest, ClaimsOfManyConstantsShareOneBudget) {
  std::string text;
  for (int i = 0; i < 3; ++i) {
    text += StrCat("node { name: 'c", i,
                   "' op: 'Const' attr { key: 'dtype' value { type: DT_INT8 "
                   "} } attr { key: 'value' value { tensor { dtype: DT_INT8 tensor_shape { dim { "
                   "size: 400 } } int_val: 1 } } } }");
  }
  EXPECT_THAT(Refusal(text, {.claim_budget = 1000}, Code::kResourceExhausted),
              HasSubstr("Const 'c2': attribute 'value': TensorProto: the message claims 399"));
  Import(text);
}

TEST_F(GraphProtoTest, DeepFunctionAttributesAreRefused) {
  OwnedMessage def(pb::AttrValue::Descriptor());
  Message* value = def.get();
  for (int i = 0; i < 10'000; ++i) {
    value = value->Mutable(pb::AttrValue::kFunc)->MapMutable(pb::NameAttrList::kAttr, "f");
  }
  value->SetInt(pb::AttrValue::kI, 1);
  EXPECT_THAT(std::string(AttrValueFromProto(*def).status().message()),
              HasSubstr("functions are nested more than 64 deep"));
}

TEST_F(GraphProtoTest, FunctionsAreKeptAndCallable) {
  const char* text = R"(
      node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } } }
      node { name: "y" op: "twice" input: "x" }
      library {
        function {
          signature { name: "twice" input_arg { name: "a" type: DT_FLOAT }
                      output_arg { name: "b" type: DT_FLOAT } }
          node_def { name: "add" op: "Add" input: "a" input: "a"
                     attr { key: "T" value { type: DT_FLOAT } } }
          ret { key: "b" value: "add:z:0" }
        }
        gradient { function_name: "twice" gradient_func: "twice_grad" }
        registered_gradients { gradient_func: "g" registered_op_type: "r" }
      })";
  Import(text);
  EXPECT_EQ(graph_.FindNode("y")->output_type(0), DType::kFloat);
  EXPECT_EQ(graph_.library().FindGradient("twice"), "twice_grad");
  const Result<OwnedMessage> exported = ExportGraphDef(graph_);
  const Result<OwnedMessage> original = ParseText(pb::GraphDef::Descriptor(), text);
  EXPECT_TRUE((*exported)
                  ->GetMessage(pb::GraphDef::kLibrary)
                  .Equals((*original)->GetMessage(pb::GraphDef::kLibrary)));
  EXPECT_THAT(Refusal("library { function { signature { name: 'twice' } } }"),
              HasSubstr("function 'twice' is in the library with another definition"));
}

TEST_F(GraphProtoTest, OpDefsRoundTrip) {
  for (std::string_view name : registry_->Names()) {
    const OpDef& def = (*registry_->Find(name))->def;
    OwnedMessage proto(pb::OpDef::Descriptor());
    ASSERT_TRUE(OpDefToProto(def, proto.get()).ok()) << name;
    Result<OpDef> read = OpDefFromProto(*proto);
    ASSERT_TRUE(read.ok()) << name;
    OwnedMessage again(pb::OpDef::Descriptor());
    ASSERT_TRUE(OpDefToProto(*read, again.get()).ok());
    EXPECT_TRUE(again->Equals(*proto)) << name;
  }
}

// Half of the chain stands before its source.
TEST_F(GraphProtoTest, ALongChainInReverseIsNoBurden) {
  OwnedMessage def(pb::GraphDef::Descriptor());
  constexpr int kNodes = 100'000;
  for (int i = kNodes; i > 0; --i) {
    Message* node = def->Add(pb::GraphDef::kNode);
    node->SetString(pb::NodeDef::kName, StrCat("n", i));
    node->SetString(pb::NodeDef::kOp, "NoOp");
    if (i > 1) node->AddString(pb::NodeDef::kInput, StrCat("^n", i - 1));
  }
  const Result<ImportedGraph> imported = ImportGraphDef(*def, graph_);
  ASSERT_TRUE(imported.ok());
  EXPECT_EQ(imported->nodes[0]->id(), kNodes - 1);
}

}  // namespace
}  // namespace thalweg
