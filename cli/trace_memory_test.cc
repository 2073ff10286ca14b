// SPDX-License-Identifier: Apache-2.0
// `thalweg trace memory` on what both releases recorded of a step.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "npy.h"
#include "test_command.h"

namespace cli {
namespace {

using ::testing::HasSubstr;

TEST_F(CommandFolder, TraceMemoryOfTensorFlowsSteps) {
  for (const char* release : {"1.15", "2.21"}) {
    const std::string file = Golden("events/" + std::string(release) + "/run_metadata.pb");
    ASSERT_EQ(Run("trace memory " + file), 0) << output;
    EXPECT_THAT(output, HasSubstr("/device:CPU:0: "));
    EXPECT_THAT(output, HasSubstr("who holds it then"));
    EXPECT_THAT(output, HasSubstr("variables"));
    EXPECT_THAT(output, HasSubstr("float32[3,2]"));
    EXPECT_THAT(output, HasSubstr("VariableV2"));
    ASSERT_EQ(Run("trace memory --json " + file), 0) << output;
    EXPECT_THAT(output, HasSubstr("\"variables\":24"));
    ASSERT_EQ(Run("trace memory " + Golden("traces/cluster_" + std::string(release) + ".pb")), 0)
        << output;
    EXPECT_THAT(output, HasSubstr("/job:ps/replica:0/task:0/device:CPU:0: 160 kB at the peak"));
  }
}

TEST_F(CommandFolder, TraceMemoryOfWhatIsNoTrace) {
  EXPECT_EQ(Run("trace memory " + Path("none.pb")), 1);
  EXPECT_THAT(output, HasSubstr("none.pb"));
  const std::string file = Golden("traces/cluster_2.21.pb");
  EXPECT_EQ(Run("trace memory --step 5 " + file), 1);
  EXPECT_THAT(output, HasSubstr("there is no step 5"));
  WriteFile(Path("text.pbtxt"),
            "step_stats { dev_stats { device: \"/device:CPU:0\" node_stats { node_name: \"x\" "
            "all_start_micros: 5 } } }");
  EXPECT_EQ(Run("trace memory " + Path("text.pbtxt")), 1);
  EXPECT_THAT(output, HasSubstr("FULL_TRACE"));
}

}  // namespace
}  // namespace cli
