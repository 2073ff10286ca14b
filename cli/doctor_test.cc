// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "test_command.h"

namespace cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// Which findings there are is the machine's; the status says whether one of them is wrong.
TEST_F(CommandFolder, DoctorTellsOfTheMachine) {
  const int status =
      RunShell(std::string(THALWEG_COMMAND) + " doctor --quick --json 2> " + Path("errors"));
  const nlohmann::json report = nlohmann::json::parse(output);
  bool wrong = false;
  for (const auto& finding : report.at("findings")) {
    wrong = wrong || finding.at("kind") == "wrong";
    EXPECT_NE(finding.at("remedy"), "");
  }
  EXPECT_EQ(status, wrong ? 1 : 0);
  EXPECT_GT(report.at("machine").at("usable_processors"), 0);
  EXPECT_GT(report.at("machine").at("memory_bytes"), 0);
  EXPECT_EQ(report.at("library").at("missing_components").size(), 0U);
  EXPECT_FALSE(report.contains("roof"));

  EXPECT_EQ(Run("doctor --quick"), status);
  EXPECT_THAT(output, HasSubstr("/device:CPU:0"));
  EXPECT_THAT(output, Not(HasSubstr("GFLOP/s")));
  EXPECT_EQ(Run("doctor"), status);
  EXPECT_THAT(output, HasSubstr("GFLOP/s with one thread"));
  EXPECT_EQ(Run("doctor twice"), 2);
}

}  // namespace
}  // namespace cli
