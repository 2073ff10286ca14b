// SPDX-License-Identifier: Apache-2.0
// `thalweg trace` on what both releases recorded of one step of a cluster.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "npy.h"
#include "test_command.h"

namespace cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST_F(CommandFolder, TraceSummaryOfTensorFlowsSteps) {
  for (const char* release : {"1.15", "2.21"}) {
    const std::string file = Golden("traces/cluster_" + std::string(release) + ".pb");
    ASSERT_EQ(Run("trace summary " + file), 0) << output;
    EXPECT_THAT(output, HasSubstr("communication, "));
    EXPECT_THAT(
        output,
        HasSubstr("for 160 kB (edge_6_y) that /job:worker/replica:0/task:0/device:CPU:0 had sent"));
    EXPECT_THAT(output,
                HasSubstr("clock of /job:ps/replica:0/task:0: not moved, off by at most 1."));
    ASSERT_EQ(Run("trace summary --json " + file), 0) << output;
    EXPECT_THAT(output, HasSubstr("\"kind\":\"transfer\""));
  }
}

TEST_F(CommandFolder, TraceExportAndWhatIsNoTrace) {
  const std::string file = Golden("traces/cluster_2.21.pb");
  ASSERT_EQ(Run("trace export " + file + " -o " + Path("step.json")), 0) << output;
  EXPECT_THAT(ReadFile(Path("step.json")), HasSubstr("\"traceEvents\""));
  EXPECT_EQ(Run("trace export " + file + " -o " + Path("step.json")), 1);
  EXPECT_THAT(output, HasSubstr("--force"));
  EXPECT_EQ(Run("trace summary --step 5 " + file), 1);
  EXPECT_THAT(output, HasSubstr("there is no step 5: the trace has 1"));
  EXPECT_EQ(Run("trace summary " + Path("none.pb")), 1);
  EXPECT_THAT(output, HasSubstr("none.pb"));
  EXPECT_EQ(Run("trace summary " + Path("step.json")), 1);
  EXPECT_THAT(output, HasSubstr("expected a RunMetadata message (binary or .pbtxt), found JSON"));
  WriteFile(Path("cut.pb"), ReadFile(file).substr(0, 2000));
  EXPECT_EQ(Run("trace summary " + Path("cut.pb")), 0) << output;
  EXPECT_THAT(output, HasSubstr("is cut off or damaged"));
  EXPECT_EQ(Run("trace"), 2);
}

TEST_F(CommandFolder, TraceExportForPerfetto) {
  const std::string file = Golden("traces/cluster_2.21.pb");
  ASSERT_EQ(Run("trace export --format perfetto " + file + " -o " + Path("a.bin")), 0) << output;
  const std::string bytes = ReadFile(Path("a.bin"));
  EXPECT_THAT(bytes, HasSubstr("lane 0"));
  EXPECT_THAT(bytes, HasSubstr("busy lanes"));
  EXPECT_THAT(bytes, HasSubstr("memory: "));
  EXPECT_THAT(bytes, Not(HasSubstr("traceEvents")));
  for (const char* name : {"b.pftrace", "c.perfetto-trace"}) {
    ASSERT_EQ(Run("trace export " + file + " -o " + Path(name)), 0) << output;
    EXPECT_EQ(ReadFile(Path(name)), bytes);
  }
  ASSERT_EQ(Run("trace export --format chrome " + file + " -o " + Path("d.pftrace")), 0) << output;
  EXPECT_THAT(ReadFile(Path("d.pftrace")), HasSubstr("traceEvents"));
  EXPECT_EQ(Run("trace export --format other " + file), 2);
}

