// SPDX-License-Identifier: Apache-2.0
// PyFunc through the C ABI: what a host's function is given, what it may give, and what is said of
// the rest.
#include <gtest/gtest.h>

#include <string>

#include "thalweg/thalweg.h"

namespace {

// Tokens choose what it does.
TwCode Host(void* calls, const char* token, size_t size, const TwTensor* const* inputs,
            int32_t num_inputs, const TwDataType*, TwTensor** outputs, int32_t num_outputs,
            TwStatus* status) {
  ++*static_cast<int*>(calls);
  const std::string what(token, size);
  if (what == "refuse") {
    tw_status_set(status, 9, "not today");
    return 9;
  }
  if (what == "silent") return 3;
  if (what == "nothing") return TW_OK;
  EXPECT_EQ(num_inputs, 1);
  EXPECT_EQ(num_outputs, 1);
  const float x = *static_cast<const float*>(tw_tensor_data(inputs[0]));
  outputs[0] = tw_tensor_new(what == "wrong" ? tw::kDouble : tw::kFloat, nullptr, 0, nullptr);
  if (what != "wrong") *static_cast<float*>(tw_tensor_data(outputs[0])) = 2 * x;
  return TW_OK;
}

class HostFunctionTest : public testing::Test {
 protected:
  void SetUp() override { tw_set_host_function(Host, &calls_); }
  void TearDown() override { tw_set_host_function(nullptr, nullptr); }

  tw::Status RunOf(const std::string& token, float* value = nullptr) {
    tw::Graph graph(environment_);
    graph
        .Import(
            "node { name: 'x' op: 'Const' attr { key: 'dtype' value { type: DT_FLOAT } }"
            " attr { key: 'value' value { tensor { dtype: DT_FLOAT tensor_shape { }"
            " float_val: 21 } } } }"
            "node { name: 'f' op: 'PyFunc' input: 'x'"
            " attr { key: 'token' value { s: '" +
                token +
                "' } } attr { key: 'Tin' value { list { type: DT_FLOAT } } }"
                " attr { key: 'Tout' value { list { type: DT_FLOAT } } } }",
            true)
        .OrThrow();
    tw::Session session = tw::Session::Create(graph).OrThrow();
    auto got = session.Run({}, {graph.Find("f:0").OrThrow()});
    const tw::Status status = got.status();
    if (status.ok() && value != nullptr) *value = std::move(got).OrThrow()[0].scalar<float>();
    return status;
  }

  tw::Environment environment_ = tw::Environment::Create({.threads = 0}).OrThrow();
  int calls_ = 0;
};

TEST_F(HostFunctionTest, TheFunctionIsCalledInEveryStep) {
  float value = 0;
  ASSERT_TRUE(RunOf("double", &value).ok());
  EXPECT_EQ(value, 42);
  EXPECT_EQ(calls_, 1);
}

TEST_F(HostFunctionTest, ErrorsAreTheStepsOwn) {
  const auto refused = RunOf("refuse");
  EXPECT_EQ(refused.code(), 9);
  EXPECT_NE(refused.message().find("not today"), std::string::npos);
  EXPECT_NE(refused.message().find("'f'"), std::string::npos);
  EXPECT_EQ(RunOf("silent").code(), 13);
  EXPECT_EQ(RunOf("nothing").code(), 13);
  EXPECT_EQ(RunOf("wrong").code(), 3);
  EXPECT_EQ(calls_, 4);
}

TEST_F(HostFunctionTest, AProcessWithoutFunctionsSaysSo) {
  tw_set_host_function(nullptr, nullptr);
  const auto none = RunOf("double");
  EXPECT_EQ(none.code(), 9);
  EXPECT_NE(none.message().find("that process only"), std::string::npos) << none.message();
}

}  // namespace
