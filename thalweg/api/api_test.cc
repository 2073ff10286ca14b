// SPDX-License-Identifier: Apache-2.0
// The C ABI as a host uses it, and thalweg.h over it.
#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "thalweg/thalweg.h"

namespace {

TEST(ApiTest, TensorsFromMemoryAreReleasedOnce) {
  int released = 0;
  float values[6] = {1, 2, 3, 4, 5, 6};
  const int64_t dims[] = {2, 3};
  const auto release = [](void* count) { ++*static_cast<int*>(count); };
  TwTensor* tensor = tw_tensor_from_memory(tw::kFloat, dims, 2, values, sizeof(values), release,
                                           &released, nullptr);
  ASSERT_NE(tensor, nullptr);
  TwTensor* shared = tw_tensor_share(tensor);
  tw_tensor_free(tensor);
  EXPECT_EQ(released, 0);
  EXPECT_EQ(tw_tensor_data(shared), values);
  tw_tensor_free(shared);
  EXPECT_EQ(released, 1);
}

TEST(ApiTest, BadTensorsSayWhy) {
  TwStatus* status = tw_status_new();
  const int64_t negative[] = {-1};
  EXPECT_EQ(tw_tensor_new(tw::kFloat, negative, 1, status), nullptr);
  EXPECT_EQ(tw_status_code(status), 3);
  EXPECT_EQ(tw_tensor_new(99, nullptr, 0, status), nullptr);
  EXPECT_NE(std::string(tw_status_message(status)).find("99"), std::string::npos);
  int released = 0;
  float one = 1;
  const int64_t two[] = {2};
  EXPECT_EQ(tw_tensor_from_memory(
                tw::kFloat, two, 1, &one, sizeof(one), [](void* n) { ++*static_cast<int*>(n); },
                &released, status),
            nullptr);
  EXPECT_EQ(released, 1);
  tw_status_free(status);
}

struct Adder {
  tw::Environment environment = tw::Environment::Create({.threads = 0}).OrThrow();
  tw::Graph graph{environment};
  tw::Output x = graph.Placeholder("x", tw::kFloat, {});
  tw::Output y = x + graph.Scalar(1.0f);
  tw::Session session = tw::Session::Create(graph).OrThrow();
};

TEST(ApiTest, RunsAndCallablesAgree) {
  Adder a;
  EXPECT_EQ(a.session.Run({{a.x, tw::Tensor::Scalar(2.0f)}}, {a.y}).OrThrow()[0].scalar<float>(),
            3.0f);
  const tw::Callable callable = a.session.MakeCallable({a.x}, {a.y}).OrThrow();
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(
        callable.Run({tw::Tensor::Scalar(static_cast<float>(i))}).OrThrow()[0].scalar<float>(),
        i + 1.0f);
  }
}

TEST(ApiTest, RunsByName) {
  Adder a;
  const char* feed = "x:0";
  const std::string fetch = a.y.name();
  const char* fetches[] = {fetch.c_str()};
  const tw::Tensor two = tw::Tensor::Scalar(2.0f);
  TwTensor* values[] = {two.c()};
  TwTensor* result = nullptr;
  ASSERT_EQ(tw_session_run_names(a.session.c(), nullptr, &feed, values, 1, fetches, 1, nullptr, 0,
                                 &result, nullptr, nullptr),
            TW_OK);
  EXPECT_EQ(tw::Tensor(result).scalar<float>(), 3.0f);
}

TEST(ApiTest, ErrorsCarryNodeAndShapes) {
  Adder a;
  const auto bad = a.session.Run({{a.x, tw::Tensor::Of<float>({1, 2}, {2})}}, {a.y});
  EXPECT_EQ(bad.status().code(), 3);
  EXPECT_NE(bad.status().message().find("'x'"), std::string::npos) << bad.status().message();
  EXPECT_THROW(bad.status().OrThrow(), tw::Error);
}

TEST(ApiTest, TheFirstErrorOfAGraphSticks) {
  tw::Environment environment = tw::Environment::Create({.threads = 0}).OrThrow();
  tw::Graph graph(environment);
  const tw::Output bad = graph.Op("NoSuchOperation", {});
  const tw::Output later = graph.Op("Neg", {bad});
  EXPECT_TRUE(later.empty());
  EXPECT_NE(graph.status().message().find("NoSuchOperation"), std::string::npos);
  EXPECT_FALSE(tw::Session::Create(graph).ok());
}