TEST_F(CommandFolder, TraceVerbsTakeOneFilter) {
  const std::string file = Golden("traces/cluster_2.21.pb");
  for (const std::string& verb :
       std::vector<std::string>{"summary", "view --force -o " + Path("f.html"),
                                "export --force -o " + Path("f.json"), "memory"}) {
    ASSERT_EQ(Run("trace " + verb + " --task ps --min-duration 1ns --from 0us --to 10s " + file), 0)
        << output;
    EXPECT_EQ(Run("trace " + verb + " --node nobody " + file), 1);
    EXPECT_THAT(output, HasSubstr("the filter leaves none of "));
    EXPECT_EQ(Run("trace " + verb + " --from 5 " + file), 2);
    EXPECT_THAT(output,
                HasSubstr("expected a time such as 5ms (ns, us, ms, s, min, h), found \"5\""));
    EXPECT_EQ(Run("trace " + verb + " --from 5ms --to 2ms " + file), 2);
    EXPECT_THAT(output, HasSubstr("expected a time after that of --from"));
  }
  EXPECT_THAT(ReadFile(Path("f.json")), HasSubstr("edge_6_y"));
  EXPECT_THAT(ReadFile(Path("f.json")), Not(HasSubstr("edge_4_v"))) << "what the worker received";
  ASSERT_EQ(Run("trace summary --task ps " + file), 0) << output;
  EXPECT_THAT(output, HasSubstr("A filter left "));
  EXPECT_THAT(output, Not(HasSubstr("edge_4_v")));
}

TEST_F(CommandFolder, TraceCompareSaysWhatChanged) {
  const std::string older = Golden("traces/cluster_1.15.pb"),
                    newer = Golden("traces/cluster_2.21.pb");
  ASSERT_EQ(Run("trace compare " + older + " " + newer), 0) << output;
  EXPECT_THAT(output, HasSubstr("A step takes "));
  EXPECT_THAT(output, HasSubstr("one step a side: what is noise is not known"));
  EXPECT_THAT(output, HasSubstr("where it went (critical path):\n   before"));
  ASSERT_EQ(Run("trace compare " + older + " " + older), 0) << output;
  EXPECT_THAT(output, HasSubstr("A step takes as long as before: "));
  EXPECT_THAT(output, Not(HasSubstr("nodes that take longer")));
  const std::string both = older + " " + newer;
  ASSERT_EQ(Run("trace compare --before " + both + " --after " + both + " --json"), 0) << output;
  EXPECT_THAT(output, HasSubstr("\"difference_nanos\":0"));
  EXPECT_THAT(output, HasSubstr("\"change\":\"none\""));
  WriteFile(Path("cut.pb"), ReadFile(older).substr(0, 2000));
  EXPECT_EQ(Run("trace compare " + Path("cut.pb") + " " + older), 0) << output;
  EXPECT_THAT(output, HasSubstr("thalweg: before: "));
  EXPECT_THAT(output, HasSubstr("is cut off or damaged"));
  EXPECT_EQ(Run("trace compare " + older + " " + Path("none.pb")), 1);
  EXPECT_THAT(output, HasSubstr("none.pb"));
}

TEST_F(CommandFolder, TraceCompareTakesTwoSides) {
  const std::string file = Golden("traces/cluster_2.21.pb");
  for (const std::string& wrong :
       {file, file + " " + file + " " + file, "--before " + file, "--after " + file,
        file + " --before " + file + " --after " + file, std::string()}) {
    EXPECT_EQ(Run("trace compare " + wrong), 2) << wrong << "\n" << output;
    EXPECT_THAT(output, HasSubstr("expected BEFORE AFTER, or --before FILE... --after FILE..."));
  }
}

TEST_F(CommandFolder, TraceViewIsOnePage) {
  const std::string file = Golden("traces/cluster_1.15.pb"), page = Path("step.html");
  ASSERT_EQ(Run("trace view " + file + " " + Golden("traces/cluster_2.21.pb") + " -o " + page), 0)
      << output;
  EXPECT_THAT(output, HasSubstr("step.html: "));
  const std::string text = ReadFile(page);
  EXPECT_TRUE(text.starts_with("<!DOCTYPE html>"));
  EXPECT_THAT(text, HasSubstr("for 160 kB (edge_6_y) that"));
  EXPECT_EQ(Run("trace view " + file + " -o " + page), 1);
  EXPECT_THAT(output, HasSubstr("--force"));
  EXPECT_EQ(Run("trace view " + Path("none.pb")), 1);
  EXPECT_THAT(output, HasSubstr("none.pb"));
}

}  // namespace
}  // namespace cli
