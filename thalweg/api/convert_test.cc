// SPDX-License-Identifier: Apache-2.0
// Models of both releases (tests/golden) converted, verified and counted from C++ and C.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <limits>

#include "thalweg/base/test_temporary_directory.h"
#include "thalweg/model.h"

namespace {

using testing::HasSubstr;
namespace fs = std::filesystem;

const fs::path kGoldenFiles = THALWEG_GOLDEN_DIR;
using FedInputs = std::vector<std::pair<std::string, tw::Tensor>>;

tw::Environment OneThread() { return tw::Environment::Create({.threads = 1}).OrThrow(); }

class ConvertTest : public testing::Test {
 protected:
  std::string Path(const std::string& name) const { return (folder_ / name).string(); }
  tw::Model LoadText(const std::string& name, const std::string& text) {
    std::ofstream(folder_ / name) << text;
    return tw::Model::Load(OneThread(), Path(name)).OrThrow();
  }

  const thalweg::TemporaryDirectory directory_;
  const fs::path folder_ = directory_.path();
};

void ExpectSameResults(const tw::NamedTensors& a, const tw::NamedTensors& b) {
  ASSERT_EQ(a.size(), b.size());
  for (const auto& [name, value] : a) {
    ASSERT_EQ(b.count(name), 1u) << name;
    const tw::Tensor& other = b.at(name);
    ASSERT_EQ(value.shape(), other.shape()) << name;
    ASSERT_EQ(value.dtype(), other.dtype()) << name;
    for (int64_t i = 0; i < value.num_elements(); ++i) {
      if (value.dtype() == tw::kFloat) {
        EXPECT_NEAR(value.data<float>()[i], other.data<float>()[i], 1e-5) << name << " " << i;
      } else if (value.dtype() == tw::kInt64) {
        EXPECT_EQ(value.data<int64_t>()[i], other.data<int64_t>()[i]) << name << " " << i;
      }
    }
  }
}

class ConvertReleasesTest : public ConvertTest, public testing::WithParamInterface<const char*> {};

TEST_P(ConvertReleasesTest, FunctionsALoopAndATableBecomeOneGraph) {
  const std::string path = (kGoldenFiles / "saved_models" / GetParam() / "tf2_module").string();
  const tw::Model model = tw::Model::Load(OneThread(), path).OrThrow();
  model.Convert(Path("out"), "", {.saved_model = true}).OrThrow();
  // Nothing but the one file: neither variables nor assets.
  EXPECT_EQ(std::distance(fs::directory_iterator(Path("out")), fs::directory_iterator()), 1);
  const tw::Model frozen = tw::Model::Load(OneThread(), Path("out")).OrThrow();
  EXPECT_EQ(frozen.Signature().OrThrow().ToString(), "serving_default(rounds, words) -> ids, y");
  for (const char* word : {"nobody", "fox", "the"}) {
    for (const int rounds : {0, 1, 4}) {
      const FedInputs inputs = {{"words", tw::Tensor::Strings({word}, {1})},
                                {"rounds", tw::Tensor::Scalar<int32_t>(rounds)}};
      ExpectSameResults(model.Run(inputs).OrThrow(), frozen.Run(inputs).OrThrow());
    }
  }
  EXPECT_EQ(model.Convert(Path("out"), "", {.saved_model = true}).code(), tw::kAlreadyExists);
  const tw::Status table = model.Convert(Path("frozen.pb"));
  EXPECT_EQ(table.code(), tw::kFailedPrecondition);
  EXPECT_THAT(table.message(), testing::StartsWith(path + ": signature 'serving_default': "));
  EXPECT_THAT(table.message(), HasSubstr("nothing in a GraphDef fills a table"));
  const tw::Status changes = model.Convert(Path("frozen.pb"), "count");
  EXPECT_THAT(changes.message(), HasSubstr("does more with the variable"));
}

TEST_P(ConvertReleasesTest, ANodeThatIsCalledAsAReadIsNotTheVariablesValue) {
  const std::string path = (kGoldenFiles / "saved_models" / GetParam() / "tf2_module").string();
  const tw::Model model = tw::Model::Load(OneThread(), path).OrThrow();
  TwGraph* const graph = tw_model_graph(model.c());
  int variables = 0;
  for (int32_t i = tw_graph_num_nodes(graph) - 1; i >= 0; --i) {
    const TwNode* const node = tw_graph_node(graph, i);
    if (std::string(tw_node_op(node)) != "VarHandleOp") continue;
    ++variables;
    const std::string name = std::string(tw_node_name(node)) + "/frozen_value";
    TwNodeBuilder* const builder = tw_node_builder_new(graph, "Const", name.c_str());
    tw::Attr("dtype", tw::kFloat).Set(builder);
    tw::Attr("value", tw::Tensor::Scalar(1e9f)).Set(builder);
    ASSERT_NE(tw_node_builder_finish(builder, nullptr), nullptr) << name;
  }
  ASSERT_GT(variables, 0);
  model.Convert(Path("out"), "", {.saved_model = true}).OrThrow();
  const tw::Model frozen = tw::Model::Load(OneThread(), Path("out")).OrThrow();
  const FedInputs inputs = {{"words", tw::Tensor::Strings({"fox"}, {1})},
                            {"rounds", tw::Tensor::Scalar<int32_t>(2)}};
  ExpectSameResults(model.Run(inputs).OrThrow(), frozen.Run(inputs).OrThrow());
}

TEST_P(ConvertReleasesTest, AGraphKeepsItsNames) {
  const std::string path = (kGoldenFiles / "graphs" / GetParam() / "convnet.pb").string();
  const tw::Model model = tw::Model::Load(OneThread(), path).OrThrow();
  model.Convert(Path("frozen.pbtxt")).OrThrow();
  const tw::Model frozen = tw::Model::Load(OneThread(), Path("frozen.pbtxt")).OrThrow();
  EXPECT_EQ(frozen.Signature().OrThrow().ToString(), model.Signature().OrThrow().ToString());
}

INSTANTIATE_TEST_SUITE_P(Releases, ConvertReleasesTest, testing::Values("1.15", "2.21"),
                         [](const auto& info) {
                           return std::string(info.param) == "1.15" ? "of_1_15" : "of_2_21";
                         });

std::string NodeText(const std::string& name, const std::string& op, const std::string& inputs,
                     const std::string& attrs = "attr { key: 'T' value { type: DT_FLOAT } } ") {
  return "node { name: '" + name + "' op: '" + op + "' " + inputs + attrs + "}\n";
}

const std::string kFloatType = "attr { key: 'dtype' value { type: DT_FLOAT } } ";

TEST_F(ConvertTest, NamesOfTheSignatureWin) {
  // The nodes are called otherwise, one of them as an output is; both outputs are one tensor.
  const tw::Model model = LoadText(
      "model.pbtxt",
      "graph_def { " + NodeText("input_1", "Placeholder", "", kFloatType) +
          NodeText("y", "Neg", "input: 'input_1' ") + NodeText("z", "Square", "input: 'y' ") +
          NodeText("unread", "Placeholder", "", kFloatType) +
          "} signature_def { key: 'serving_default' value { "
          "inputs { key: 'x' value { name: 'input_1:0' } } "
          "inputs { key: 'a b' value { name: 'unread:0' } } "
          "outputs { key: 'y' value { name: 'z:0' } } outputs { key: 'again' value { name: 'z:0' "
          "} } outputs { key: 'x' value { name: 'input_1:0' } } } }");
  model.Convert(Path("frozen.pb")).OrThrow();
  const tw::Model frozen = tw::Model::Load(OneThread(), Path("frozen.pb")).OrThrow();
  EXPECT_EQ(frozen.Signature().OrThrow().ToString(), "serving_default(a_b, x) -> again, x_1, y");
  const auto out =
      frozen.Run({{"x", tw::Tensor::Scalar(3.0f)}, {"a_b", tw::Tensor::Scalar(1.0f)}}).OrThrow();
  EXPECT_EQ(out.at("y").scalar<float>(), 9);
  EXPECT_EQ(out.at("again").scalar<float>(), 9);
  EXPECT_EQ(out.at("x_1").scalar<float>(), 3);
  model.Convert(Path("saved"), "", {.saved_model = true}).OrThrow();
  EXPECT_EQ(tw::Model::Load(OneThread(), Path("saved")).OrThrow().Signature().OrThrow().ToString(),
            "serving_default(a b, x) -> again, x, y");
}

TEST_F(ConvertTest, OtherTensorsAreFetched) {
  const tw::Model model = LoadText("model.pbtxt", NodeText("x", "Placeholder", "", kFloatType) +
                                                      NodeText("h", "Neg", "input: 'x' ") +
                                                      NodeText("y", "Square", "input: 'h' "));
  const auto fetched = model.Fetch({"h:0", "y"}, {{"x", tw::Tensor::Scalar(3.0f)}}).OrThrow();
  EXPECT_EQ(fetched[0].scalar<float>(), -3);
  EXPECT_EQ(fetched[1].scalar<float>(), 9);
  EXPECT_EQ(model.Fetch({"y"}, {{"h", tw::Tensor::Scalar(2.0f)}}).OrThrow()[0].scalar<float>(), 4);
  EXPECT_THAT(model.Fetch({"q"}).status().message(),
              testing::StartsWith(Path("model.pbtxt") + ": fetch 'q': "));
}

std::string TakeJson(TwBuffer* buffer) {
  std::string text(static_cast<const char*>(tw_buffer_data(buffer)), tw_buffer_size(buffer));
  tw_buffer_free(buffer);
  return text;
}

TEST_F(ConvertTest, TheFirstDifferenceIsNamedWithItsInputs) {
  const tw::Model model =
      LoadText("model.pbtxt",
               NodeText("x", "Placeholder", "", kFloatType) + NodeText("a", "Neg", "input: 'x' ") +
                   NodeText("b", "Square", "input: 'a' ") + NodeText("c", "Neg", "input: 'b' "));
  const auto verify = [&](float a, float b, float c, double rtol) {
    const char* names[] = {"c", "b", "a:0"};
    const tw::Tensor x = tw::Tensor::Scalar(3.0f),
                     given[] = {tw::Tensor::Scalar(c), tw::Tensor::Scalar(b),
                                tw::Tensor::Scalar(a)};
    TwTensor* const values[] = {given[0].c(), given[1].c(), given[2].c()};
    TwTensor* const input = x.c();
    const char* input_name = "x";
    TwVerifyOptions options{};
    options.struct_size = sizeof options;
    options.rtol = rtol;
    return TakeJson(
        tw_model_verify(model.c(), 0, &input_name, &input, 1, names, values, 3, &options, nullptr));
  };
  EXPECT_THAT(verify(-3, 9, -9, 0), HasSubstr("{\"same\": true, \"first\": null"));
  EXPECT_THAT(verify(-3, 9, -9, 0), HasSubstr("], \"missing\": []}"));
  // In the graph's order, whatever that of the record is.
  const std::string found = verify(-3.001f, 8, -9, 0.01);
  EXPECT_THAT(found, HasSubstr("{\"same\": false, \"first\": 1, \"values\": [{\"name\": \"a:0\""));
  EXPECT_THAT(found, HasSubstr("\"tensor\": \"b:0\", \"operation\": \"Square\", \"same\": false, "
                               "\"differing\": 1, \"max_abs\": 1, "));
  EXPECT_THAT(found, HasSubstr("\"found\": 9, \"expected\": 8, \"inputs\": [0]}"));
  EXPECT_THAT(found, HasSubstr("\"same\": true, \"differing\": 1, \"max_abs\": 0.00"));
}

TEST_F(ConvertTest, AModelOnADeviceAndWithoutPasses) {
  LoadText("model.pbtxt",
           NodeText("x", "Placeholder", "", kFloatType) + NodeText("y", "Neg", "input: 'x' "));
  const tw::Environment two = tw::Environment::Create({.threads = 0, .cpu_devices = 2}).OrThrow();
  const auto load = [&](const std::string& device, const std::string& passes) {
    return tw::Model::Load(two, Path("model.pbtxt"), {.passes = passes, .device = device});
  };
  const tw::Model there = load("/cpu:1", "none").OrThrow();
  tw::internal::StatusHolder status;
  EXPECT_THAT(TakeJson(tw_session_explain_placement(tw_model_session(there.c()), "y", status.c)),
              HasSubstr("device:CPU:1"));
  EXPECT_EQ(there.Run({{"x", tw::Tensor::Scalar(3.0f)}}).OrThrow().at("y").scalar<float>(), -3);
  EXPECT_THAT(load("/gpu:0", "").status().message(),
              HasSubstr("model.pbtxt: there is no device '/gpu:0', but /job:localhost"));
  EXPECT_THAT(load("/cpu:x", "").status().message(), HasSubstr("/cpu:x"));
  EXPECT_THAT(load("", "-nothing").status().message(), HasSubstr("nothing"));
}

TEST_F(ConvertTest, WhatATensorIsLike) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const tw::Tensor x = tw::Tensor::Of<float>({0, 4, nan, -1}, {2, 2});
  EXPECT_EQ(TakeJson(tw_tensor_statistics(x.c(), nullptr)),
            "{\"dtype\": \"float32\", \"shape\": [2, 2], \"statistics\": {\"min\": -1, \"max\": 4, "
            "\"mean\": 1, \"deviation\": 2.160246899469287, \"zeros\": 1, \"nans\": 1, "
            "\"infinities\": 0}}");
  EXPECT_EQ(tw_tensor_statistics(nullptr, nullptr), nullptr);
}

