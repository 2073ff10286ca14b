// SPDX-License-Identifier: Apache-2.0
// The C ABI with pointers, counts and outputs that are wrong: an error or the empty answer, never a
// crash. And what it offers beyond thalweg.h: shapes, sites, strict graphs, partial runs given up.
#include <gtest/gtest.h>

#include <filesystem>
#include <iterator>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "thalweg/thalweg.h"

namespace {

constexpr TwCode kInvalidArgument = 3, kFailedPrecondition = 9;

struct Square {
  tw::Environment environment = tw::Environment::Create({.threads = 0}).OrThrow();
  tw::Graph graph{environment};
  tw::Output x = graph.Placeholder("x", tw::kFloat, {-1});
  tw::Output y = x * x;
};

TEST(BadArgumentsTest, NullHandlesGiveTheEmptyAnswer) {
  EXPECT_EQ(tw_status_code(nullptr), TW_OK);
  EXPECT_STREQ(tw_status_message(nullptr), "");
  EXPECT_EQ(tw_buffer_size(nullptr), 0u);
  EXPECT_EQ(tw_tensor_share(nullptr), nullptr);
  EXPECT_EQ(tw_tensor_dtype(nullptr), 0);
  EXPECT_EQ(tw_tensor_rank(nullptr), -1);
  EXPECT_EQ(tw_tensor_num_elements(nullptr), 0);
  EXPECT_EQ(tw_tensor_data(nullptr), nullptr);
  EXPECT_EQ(tw_tensor_string(nullptr, 0, nullptr), nullptr);
  EXPECT_EQ(tw_environment_num_devices(nullptr), 0);
  EXPECT_EQ(tw_environment_device_name(nullptr, 0), nullptr);
  EXPECT_EQ(tw_graph_num_nodes(nullptr), 0);
  EXPECT_EQ(tw_graph_find_node(nullptr, "x"), nullptr);
  EXPECT_EQ(tw_graph_unique_name(nullptr, "x"), nullptr);
  EXPECT_EQ(tw_node_builder_new(nullptr, "NoOp", "x"), nullptr);
  EXPECT_STREQ(tw_node_name(nullptr), "");
  EXPECT_EQ(tw_node_num_inputs(nullptr), 0);
  EXPECT_EQ(tw_node_input(nullptr, 0).node, nullptr);
  EXPECT_EQ(tw_node_control_input(nullptr, 0), nullptr);
  EXPECT_EQ(tw_optimizer_num_created(nullptr), 0);
  tw_partial_run_free(nullptr);
  tw_run_options_cancel(nullptr);
}

TEST(BadArgumentsTest, ATableEndsWhereItsRowsDo) {
  const char* text = nullptr;
  int32_t flag = 0;
  double number = 0;
  int32_t kinds = 0;
  while (tw_optimizer_kind(kinds, &text, &flag) != nullptr) ++kinds;
  EXPECT_EQ(kinds, 11);
  EXPECT_STREQ(tw_optimizer_kind(1, &text, &flag), "Momentum");
  EXPECT_STREQ(text, "Momentum");
  EXPECT_EQ(flag, 1);
  EXPECT_STREQ(tw_optimizer_kind_argument(1, 4), "momentum");
  EXPECT_STREQ(tw_optimizer_kind_slot(1, 0, &text), "momentum");
  EXPECT_STREQ(text, "0");
  EXPECT_STREQ(tw_optimizer_kind_number(1, 1, &number), "momentum");
  EXPECT_EQ(number, 0.9);
  for (const auto& [kind, i] : {std::pair{1, 5}, {1, -1}, {-1, 0}, {kinds, 0}}) {
    EXPECT_EQ(tw_optimizer_kind_argument(kind, i), nullptr);
    EXPECT_EQ(tw_optimizer_kind_slot(kind, i, &text), nullptr);
    EXPECT_EQ(tw_optimizer_kind_number(kind, i, &number), nullptr);
  }
}

TEST(BadArgumentsTest, NullHandlesAreInvalidWhereThereIsAStatus) {
  Square s;
  const TwOutput x = s.x.c();
  TwOutput output;
  TwGradient gradient;
  TwNode* node = nullptr;
  const auto expect = [](TwCode code) { EXPECT_EQ(code, kInvalidArgument); };
  expect(tw_graph_find_output(s.graph.c(), nullptr, &output, nullptr));
  expect(tw_graph_set_back_edge(s.graph.c(), nullptr, 0, x, nullptr));
  expect(tw_graph_add_control_input(s.graph.c(), nullptr, x.node, nullptr));
  expect(tw_graph_import(s.graph.c(), nullptr, 5, 0, nullptr, nullptr, nullptr));
  expect(tw_graph_gradients(nullptr, &x, 1, &x, 1, nullptr, &gradient, nullptr));
  expect(tw_graph_gradients(s.graph.c(), nullptr, 1, &x, 1, nullptr, &gradient, nullptr));
  expect(tw_graph_gradients(s.graph.c(), &x, -1, &x, 1, nullptr, &gradient, nullptr));
  expect(tw_graph_gradients(s.graph.c(), &x, 1, &x, 1, nullptr, nullptr, nullptr));
  expect(tw_environment_load_library(s.environment.c(), nullptr, nullptr));
  const char* none[] = {nullptr};
  expect(tw_environment_reset(s.environment.c(), none, 1, nullptr));
  expect(tw_session_close(nullptr, nullptr));
  expect(tw_callable_run(nullptr, nullptr, nullptr, nullptr, nullptr, nullptr));
  expect(tw_optimizer_apply_gradients(nullptr, s.graph.c(), nullptr, nullptr, 0, {}, nullptr, &node,
                                      nullptr));
  EXPECT_EQ(tw_node_builder_finish(nullptr, nullptr), nullptr);
  EXPECT_EQ(tw_session_new(s.environment.c(), nullptr, nullptr, nullptr), nullptr);
  EXPECT_EQ(tw_saver_new(s.graph.c(), nullptr, &x, 1, nullptr, nullptr), nullptr);
  EXPECT_EQ(tw_node_attr(nullptr, "T", nullptr), nullptr);
}

TEST(BadArgumentsTest, ABuildersFirstErrorIsReported) {
  Square s;
  TwNodeBuilder* builder = tw_node_builder_new(s.graph.c(), "Conv2D", nullptr);
  tw_node_builder_attr_int_list(builder, "strides", nullptr, 4);
  tw_node_builder_attr_string(builder, nullptr, "x", 1);
  tw_node_builder_control(builder, nullptr);
  tw_node_builder_attr_float_list(builder, "f", nullptr, -1);
  TwStatus* status = tw_status_new();
  EXPECT_EQ(tw_node_builder_finish(builder, status), nullptr);
  EXPECT_EQ(tw_status_code(status), kInvalidArgument);
  EXPECT_NE(std::string(tw_status_message(status)).find("'strides'"), std::string::npos)
      << tw_status_message(status);
  tw_status_free(status);
}

TEST(BadArgumentsTest, TensorsLargerThanMemoryCanBeAreRefused) {
  const int64_t dims[] = {int64_t{1} << 60};
  char byte = 0;
  EXPECT_EQ(tw_tensor_from_memory(tw::kComplex128, dims, 1, &byte, 0, nullptr, nullptr, nullptr),
            nullptr);
  const int64_t one[] = {1};
  EXPECT_EQ(tw_tensor_from_memory(tw::kFloat, one, 1, nullptr, 4, nullptr, nullptr, nullptr),
            nullptr);
  EXPECT_EQ(tw_tensor_new(tw::kFloat, nullptr, 2, nullptr), nullptr);
}

TEST(BadArgumentsTest, RunsRefuseNullFeedsAndResults) {
  Square s;
  tw::Session session = tw::Session::Create(s.graph).OrThrow();
  const TwOutput x = s.x.c(), y = s.y.c();
  const tw::Tensor value = tw::Tensor::Of<float>({1, 2}, {2});
  TwTensor* values[] = {value.c()};
  TwTensor* missing[] = {nullptr};
  TwTensor* result = nullptr;
  const std::string name = s.y.name();
  const char* feeds[] = {"x:0"};
  const char* fetches[] = {name.c_str()};
  const auto run = [&](TwTensor* const* fed, TwTensor** results) {
    return tw_session_run(session.c(), nullptr, &x, fed, 1, &y, 1, nullptr, 0, results, nullptr,
                          nullptr);
  };
  EXPECT_EQ(run(nullptr, &result), kInvalidArgument);
  EXPECT_EQ(run(missing, &result), kInvalidArgument);
  EXPECT_EQ(run(values, nullptr), kInvalidArgument);
  EXPECT_EQ(tw_session_run_names(session.c(), nullptr, feeds, missing, 1, fetches, 1, nullptr, 0,
                                 &result, nullptr, nullptr),
            kInvalidArgument);
  EXPECT_EQ(result, nullptr);
  // After an error there is no metadata either.
  TwBuffer* metadata = nullptr;
  const tw::Tensor matrix = tw::Tensor::Of<float>({1, 2}, {1, 2});
  TwTensor* wrong[] = {matrix.c()};
  EXPECT_EQ(tw_session_run(session.c(), nullptr, &x, wrong, 1, &y, 1, nullptr, 0, &result,
                           &metadata, nullptr),
            kInvalidArgument);
  EXPECT_EQ(metadata, nullptr);
}

TEST(BadArgumentsTest, RecordingsOfNothingAndOfNobody) {
  const tw::internal::StatusHolder status;
  EXPECT_EQ(tw_trace_record(nullptr, nullptr, nullptr, status.c), nullptr);
  EXPECT_EQ(tw_status_code(status.c), kInvalidArgument);
  TwRecordOptions options;
  tw_record_options_init(&options);
  options.steps = -1;
  EXPECT_EQ(tw_trace_record("grpc://127.0.0.1:1", &options, nullptr, status.c), nullptr);
  EXPECT_EQ(tw_status_code(status.c), kInvalidArgument);
  tw_record_options_init(&options);
  options.timeout_ms = std::numeric_limits<int64_t>::min();
  EXPECT_EQ(tw_trace_record("grpc://127.0.0.1:1", &options, nullptr, status.c), nullptr);
  EXPECT_EQ(tw_status_code(status.c), kInvalidArgument);
  EXPECT_EQ(tw_recording_report(nullptr, status.c), nullptr);
  size_t size = 7;
  EXPECT_EQ(tw_recording_metadata(nullptr, 0, &size), nullptr);
  EXPECT_EQ(size, 0U);
  tw_recording_free(nullptr);
  for (const auto remake : {tw_trace_pack, tw_trace_unpack}) {
    EXPECT_EQ(remake(nullptr, 3, status.c), nullptr);
    EXPECT_EQ(tw_status_code(status.c), kInvalidArgument);
    EXPECT_EQ(remake("{}", 2, status.c), nullptr);
    EXPECT_EQ(tw_status_code(status.c), kInvalidArgument);
  }
}

TEST(BadArgumentsTest, GradientsRefuseOutputsThatAreNotOfTheGraph) {
  Square s, other;
  const TwOutput y = s.y.c(), x = s.x.c(), strange = other.x.c(), far = {y.node, 7};
  TwGradient gradient;
  const auto gradients = [&](TwOutput target, TwOutput source, const TwGradientOptions* options) {
    return tw_graph_gradients(s.graph.c(), &target, 1, &source, 1, options, &gradient, nullptr);
  };
  EXPECT_EQ(gradients(y, strange, nullptr), kInvalidArgument);
  EXPECT_EQ(gradients(strange, x, nullptr), kInvalidArgument);
  EXPECT_EQ(gradients(far, x, nullptr), kInvalidArgument);
  TwGradientOptions options = {};
  options.struct_size = sizeof(options);
  options.grad_ys = &far;
  EXPECT_EQ(gradients(y, x, &options), kInvalidArgument);
  options.grad_ys = &strange;
  EXPECT_EQ(gradients(y, x, &options), kInvalidArgument);
}

TEST(BadArgumentsTest, GradientNodesKnowTheLineThatAskedForThem) {
  Square s;
  const TwOutput y = s.y.c(), x = s.x.c();
  TwGradientOptions options = {};
  options.struct_size = sizeof(options);
  options.site = "train.py:41 in build";
  TwGradient gradient;
  ASSERT_EQ(tw_graph_gradients(s.graph.c(), &y, 1, &x, 1, &options, &gradient, nullptr), TW_OK);
  EXPECT_STREQ(tw_node_site(gradient.values.node), "train.py:41 in build");
}

TEST(BadArgumentsTest, AShapeThatIsSetReachesLaterNodes) {
  Square s;
  const int64_t four[] = {4}, five[] = {5}, matrix[] = {2, 2};
  ASSERT_EQ(tw_graph_set_shape(s.graph.c(), s.x.c(), four, 1, nullptr), TW_OK);
  EXPECT_EQ(tw_graph_set_shape(s.graph.c(), s.x.c(), five, 1, nullptr), kInvalidArgument);
  EXPECT_EQ(tw_graph_set_shape(s.graph.c(), s.x.c(), matrix, 2, nullptr), kInvalidArgument);
  EXPECT_EQ(tw_graph_set_shape(s.graph.c(), s.x.c(), nullptr, -1, nullptr), TW_OK);
  const tw::Output z = s.x + s.x;
  int64_t dim = 0;
  EXPECT_EQ(tw_output_shape(z.c(), &dim, 1), 1);
  EXPECT_EQ(dim, 4);
}

TEST(BadArgumentsTest, AStrictSessionRefusesAGraphThatGrows) {
  Square s;
  TwSessionOptions options;
  tw_session_options_init(&options);
  options.strict_graph = 1;
  tw::Session session = tw::Session::Create(s.graph, &options).OrThrow();
  const tw::Tensor value = tw::Tensor::Of<float>({3}, {1});
  ASSERT_TRUE(session.Run({{s.x, value}}, {s.y}).ok());
  const tw::Output later = s.y + s.y;
  EXPECT_EQ(session.Run({{s.x, value}}, {later}).status().code(), kFailedPrecondition);
}

// The threads of this process.
ptrdiff_t CountThreads() {
  const std::filesystem::directory_iterator tasks("/proc/self/task");
  return std::distance(begin(tasks), end(tasks));
}

TEST(BadArgumentsTest, APartialRunThatIsGivenUpEnds) {
  Square s;
  auto session = std::make_unique<tw::Session>(tw::Session::Create(s.graph).OrThrow());
  const TwOutput x = s.x.c(), y = s.y.c();
  const auto begin = [&] {
    return tw_session_partial_run_new(session->c(), &x, 1, &y, 1, nullptr, 0, nullptr);
  };
  const ptrdiff_t threads = CountThreads();
  for (int i = 0; i < 20; ++i) {
    TwPartialRun* run = begin();
    ASSERT_NE(run, nullptr);
    tw_partial_run_free(run);
  }
  // One that was joined may be listed for a moment more; the thread sanitizer has one of its own.
  EXPECT_LE(CountThreads(), threads + 2);
  TwPartialRun* run = begin();
  session.reset();  // ends it; the handle stays good for being freed
  const tw::Tensor value = tw::Tensor::Of<float>({3}, {1});
  TwTensor* values[] = {value.c()};
  TwTensor* result = nullptr;
  EXPECT_NE(tw_partial_run(run, &x, values, 1, &y, 1, &result, nullptr), TW_OK);
  tw_partial_run_free(run);
}

}  // namespace
