// SPDX-License-Identifier: Apache-2.0
// Models that TensorFlow 1.15 and 2.21 have written (tests/golden), loaded and run from C++ and C.
#include "thalweg/model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "thalweg/base/test_temporary_directory.h"

namespace {

using testing::ElementsAre;
using testing::HasSubstr;
namespace fs = std::filesystem;

const fs::path kGolden = THALWEG_GOLDEN_DIR;

tw::Environment Small() { return tw::Environment::Create({.threads = 1}).OrThrow(); }

std::vector<std::string> Names(const std::vector<tw::ModelTensor>& tensors) {
  std::vector<std::string> names;
  for (const tw::ModelTensor& tensor : tensors) names.push_back(tensor.name);
  return names;
}

std::vector<int64_t> Integers(const tw::Tensor& tensor) {
  const auto* data = tensor.data<int64_t>();
  return {data, data + tensor.num_elements()};
}

class ModelTest : public testing::TestWithParam<const char*> {
 protected:
  std::string Path(const std::string& name) const {
    return (kGolden / "saved_models" / GetParam() / name).string();
  }
};

TEST_P(ModelTest, ATableAndVariablesAndTags) {
  const tw::Environment environment = Small();
  const tw::Model model = tw::Model::Load(environment, Path("tf1_lookup"), {{"serve"}}).OrThrow();
  EXPECT_EQ(model.kind(), "SavedModel");
  ASSERT_EQ(model.signatures().size(), 2u);
  EXPECT_EQ(model.signatures()[0].name, "ids");
  const tw::ModelSignature serving = model.Signature().OrThrow();
  EXPECT_EQ(serving.name, "serving_default");
  const tw::Tensor words = tw::Tensor::Strings({"the", "fox", "unknown"}, {1, 3});
  EXPECT_EQ(model.signatures()[0].ToString().substr(0, 18), "ids(extra?, text) ");
  const auto ids = model.Run({{"text", words}}, "ids").OrThrow();
  EXPECT_EQ(ids.begin()->second.shape(), (std::vector<int64_t>{1, 3}));
  EXPECT_THAT(tw::Model::Load(environment, Path("tf1_lookup"), {{"none"}}).status().message(),
              HasSubstr("there are ['serve'], ['other']"));
}

TEST_P(ModelTest, FunctionsWithVariablesATableAndALoop) {
  const tw::Model model = tw::Model::Load(Small(), Path("tf2_module")).OrThrow();
  const tw::ModelSignature serving = model.Signature().OrThrow();
  EXPECT_THAT(Names(serving.inputs), ElementsAre("rounds", "words"));
  EXPECT_THAT(Names(serving.outputs), ElementsAre("ids", "y"));
  EXPECT_EQ(serving.ToString(), "serving_default(rounds, words) -> ids, y");
  const tw::Tensor words = tw::Tensor::Strings({"nobody"}, {1});
  const auto out =
      model.Run({{"words", words}, {"rounds", tw::Tensor::Scalar<int32_t>(1)}}).OrThrow();
  EXPECT_THAT(Integers(out.at("ids")), ElementsAre(-1));
  const auto same = model.RunInOrder({tw::Tensor::Scalar<int32_t>(1), words}).OrThrow();
  EXPECT_EQ(same[1].data<float>()[0], out.at("y").data<float>()[0]);
}

TEST_P(ModelTest, ManyThreadsRunOneModel) {
  const tw::Model model = tw::Model::Load(Small(), Path("tf2_module")).OrThrow();
  std::vector<std::thread> threads;
  std::vector<std::string> wrong(4);
  for (std::string& message : wrong) {
    threads.emplace_back([&] {
      for (int i = 0; i < 20; ++i) {
        const auto out = model.Run({{"words", tw::Tensor::Strings({"nobody"}, {1})},
                                    {"rounds", tw::Tensor::Scalar<int32_t>(i % 3)}});
        if (!out.ok()) message = out.status().message();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(wrong, testing::Each(""));
}

TEST_P(ModelTest, WrongFeedsAreNamedAllAtOnce) {
  const tw::Model model = tw::Model::Load(Small(), Path("tf2_module")).OrThrow();
  const tw::Tensor one = tw::Tensor::Scalar<int32_t>(1);
  const std::string label = Path("tf2_module") + ": signature 'serving_default': ";
  EXPECT_EQ(model.Run({{"word", one}, {"rounds", one}, {"rounds", one}}).status().message(),
            label +
                "missing 'words'; unknown 'word'; given twice 'rounds'; its inputs are "
                "'rounds' int32 [], 'words' string [?]");
  EXPECT_EQ(model.Run({{"words", one}, {"rounds", one}}).status().message(),
            label + "input 'words' string [?] got int32 []");
  EXPECT_THAT(model.Run({}, "serving_defaul").status().message(),
              HasSubstr("there is no signature 'serving_defaul'; nearest: 'serving_default'; it "
                        "has 'count', 'serving_default'"));
}

INSTANTIATE_TEST_SUITE_P(Releases, ModelTest, testing::Values("1.15", "2.21"),
                         [](const auto& info) {
                           return std::string(info.param) == "1.15" ? "of_1_15" : "of_2_21";
                         });

TEST(ModelKindsTest, AMetaGraphBesideItsCheckpoint) {
  for (const char* name : {"sharded/model-7.meta", "v1/model.ckpt.meta"}) {
    const std::string path = (kGolden / "checkpoints/1.15" / name).string();
    const tw::Model model = tw::Model::Load(Small(), path).OrThrow();
    EXPECT_EQ(model.kind(), "MetaGraph");
    TwGraph* const graph = tw_model_graph(model.c());
    int variables = 0;
    for (int32_t i = 0; i < tw_graph_num_nodes(graph); ++i) {
      const TwNode* const node = tw_graph_node(graph, i);
      if (std::string(tw_node_op(node)) != "VariableV2") continue;
      ++variables;
      const char* const fetch = tw_node_name(node);
      TwTensor* value = nullptr;
      ASSERT_EQ(tw_session_run_names(tw_model_session(model.c()), nullptr, nullptr, nullptr, 0,
                                     &fetch, 1, nullptr, 0, &value, nullptr, nullptr),
                TW_OK)
          << fetch;
      tw_tensor_free(value);
    }
    EXPECT_GT(variables, 0);
  }
}

TEST(ModelKindsTest, AGraphHasItsPlaceholdersAndResultsAsSignature) {
  for (const char* extension : {".pb", ".pbtxt"}) {
    const std::string path = (kGolden / "graphs/1.15/string_mix").string() + extension;
    const tw::Model model = tw::Model::Load(Small(), path).OrThrow();
    EXPECT_EQ(model.kind(), "GraphDef");
    const tw::ModelSignature only = model.Signature().OrThrow();
    EXPECT_EQ(only.name, "serving_default");
    EXPECT_FALSE(only.inputs.empty());
    EXPECT_FALSE(only.outputs.empty());
  }
}

// A conditional and a loop of TensorFlow 1, each with something that nobody reads.
TEST(ModelKindsTest, WhatLiesInBranchesAndLoopsIsNoResult) {
  const auto node = [](const std::string& name, const std::string& op, const std::string& inputs,
                       const std::string& more = "attr { key: 'T' value { type: DT_FLOAT } } ") {
    return "node { name: '" + name + "' op: '" + op + "' " + inputs + more + "}\n";
  };
  const auto type = [](const std::string& key, const std::string& name) {
    return "attr { key: '" + key + "' value { type: " + name + " } } ";
  };
  const std::string frame = type("T", "DT_FLOAT") + "attr { key: 'frame_name' value { s: 'f' } } ";
  const std::string two = type("T", "DT_FLOAT") + "attr { key: 'N' value { i: 2 } } ";
  const std::string text =
      node("x", "Placeholder", "", type("dtype", "DT_FLOAT")) +
      node("p", "Placeholder", "", type("dtype", "DT_BOOL")) +
      node("s", "Switch", "input: 'x' input: 'p' ") + node("dead", "Identity", "input: 's' ") +
      node("a", "Neg", "input: 's' ") + node("b", "Square", "input: 's:1' ") +
      node("y", "Merge", "input: 'a' input: 'b' ", two) + node("z", "Identity", "input: 'y' ") +
      node("enter", "Enter", "input: 'z' ", frame) +
      node("m", "Merge", "input: 'enter' input: 'next' ", two) +
      node("zero", "Sub", "input: 'm' input: 'm' ") +
      node("less", "Less", "input: 'm' input: 'zero' ") +
      node("go", "LoopCond", "input: 'less' ", "") +
      node("turn", "Switch", "input: 'm' input: 'go' ") +
      node("inside", "Neg", "input: 'turn:1' ") + node("up", "Neg", "input: 'turn:1' ") +
      node("next", "NextIteration", "input: 'up' ") + node("exit", "Exit", "input: 'turn' ");
  const thalweg::TemporaryDirectory folder;
  const std::string path = folder.Path("branches.pbtxt");
  std::ofstream(path) << text;
  const tw::Model model = tw::Model::Load(Small(), path).OrThrow();
  EXPECT_THAT(Names(model.Signature().OrThrow().outputs), ElementsAre("exit"));
  for (const bool p : {false, true}) {
    const auto out =
        model.Run({{"x", tw::Tensor::Scalar(3.0f)}, {"p", tw::Tensor::Scalar(p)}}).OrThrow();
    EXPECT_EQ(out.at("exit").scalar<float>(), p ? 9.0f : 3.0f);
  }
}

// What is no model, a sentence each.
class BadModelTest : public testing::Test {
 protected:
  std::string Path(const std::string& name = "") const { return (folder_ / name).string(); }
  void Write(const std::string& name, const std::string& bytes) {
    std::ofstream(folder_ / name, std::ios::binary) << bytes;
  }
  void CopyModel() {
    fs::copy(kGolden / "saved_models/2.21/tf2_module", folder_, fs::copy_options::recursive);
  }
  std::string Refusal(const std::string& path) const {
    return tw::Model::Load(Small(), path).status().message();
  }

  const thalweg::TemporaryDirectory directory_;
  const fs::path folder_ = directory_.path();
};

TEST_F(BadModelTest, IsRefusedInOneSentence) {
  EXPECT_EQ(Refusal(Path("none")), Path("none") + ": there is no such file or directory");
  EXPECT_EQ(Refusal(Path()),
            Path() +
                ": a directory without a model: there is neither saved_model.pb nor "
                "saved_model.pbtxt");
  Write("empty.pb", "");
  EXPECT_EQ(Refusal(Path("empty.pb")), Path("empty.pb") + ": half a model: the file is empty");
  Write("junk.pb", "junk");
  EXPECT_THAT(Refusal(Path("junk.pb")),
              HasSubstr(": this is no model: neither a SavedModel, a MetaGraph nor a GraphDef"));
  Write("saved_model.pb", "\x08\x02");
  EXPECT_EQ(Refusal(Path()), Path() +
                                 ": a SavedModel of a newer format, version 2; this build reads "
                                 "version 1");
  Write("saved_model.pb", "\x08\x01");
  EXPECT_EQ(Refusal(Path()), Path() + ": half a model: its message holds no graph");
}

TEST_F(BadModelTest, HalfAModelIsRefused) {
  CopyModel();
  fs::remove_all(folder_ / "assets");
  EXPECT_THAT(Refusal(Path()), HasSubstr(": its initialization failed"));
  fs::remove_all(folder_ / "variables");
  EXPECT_EQ(Refusal(Path()), Path() +
                                 ": half a model: it has variables, but there is no checkpoint " +
                                 Path() + "variables/variables.index");
}

TEST_F(BadModelTest, ADamagedWeightIsFound) {
  CopyModel();
  const fs::path data = folder_ / "variables/variables.data-00000-of-00001";
  std::fstream file(data, std::ios::binary | std::ios::in | std::ios::out);
  file.seekp(40);
  file.put('\x7f');
  file.close();
  EXPECT_THAT(Refusal(Path()), HasSubstr("variables.data-00000-of-00001"));
}

TEST_F(BadModelTest, AModelOutlivesItsFiles) {
  CopyModel();
  const tw::Model model = tw::Model::Load(Small(), Path()).OrThrow();
  fs::resize_file(folder_ / "variables/variables.data-00000-of-00001", 0);
  fs::remove_all(folder_);
  EXPECT_TRUE(model
                  .Run({{"words", tw::Tensor::Strings({"a"}, {1})},
                        {"rounds", tw::Tensor::Scalar<int32_t>(2)}})
                  .ok());
}

TEST_F(BadModelTest, OtherFormatsAreNamed) {
  Write("saved_model.cpb", "x");
  EXPECT_EQ(Refusal(Path()), Path() +
                                 ": a SavedModel in chunks (saved_model.cpb); this build reads "
                                 "saved_model.pb and saved_model.pbtxt");
  const std::pair<std::string, const char*> files[] = {
      {"PK\x03\x04 and more", "a zip archive, as of Keras 3's .keras"},
      {"\x89HDF\r\n and more", "an HDF5 file, as of Keras's .h5"},
      {"\x1c\x02\x01\x01TFL3 and more", "a TFLite model"}};
  for (const auto& [bytes, name] : files) {
    Write("other", bytes);
    EXPECT_EQ(Refusal(Path("other")),
              Path("other") + ": expected a SavedModel, a MetaGraph or a GraphDef, found " + name +
                  "; export a SavedModel from it");
  }
  fs::create_directories(folder_ / "saved_model.pb");
  EXPECT_THAT(Refusal(Path()), testing::StartsWith(Path() + ": "));
}

// A SavedModel as text, whose initialization is the node "init".
std::string WithInitialization(const std::string& nodes, const std::string& more = "") {
  return "saved_model_schema_version: 1 meta_graphs { meta_info_def { tags: 'serve' } graph_def "
         "{ " +
         nodes +
         "node { name: 'x' op: 'Placeholder' attr { key: 'dtype' value { type: DT_FLOAT } } } } "
         "collection_def { key: 'saved_model_main_op' value { node_list { value: 'init' } } } "
         "signature_def { key: 'serving_default' value { inputs { key: 'x' value { name: 'x:0' } } "
         "outputs { key: 'y' value { name: 'x:0' } } } } " +
         more + "}";
}

TEST_F(BadModelTest, ALoadThatWaitsForeverEndsWithItsOptions) {
  const std::string type = " attr { key: 'component_types' value { list { type: DT_FLOAT } } } } ";
  Write("saved_model.pbtxt",
        WithInitialization("node { name: 'q' op: 'FIFOQueueV2'" + type +
                           "node { name: 'd' op: 'QueueDequeueV2' input: 'q'" + type +
                           "node { name: 'init' op: 'NoOp' input: '^d' } "));
  TwRunOptions* const options = tw_run_options_new();
  tw_run_options_timeout_ms(options, 50);
  const tw::Status late =
      tw::Model::Load(Small(), Path(), {.tags = {}, .options = options}).status();
  EXPECT_EQ(late.code(), tw::kDeadlineExceeded);
  EXPECT_THAT(late.message(), testing::StartsWith(Path() + ": its initialization failed"));
  tw_run_options_timeout_ms(options, 0);
  tw_run_options_cancel(options);
  EXPECT_EQ(tw::Model::Load(Small(), Path(), {.tags = {}, .options = options}).status().code(),
            tw::kCancelled);
  tw_run_options_free(options);
}

TEST_F(BadModelTest, AssetsLieBelowTheFolder) {
  const auto load = [&](const std::string& name) {
    Write("saved_model.pbtxt",
          WithInitialization(
              "node { name: 'a' op: 'Placeholder' attr { key: 'dtype' value { type: DT_STRING } } "
              "} node { name: 'init' op: 'NoOp' input: '^a' } ",
              "asset_file_def { tensor_info { name: 'a:0' } filename: '" + name + "' } "));
    return Refusal(Path());
  };
  EXPECT_EQ(load("a..b.txt"), "");
  for (const char* name : {"../a", "b/../../a", "..", "/etc/passwd"}) {
    EXPECT_EQ(load(name), Path() + ": the asset '" + name + "' is not below its folder");
  }
}

TEST_F(BadModelTest, AFailureOfARunBeginsWithThePath) {
  Write("graph.pbtxt",
        "node { name: 'x' op: 'Placeholder' attr { key: 'dtype' value { type: DT_INT32 } } }\n"
        "node { name: 'y' op: 'FloorDiv' input: 'x' input: 'x' attr { key: 'T' value { type: "
        "DT_INT32 } } }");
  const tw::Model model = tw::Model::Load(Small(), Path("graph.pbtxt")).OrThrow();
  EXPECT_EQ(model.path(), Path("graph.pbtxt"));
  const std::string label = Path("graph.pbtxt") + ": signature 'serving_default'";
  EXPECT_THAT(model.Run({{"x", tw::Tensor::Scalar<int32_t>(0)}}).status().message(),
              testing::StartsWith(label + ": "));
  EXPECT_EQ(model.RunInOrder({}).status().message(), label + " has 1 inputs, got 0");
}

// Two results, of which one needs what nobody knows.
constexpr char kUnknown[] = R"(
node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } } }
node { name: "good" op: "Neg" input: "x" attr { key: "T" value { type: DT_FLOAT } } }
node { name: "strange" op: "MatMull" input: "x" }
node { name: "other" op: "Zzyzx" input: "strange" input: "x" }
)";

TEST_F(BadModelTest, WhatIsNotKnownIsNamedAndTheRestServes) {
  Write("graph.pbtxt", kUnknown);
  const tw::Model model = tw::Model::Load(Small(), Path("graph.pbtxt")).OrThrow();
  EXPECT_THAT(model.unknown_operations(),
              testing::MatchesRegex("'MatMull' \\(nearest: .*'MatMul'.*\\), 'Zzyzx'.*"));
  const auto out = model.Run({{"x", tw::Tensor::Scalar(2.0f)}}).OrThrow();
  EXPECT_EQ(out.size(), 1u);
  EXPECT_EQ(out.at("good").scalar<float>(), -2.0f);
}

TEST_F(BadModelTest, ASignatureThatNeedsWhatIsNotKnownSaysSo) {
  const auto signature = [](const std::string& name, const std::string& tensor) {
    return "signature_def { key: \"" + name + "\" value { inputs { key: \"in\" value { name: " +
           "\"x:0\" dtype: DT_FLOAT } } outputs { key: \"out\" value { name: \"" + tensor +
           ":0\" dtype: DT_FLOAT } } } }\n";
  };
  const std::string graph = std::string("graph_def {") + kUnknown + "}\n";
  Write("model.pbtxt", graph + signature("bad", "other") + signature("good", "good"));
  const tw::Model model = tw::Model::Load(Small(), Path("model.pbtxt")).OrThrow();
  const std::vector<std::pair<std::string, tw::Tensor>> in = {{"in", tw::Tensor::Scalar(2.0f)}};
  EXPECT_EQ(model.Run(in, "good").OrThrow().at("out").scalar<float>(), -2.0f);
  EXPECT_THAT(model.Run(in, "bad").status().message(),
              testing::AllOf(HasSubstr(": signature 'bad': it needs operations that this build "
                                       "does not have: 'MatMull'"),
                             HasSubstr("'Zzyzx'")));
  EXPECT_NE(model.signatures()[0].unusable, "");
  Write("none.pbtxt", graph + signature("bad", "other"));
  EXPECT_THAT(Refusal(Path("none.pbtxt")), HasSubstr("no signature can do without operations"));
}

TEST_F(BadModelTest, WrongArgumentsOfTheCFunctions) {
  EXPECT_EQ(tw_model_load(nullptr, "x", nullptr, nullptr), nullptr);
  EXPECT_EQ(tw_model_num_signatures(nullptr), 0);
  EXPECT_EQ(tw_model_find_signature(nullptr, "x", nullptr), -1);
  EXPECT_STREQ(tw_model_kind(nullptr), "");
  EXPECT_EQ(tw_model_graph(nullptr), nullptr);
  Write("graph.pbtxt", kUnknown);
  const tw::Model model = tw::Model::Load(Small(), Path("graph.pbtxt")).OrThrow();
  TwModelTensor tensor;
  EXPECT_EQ(tw_model_input(model.c(), 1, 0, &tensor, nullptr), 3);
  EXPECT_EQ(tw_model_input(model.c(), 0, 1, &tensor, nullptr), 3);
  EXPECT_EQ(tw_model_output(model.c(), 0, -1, &tensor, nullptr), 3);
  EXPECT_EQ(tw_model_run(model.c(), 0, nullptr, nullptr, nullptr, nullptr, nullptr), 3);
  TwTensor* const none = nullptr;
  TwTensor* result = nullptr;
  EXPECT_EQ(tw_model_run(model.c(), 0, nullptr, &none, &result, nullptr, nullptr), 3);
}

}  // namespace