TEST_F(ConvertTest, CostsOfABatch) {
  const tw::Model model = LoadText(
      "model.pbtxt",
      NodeText("x", "Placeholder", "",
               kFloatType +
                   "attr { key: 'shape' value { shape { dim { size: -1 } dim { size: 2 } } } } ") +
          NodeText("w", "Const", "",
                   kFloatType +
                       "attr { key: 'value' value { tensor { dtype: DT_FLOAT tensor_shape { dim "
                       "{ size: 2 } dim { size: 5 } } float_val: 1 } } } ") +
          NodeText("m", "MatMul", "input: 'x' input: 'w' ") + NodeText("y", "Relu", "input: 'm' "));
  TwCostOptions options{};
  options.struct_size = sizeof options;
  options.batch = 3;
  const std::string found = TakeJson(tw_model_costs(model.c(), 0, &options, nullptr));
  EXPECT_THAT(found, HasSubstr("\"inputs\": {\"x\": [3, 2]}"));
  EXPECT_THAT(found,
              HasSubstr("{\"name\": \"MatMul\", \"known\": true, \"count\": 1, \"flops\": 60"));
  EXPECT_THAT(found, HasSubstr("\"flops\": 75, "));
  EXPECT_THAT(found, HasSubstr("\"constant_bytes\": 40, \"peak_bytes\": 60, "));
  const char* input = "z";
  const int64_t dim = 3, *dims = &dim;
  const int32_t rank = 1;
  options.inputs = &input;
  options.dims = &dims;
  options.ranks = &rank;
  options.num_inputs = 1;
  TwStatus* const status = tw_status_new();
  EXPECT_EQ(tw_model_costs(model.c(), 0, &options, status), nullptr);
  EXPECT_EQ(std::string(tw_status_message(status)),
            Path("model.pbtxt") + ": signature 'serving_default': it has no input 'z'");
  tw_status_free(status);
}

