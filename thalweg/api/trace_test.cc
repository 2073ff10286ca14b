// SPDX-License-Identifier: Apache-2.0
// Traces from C++: a step of this process, files of it.
#include "thalweg/api/trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "thalweg/base/test_temporary_directory.h"
#include "thalweg/thalweg.h"

namespace {

using ::testing::HasSubstr;

class TraceApiTest : public testing::Test {
 protected:
  TraceApiTest() {
    x_ = graph_.Placeholder("x", tw::kFloat, {2});
    y_ = graph_.Op("Neg", {graph_.Op("Exp", {x_}, {}, "layer1/exp")}, {}, "layer2/neg");
  }

  thalweg::TemporaryDirectory directory_;
  tw::Environment environment_ = tw::Environment::Create().OrThrow();
  tw::Graph graph_{environment_};
  tw::Output x_, y_;
};

TEST_F(TraceApiTest, AStepIsRecordedPackedAndToldOf) {
  tw::Session session = tw::Session::Create(graph_).OrThrow();
  const tw::Feeds feeds = {{x_, tw::Tensor::Of<float>({0, 0}, {2})}};
  const tw::TracedRun run = tw::RunTraced(session, feeds, {y_}).OrThrow();
  ASSERT_EQ(run.values.size(), 1u);
  EXPECT_EQ(run.values[0].data<float>()[1], -1);
  const std::string packed = tw::PackTrace(run.recording).OrThrow();
  EXPECT_EQ(tw::UnpackTrace(packed).OrThrow(), run.recording);
  EXPECT_FALSE(tw::UnpackTrace(packed.substr(0, packed.size() - 3)).ok());

  const std::string path = directory_.Path("step.trace");
  std::ofstream(path, std::ios::binary) << packed;
  EXPECT_THAT(tw::TellTrace({path}, TW_TRACE_SUMMARY).OrThrow(), HasSubstr("\"nodes\""));
  EXPECT_THAT(tw::TellTrace({path}, TW_TRACE_PAGE).OrThrow(), HasSubstr("</html>"));
  tw::TraceOptions nobody;
  nobody.nodes = {"nobody"};
  EXPECT_THAT(tw::TellTrace({path}, TW_TRACE_SUMMARY, nobody).status().message(),
              HasSubstr("the filter leaves none"));
  EXPECT_THAT(tw::TellTrace({directory_.Path("none")}, TW_TRACE_SUMMARY).status().message(),
              HasSubstr("none"));
}

TEST_F(TraceApiTest, AStepThatFailsIsAnError) {
  tw::Session session = tw::Session::Create(graph_).OrThrow();
  EXPECT_THAT(tw::RunTraced(session, {}, {y_}).status().message(), HasSubstr("'x'"));
}

}  // namespace
