// SPDX-License-Identifier: Apache-2.0
// `thalweg trace` on what both releases recorded of one step of a cluster.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "npy.h"
#include "test_command.h"
#include "thalweg/control_flow.h"
#include "thalweg/thalweg.h"

namespace cli {
namespace {

using ::testing::ContainsRegex;
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
    EXPECT_EQ(Run("trace " + verb + " --min-bytes 1TB " + file), 1);
    EXPECT_THAT(output, HasSubstr("the filter leaves none of "));
    EXPECT_EQ(Run("trace " + verb + " --min-bytes much " + file), 2);
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

// Its JSON, but for the name of the file.
std::string WithoutFiles(std::string summary) {
  nlohmann::json json = nlohmann::json::parse(summary);
  json.erase("files");
  return json.dump();
}

TEST_F(CommandFolder, TraceVerbsReadCompactRecordings) {
  for (const char* release : {"1.15", "2.21"}) {
    // Of names of one length, which pages tell.
    const std::string file = Path("step.plain"), compact = Path("step.trace");
    const std::string back = Path("back.pb");
    WriteFile(file, ReadFile(Golden("traces/cluster_" + std::string(release) + ".pb")));
    ASSERT_EQ(Run("trace convert --force " + file + " -o " + compact), 0) << output;
    EXPECT_THAT(output, HasSubstr("step.trace: "));
    EXPECT_LT(ReadFile(compact).size(), ReadFile(file).size() / 2);
    ASSERT_EQ(Run("trace convert --force " + compact + " -o " + back), 0) << output;
    EXPECT_EQ(ReadFile(back), ReadFile(file));
    ASSERT_EQ(Run("trace summary --json " + file), 0) << output;
    const std::string told = WithoutFiles(output);
    ASSERT_EQ(Run("trace summary --json " + compact), 0) << output;
    EXPECT_EQ(WithoutFiles(output), told);
    for (const std::string verb : {"view", "export --format chrome", "export --format perfetto"}) {
      const std::string force = " --force -o ";
      ASSERT_EQ(Run("trace " + verb + " --task worker " + file + force + Path("a")), 0) << output;
      ASSERT_EQ(Run("trace " + verb + " --task worker " + compact + force + Path("b")), 0)
          << output;
      EXPECT_EQ(ReadFile(Path("a")).size(), ReadFile(Path("b")).size()) << verb;
    }
    ASSERT_EQ(Run("trace compare " + file + " " + compact), 0) << output;
    EXPECT_THAT(output, HasSubstr("A step takes as long as before: "));
  }
}

TEST_F(CommandFolder, TraceConvertNamesAndRefuses) {
  const std::string file = Golden("traces/cluster_2.21.pb");
  WriteFile(Path("step.pb"), ReadFile(file));
  ASSERT_EQ(Run("trace convert " + Path("step.pb")), 0) << output;
  EXPECT_EQ(Run("trace convert " + Path("step.trace")), 1);
  EXPECT_THAT(output, HasSubstr("step.pb: the file is there already; --force replaces it"));
  const std::string compact = ReadFile(Path("step.trace"));
  WriteFile(Path("cut.trace"), compact.substr(0, compact.size() / 2));
  for (const char* verb : {"summary", "view", "export", "memory", "convert"}) {
    EXPECT_EQ(Run("trace " + std::string(verb) + " " + Path("cut.trace")), 1) << verb;
    EXPECT_THAT(output, HasSubstr("cut.trace: the compressed bytes end too early, at byte "))
        << verb;
  }
  EXPECT_EQ(Run("trace compare " + Path("cut.trace") + " " + file), 1);
  EXPECT_THAT(output, HasSubstr("cut.trace: "));
  WriteFile(Path("other.trace"), "{}");
  EXPECT_EQ(Run("trace convert " + Path("other.trace") + " -o " + Path("a.pb")), 1);
  EXPECT_THAT(output, HasSubstr("other.trace: expected a RunMetadata message (binary or .pbtxt), "
                                "found JSON"));
}

// A program traces a loop that is longer than it keeps: the end is there, and what it says first is
// how much came before.
TEST_F(CommandFolder, TraceOfALoopThatIsLongerThanWhatIsKept) {
  constexpr float kTrips = 5000;
  const tw::Environment environment = tw::Environment::Create({.threads = 0}).OrThrow();
  tw::Graph graph(environment);
  const tw::Output one = graph.Scalar(1.0f), limit = graph.Scalar(kTrips);
  const tw::Output end = tw::WhileLoop(
      graph, {graph.Scalar(0.0f)},
      [&](const tw::Outputs& v) {
        return graph.Op("Less", {v[0], limit});
      },
      [&](const tw::Outputs& v) { return tw::Outputs{v[0] + one}; })[0];
  ASSERT_TRUE(graph.status().ok()) << graph.status().message();
  TwSessionOptions session_options;
  tw_session_options_init(&session_options);
  session_options.trace_bytes = 40'000;
  tw::Session session = tw::Session::Create(graph, &session_options).OrThrow();
  TwRunOptions* const options = tw_run_options_new();
  tw_run_options_trace_level(options, 3);
  tw_run_options_output_partition_graphs(options, 1);
  TwStatus* const status = tw_status_new();
  const TwOutput fetch = end.c();
  TwTensor* got = nullptr;
  TwBuffer* told = nullptr;
  ASSERT_EQ(tw_session_run(session.c(), options, nullptr, nullptr, 0, &fetch, 1, nullptr, 0, &got,
                           &told, status),
            TW_OK)
      << tw_status_message(status);
  EXPECT_EQ(tw::Tensor(got).scalar<float>(), kTrips);
  WriteFile(Path("loop.pb"),
            {static_cast<const char*>(tw_buffer_data(told)), tw_buffer_size(told)});
  tw_buffer_free(told);
  tw_run_options_free(options);
  tw_status_free(status);
  ASSERT_EQ(Run("trace summary " + Path("loop.pb")), 0) << output;
  EXPECT_THAT(output, ContainsRegex("nodes on 1 device\nnot there: the first [0-9.]+ .?s, [0-9]+ "
                                    "executions of /job:localhost/replica:0/task:0/device:CPU:0"));
  EXPECT_THAT(output, HasSubstr("A traced step keeps its newest"));
  ASSERT_EQ(Run("trace summary --json " + Path("loop.pb")), 0) << output;
  const auto summary = nlohmann::json::parse(output.substr(output.find('{')));
  const auto kept = summary.at("nodes").get<int64_t>();
  EXPECT_GT(kept, 500);
  EXPECT_LE(kept, 1250);  // of 32 bytes each
  int64_t runs = 0;
  for (const auto& node : summary.at("left_out").at(0).at("nodes")) {
    runs += node.at("executions").get<int64_t>();
  }
  EXPECT_EQ(runs, summary.at("left_out").at(0).at("executions"));
  EXPECT_GE(runs + kept, static_cast<int64_t>(2 * kTrips));
  for (const std::string verb : {"view", "export"}) {
    EXPECT_EQ(Run("trace " + verb + " " + Path("loop.pb") + " -o " + Path(verb)), 0) << output;
  }
  EXPECT_THAT(ReadFile(Path("export")), HasSubstr(" executions before are not there"));
}

}  // namespace
}  // namespace cli