TEST_F(ConvertTest, WrongArgumentsOfTheCFunctions) {
  const tw::Model model = LoadText("model.pbtxt", NodeText("x", "Placeholder", "", kFloatType) +
                                                      NodeText("y", "Neg", "input: 'x' "));
  EXPECT_EQ(tw_model_convert(nullptr, 0, "x", nullptr, nullptr), 3);
  EXPECT_EQ(tw_model_convert(model.c(), 1, "x", nullptr, nullptr), 3);
  EXPECT_EQ(tw_model_convert(model.c(), 0, nullptr, nullptr, nullptr), 3);
  EXPECT_EQ(tw_model_costs(nullptr, 0, nullptr, nullptr), nullptr);
  EXPECT_EQ(tw_model_recordable(model.c(), 7, nullptr), nullptr);
  EXPECT_EQ(TakeJson(tw_model_recordable(model.c(), 0, nullptr)), "[\"y:0\"]");
  EXPECT_EQ(
      tw_model_verify(model.c(), 0, nullptr, nullptr, 1, nullptr, nullptr, 0, nullptr, nullptr),
      nullptr);
  EXPECT_EQ(
      tw_model_fetch(model.c(), 0, nullptr, nullptr, nullptr, 0, nullptr, 1, nullptr, nullptr), 3);
  EXPECT_EQ(tw_saved_model_read(nullptr, nullptr, 0, nullptr, nullptr, nullptr), 3);
}

}  // namespace