TEST(ApiTest, GraphsGoOutAndComeBack) {
  Adder a;
  for (bool text : {false, true}) {
    const std::string message = a.graph.Export(text).OrThrow();
    tw::Graph copy(a.environment);
    copy.Import(message, text, "copy").OrThrow();
    const tw::Output x = copy.Find("copy/x").OrThrow();
    const tw::Output y = copy.Find("copy/" + a.y.name()).OrThrow();
    tw::Session session = tw::Session::Create(copy).OrThrow();
    EXPECT_EQ(session.Run({{x, tw::Tensor::Scalar(4.0f)}}, {y}).OrThrow()[0].scalar<float>(), 5.0f);
  }
  tw::Graph broken(a.environment);
  EXPECT_FALSE(broken.Import("not a graph", true).ok());
}

TEST(ApiTest, AHostsThreadsRunTheTasks) {
  // A host that runs every task at once, on the thread that asked.
  TwEnvironmentOptions options;
  tw_environment_options_init(&options);
  options.schedule = [](void*, void (*task)(void*), void* arg) { std::thread(task, arg).join(); };
  options.host_parallelism = 2;
  tw::Environment environment = tw::Environment::CreateFrom(options).OrThrow();
  tw::Graph graph(environment);
  const tw::Output y = graph.Scalar(1.0f) + graph.Scalar(2.0f);
  tw::Session session = tw::Session::Create(graph).OrThrow();
  EXPECT_EQ(session.Run({}, {y}).OrThrow()[0].scalar<float>(), 3.0f);
}

TEST(ApiTest, ACancelledRunEndsAndTheSessionGoesOn) {
  Adder a;
  TwRunOptions* options = tw_run_options_new();
  tw_run_options_cancel(options);
  const tw::Tensor two = tw::Tensor::Scalar(2.0f);
  TwTensor* values[] = {two.c()};
  TwTensor* result = nullptr;
  const TwOutput feed = a.x.c(), fetch = a.y.c();
  EXPECT_EQ(tw_session_run(a.session.c(), options, &feed, values, 1, &fetch, 1, nullptr, 0, &result,
                           nullptr, nullptr),
            1);
  tw_run_options_free(options);
  EXPECT_TRUE(a.session.Run({{a.x, two}}, {a.y}).ok());
  EXPECT_TRUE(a.session.Close().ok());
  EXPECT_EQ(a.session.Run({{a.x, two}}, {a.y}).status().code(), 1);
}

// A queue that stays empty; the options' timeout ends the wait for it.
TEST(ApiTest, RunsAndCallablesEndInTime) {
  const tw::Environment environment = tw::Environment::Create({.threads = 0}).OrThrow();
  tw::Graph graph(environment);
  const std::vector<tw::DataType> types = {tw::kFloat};
  const tw::Output queue = graph.Op("FIFOQueueV2", {}, {{"component_types", types}});
  const tw::Output next = graph.Op("QueueDequeueV2", {queue}, {{"component_types", types}});
  tw::Session session = tw::Session::Create(graph).OrThrow();
  const tw::internal::Handle<TwRunOptions, &tw_run_options_free> options(tw_run_options_new());
  tw_run_options_timeout_ms(options.get(), 1);
  const tw::Callable callable = session.MakeCallable({}, {next}).OrThrow();
  for (const tw::Status& status : {session.Run({}, {next}, {}, options.get()).status(),
                                   callable.Run({}, options.get()).status()}) {
    EXPECT_EQ(status.code(), 4) << status.message();  // DEADLINE_EXCEEDED
  }
}

TEST(ApiTest, OperationListsNameWhatIsImplemented) {
  tw::Environment environment = tw::Environment::Create({.threads = 0}).OrThrow();
  TwBuffer* all = tw_environment_op_list(environment.c(), 0, nullptr);
  TwBuffer* some = tw_environment_op_list(environment.c(), 1, nullptr);
  ASSERT_NE(all, nullptr);
  ASSERT_NE(some, nullptr);
  EXPECT_GT(tw_buffer_size(all), tw_buffer_size(some));
  EXPECT_GT(tw_buffer_size(some), 1000u);
  tw_buffer_free(all);
  tw_buffer_free(some);
}

TEST(ApiTest, AnUnusableLibraryIsNamed) {
  tw::Environment environment = tw::Environment::Create({.threads = 0}).OrThrow();
  const tw::Status absent = environment.LoadLibrary("/nowhere.so");
  EXPECT_EQ(absent.code(), 5);
  EXPECT_NE(absent.message().find("/nowhere.so"), std::string::npos);
  EXPECT_NE(environment.LoadLibrary("libm.so.6").message().find("tw_register"), std::string::npos);
}

}  // namespace
