// SPDX-License-Identifier: Apache-2.0
#include "thalweg/session/session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "thalweg/session/run_metadata_message.h"
#include "thalweg/session/session_fixture.h"
#include "thalweg/testing/sanitized.h"

namespace thalweg {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;

float ValueOf(const Result<std::vector<Tensor>>& result, size_t i = 0) {
  EXPECT_TRUE(result.ok()) << result.status().ToString();
  return result.ok() ? (*result)[i].scalar<float>() : -12345.0f;
}

#define EXPECT_FAILS(result, expected_code, ...)                        \
  do {                                                                  \
    const Status failed = (result);                                     \
    EXPECT_EQ(failed.code(), Code::expected_code) << failed.ToString(); \
    EXPECT_THAT(std::string(failed.message()), AllOf(__VA_ARGS__));     \
  } while (false)

// The suite runs with all passes on and all off, on one device and on two, with and without
// threads.
struct World {
  const char* name;
  EnvironmentOptions environment;
  SessionOptions session;
  friend void PrintTo(const World& world, std::ostream* out) { *out << world.name; }
};

class SessionTest : public ::testing::TestWithParam<World> {
 protected:
  SessionFixture f{GetParam().environment, GetParam().session};
  // Every second node goes to the last device, so that edges cross where there are two.
  GraphBuilder Far() {
    return f.b.WithDevice(StrCat("/cpu:", GetParam().environment.cpu_devices - 1));
  }
};

INSTANTIATE_TEST_SUITE_P(
    Worlds, SessionTest,
    ::testing::Values(World{"inline", {.threads = 0}, {}},
                      World{"inline_no_passes", {.threads = 0}, {.passes = "none"}},
                      World{"two_devices", {.threads = 2, .cpu_devices = 2}, {}},
                      World{"two_devices_inline_no_passes",
                            {.threads = 0, .cpu_devices = 2},
                            {.passes = "none"}}),
    [](const auto& info) { return info.param.name; });

TEST_P(SessionTest, AddsConstants) {
  const Output y = Far().Op("Add", {f.Float(1), f.Float(2)});
  EXPECT_EQ(ValueOf(f.Run({}, {y})), 3);
  EXPECT_EQ(ValueOf(f.Run({}, {y})), 3);
}

TEST_P(SessionTest, RunsByName) {
  const Output x = f.Placeholder();
  f.b.Op("Add", {x, Far().Op("Neg", {x}, {}, "n")}, {}, "y");
  const Result<std::vector<Tensor>> y =
      f.session->Run({{"x", Tensor::Scalar(2.0f)}}, {"y:0", "n", "x:0"});
  EXPECT_EQ(ValueOf(y, 0), 0);
  EXPECT_EQ(ValueOf(y, 1), -2);
  EXPECT_EQ(ValueOf(y, 2), 2);
  std::vector<Tensor> outputs;
  EXPECT_FAILS(f.session->Run({}, {"z:0"}, {}, &outputs), kInvalidArgument,
               HasSubstr("fetch 'z:0'"), HasSubstr("no node named 'z'"));
  EXPECT_FAILS(f.session->Run({}, {"y:1"}, {}, &outputs), kInvalidArgument,
               HasSubstr("there is no 'y:1'"));
  EXPECT_FAILS(f.session->Run({{"q", Tensor::Scalar(1.0f)}}, {"y"}, {}, &outputs), kInvalidArgument,
               HasSubstr("feed 'q'"));
  EXPECT_FAILS(f.session->Run({}, {}, {"nothing"}, &outputs), kInvalidArgument,
               HasSubstr("target 'nothing'"));
  EXPECT_TRUE(outputs.empty());
}

TEST_P(SessionTest, GraphMayGrowBetweenRuns) {
  const Output a = f.b.Op("Add", {f.Float(1), f.Float(2)});
  EXPECT_EQ(ValueOf(f.Run({}, {a})), 3);
  const Output n = Far().Op("Neg", {a});
  EXPECT_EQ(ValueOf(f.Run({}, {n})), -3);
}

TEST_P(SessionTest, FeedsCutEveryKindOfEdge) {
  const Output c = f.Float(1);
  const Output s = Far().Op("Add", {c, f.Float(2)});
  const Output y = f.b.Op("Neg", {s});
  EXPECT_EQ(ValueOf(f.Run({{c, Tensor::Scalar(10.0f)}}, {y})), -12);  // a constant's
  EXPECT_EQ(ValueOf(f.Run({{s, Tensor::Scalar(5.0f)}}, {y})), -5);    // one in the middle
  EXPECT_EQ(ValueOf(f.Run({{y, Tensor::Scalar(7.0f)}}, {y})), 7);     // the fetched one
  const Output never = f.b.Op("Add", {f.b.Op("TestFail", {}), f.Float(1)});
  EXPECT_EQ(ValueOf(f.Run({{never, Tensor::Scalar(4.0f)}}, {f.b.Op("Neg", {never})})), -4);
  // What the step does not need may be fed all the same.
  EXPECT_EQ(ValueOf(f.Run({{y, Tensor::Scalar(7.0f)}}, {s})), 3);
}

TEST_P(SessionTest, FetchesAnEdgeTwiceAndAFeed) {
  const Output x = f.Placeholder();
  const Output y = Far().Op("Neg", {x});
  const Result<std::vector<Tensor>> got = f.Run({{x, Tensor::Scalar(2.0f)}}, {y, x, y, x});
  EXPECT_EQ(ValueOf(got, 0), -2);
  EXPECT_EQ(ValueOf(got, 1), 2);
  EXPECT_EQ(ValueOf(got, 2), -2);
  EXPECT_EQ(ValueOf(got, 3), 2);
}

TEST_P(SessionTest, WrongFeedsAreRefused) {
  const Output x =
      f.b.WithSite(f.graph->InternSite("train.py:7"))
          .Op("Placeholder", {}, {{"dtype", DType::kFloat}, {"shape", PartialShape{-1, 3}}}, "x");
  const Output y = Far().Op("Neg", {x});
  EXPECT_FAILS(f.Run({}, {y}).status(), kInvalidArgument,
               HasSubstr("You must feed a value for placeholder tensor 'x' with dtype float"),
               HasSubstr("[?,3]"), HasSubstr("train.py:7"));
  EXPECT_FAILS(f.Run({{x, Tensor::Vector<float>({1})}}, {y}).status(), kInvalidArgument,
               HasSubstr("Cannot feed value of shape [1] to 'x': its shape is [?,3]"),
               HasSubstr("train.py:7"));
  EXPECT_FAILS(f.Run({{x, Tensor::Scalar(1)}}, {y}).status(), kInvalidArgument,
               HasSubstr("Cannot feed value of dtype int32 to 'x': its dtype is float32"));
  EXPECT_FAILS(f.Run({{x, Tensor()}}, {y}).status(), kInvalidArgument, HasSubstr("no tensor"));
  const Tensor good = *Tensor::Vector<float>({1, 2, 3}).Reshaped(Shape{1, 3});
  EXPECT_FAILS(f.Run({{x, good}, {x, good}}, {y}).status(), kInvalidArgument,
               HasSubstr("'x' is fed twice"));
  Graph other(f.environment->shared_ops());
  GraphBuilder elsewhere(&other);
  EXPECT_FAILS(f.Run({}, {elsewhere.Const(Tensor::Scalar(1.0f))}).status(), kInvalidArgument,
               HasSubstr("not a node of this session's graph"));
  EXPECT_FAILS(f.Run({}, {Output{y.node, 3}}).status(), kInvalidArgument,
               HasSubstr("there is no 3"));
  EXPECT_FAILS(f.Run({}, {Output()}).status(), kInvalidArgument, HasSubstr("null"));
  std::vector<Tensor> out(1);
  EXPECT_FAILS(f.session->Run({}, Signature{{x}, {y}, {}}, {}, out), kInvalidArgument,
               HasSubstr("expected 1 feeds"));
}

TEST_P(SessionTest, VariablesKeepTheirValue) {
  const Output v =
      Far().Op("VariableV2", {}, {{"dtype", DType::kFloat}, {"shape", PartialShape(Shape{})}}, "v");
  Node* init = f.b.OpNode("Assign", {v, f.Float(1)});
  Node* add = f.b.OpNode("AssignAdd", {v, f.Float(2)}, {}, "add");
  EXPECT_FAILS(f.Run({}, {f.b.Op("Neg", {v})}).status(), kFailedPrecondition, HasSubstr("'v'"));
  ASSERT_TRUE(f.Run({}, {}, {init}).ok());
  ASSERT_TRUE(f.Run({}, {}, {add, add}).ok());
  EXPECT_EQ(ValueOf(f.Run({}, {v})), 3);  // the value, not a reference
  EXPECT_EQ(ValueOf(f.Run({}, {{add, 0}})), 5);
  EXPECT_EQ(ValueOf(f.session->Run({}, {"v"})), 5);
  // A value can stand in for the variable where it is read, never where it is written.
  EXPECT_EQ(ValueOf(f.Run({{v, Tensor::Scalar(9.0f)}}, {f.b.Op("Neg", {v})})), -9);
  EXPECT_FAILS(f.Run({{v, Tensor::Scalar(9.0f)}}, {}, {add}).status(), kInvalidArgument,
               HasSubstr("'v' cannot be fed: AssignAdd 'add' needs the variable"));
}

TEST_P(SessionTest, KernelErrorsNameTheNode) {
  const Output bad = Far()
                         .WithSite(f.graph->InternSite("model.py:3"))
                         .Op("Add", {f.Placeholder(), f.Float(1)}, {}, "bad");
  EXPECT_FAILS(f.Run({{bad.node->input(0), Tensor::Vector<float>({1, 2})}}, {bad}).status(),
               kInvalidArgument, HasSubstr("Add 'bad'"), HasSubstr("shapes differ: [2] and []"),
               HasSubstr("model.py:3"), HasSubstr("device:CPU:"));
  EXPECT_FAILS(f.Run({}, {f.b.Op("TestNoKernel", {}, {}, "k")}).status(), kNotFound,
               HasSubstr("no kernel is registered"), HasSubstr("TestNoKernel"), HasSubstr("'k'"));
}

TEST_P(SessionTest, CallablesRunByPlace) {
  const Output x = f.Placeholder();
  const Output y = Far().Op("Neg", {x});
  const Output z = f.b.Op("Add", {y, f.Float(1)});
  std::shared_ptr<Callable> call = *f.session->MakeCallable({{x}, {z, y}, {}});
  std::vector<Tensor> out(2);
  for (int i = 0; i < 3; ++i) {
    const Tensor value = Tensor::Scalar(static_cast<float>(i));
    ASSERT_TRUE(call->Run({&value, 1}, out).ok());
    EXPECT_EQ(out[0].scalar<float>(), 1.0f - static_cast<float>(i));
    EXPECT_EQ(out[1].scalar<float>(), -static_cast<float>(i));
  }
  EXPECT_FAILS(call->Run({}, out), kInvalidArgument, HasSubstr("expected 1 feeds"));
  EXPECT_FALSE(f.session->MakeCallable({{x, x}, {z}, {}}).ok());
  const Tensor value = Tensor::Scalar(1.0f);
  f.session.reset();
  EXPECT_FAILS(call->Run({&value, 1}, out), kCancelled, HasSubstr("Session has been closed."));
}

TEST_P(SessionTest, StatefulKernelsAreSharedByPlans) {
  const Output count = Far().Op("TestCount", {}, {}, "count");
  const Output again = f.b.Op("TestCount", {}, {}, "again");
  EXPECT_EQ(ValueOf(f.Run({}, {count})), 1);
  EXPECT_EQ(ValueOf(f.Run({}, {f.b.Op("Neg", {count})})), -2);
  EXPECT_EQ(ValueOf(f.Run({}, {again})), 1);
  EXPECT_EQ(ValueOf(f.Run({}, {count})), 3);
}

TEST_P(SessionTest, ManyThreadsRunManySteps) {
  const Output x = f.Placeholder();
  const Output v = f.Variable("v");
  Node* add = Far().OpNode("AssignAdd", {v, x});
  ASSERT_TRUE(f.Run({}, {}, {f.b.OpNode("Assign", {v, f.Float(0)})}).ok());
  const Output y = f.b.Op("Add", {Far().Op("Neg", {x}), f.Float(1)});
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 50; ++i) {
        const auto value = static_cast<float>(t * 100 + i);
        EXPECT_EQ(ValueOf(f.Run({{x, Tensor::Scalar(value)}}, {y})), 1 - value);
        EXPECT_TRUE(f.Run({{x, Tensor::Scalar(1.0f)}}, {}, {add}).ok());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(ValueOf(f.Run({}, {v})), 200);
}

TEST_P(SessionTest, TimeoutNamesWhoWaits) {
  const Output wait = Far().Op("TestWait", {}, {}, "slow");
  EXPECT_FAILS(
      f.Run({}, {f.b.Op("Neg", {wait})}, {}, {.timeout = std::chrono::milliseconds(500)}).status(),
      kDeadlineExceeded, HasSubstr("did not end within 500 ms"), HasSubstr("TestWait 'slow'"));
  EXPECT_EQ(ValueOf(f.Run({}, {f.Float(1)})), 1);  // the session goes on
}

TEST_P(SessionTest, AnErrorSaysTheWholeTimeout) {
  using std::chrono::milliseconds;
  const Output wait = Far().Op("TestWait", {}, {}, "slow");
  for (const milliseconds spent : {milliseconds(499), milliseconds(600)}) {
    EXPECT_FAILS(f.Run({}, {wait}, {}, {.timeout = milliseconds(500), .spent = spent}).status(),
                 kDeadlineExceeded, HasSubstr("did not end within 500 ms"));
  }
}

TEST_P(SessionTest, CancelEndsTheStepAndKeepsTheSession) {
  const Output wait = Far().Op("TestWait", {}, {}, "slow");
  CancellationManager cancel;
  std::thread other([&] { cancel.Cancel(Cancelled("Ctrl-C")); });
  EXPECT_FAILS(f.Run({}, {wait}, {}, {.cancellation = &cancel}).status(), kCancelled,
               HasSubstr("Ctrl-C"));
  other.join();
  EXPECT_FAILS(f.Run({}, {wait}, {}, {.cancellation = &cancel}).status(), kCancelled,
               HasSubstr("Ctrl-C"));
  EXPECT_EQ(ValueOf(f.Run({}, {f.Float(1)})), 1);
}

TEST_P(SessionTest, CloseEndsRunningSteps) {
  const Output wait = Far().Op("TestWait", {}, {}, "slow");
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&] {
      EXPECT_FAILS(f.Run({}, {wait}).status(), kCancelled, HasSubstr("Session has been closed."));
    });
  }
  f.session->Close();
  for (std::thread& thread : threads) thread.join();
  EXPECT_FAILS(f.Run({}, {f.Float(1)}).status(), kCancelled, HasSubstr("Session has been closed."));
  std::vector<Tensor> outputs;
  EXPECT_FAILS(f.session->Run({}, {"slow"}, {}, &outputs), kCancelled, HasSubstr("closed"));
  f.session->Close();
}

TEST_P(SessionTest, MetadataTellsWhatRan) {
  const Output x = f.Placeholder();
  const Output y = Far().Op("Neg", {f.b.Op("Neg", {x}, {}, "first")}, {}, "second");
  RunMetadata metadata;
  ASSERT_TRUE(f.Run({{x, Tensor::Scalar(1.0f)}}, {y}, {},
                    {.trace = TraceLevel::kFull, .partition_graphs = true}, &metadata)
                  .ok());
  ASSERT_TRUE(ReadStepStats(&metadata).ok());
  std::vector<std::string> names;
  for (const DeviceStats& device : metadata.step_stats.devices) {
    for (const NodeStats& node : device.nodes) {
      EXPECT_GE(node.end_nanos, node.start_nanos);
      names.push_back(node.node);
    }
  }
  EXPECT_THAT(names, ::testing::Contains("first"));
  EXPECT_THAT(names, ::testing::Contains("second"));
  const auto parts = static_cast<size_t>(GetParam().environment.cpu_devices);
  ASSERT_EQ(metadata.partition_graphs.size(), parts);
  EXPECT_NE(metadata.partition_graphs.back().graph->FindNode("second"), nullptr);
}

TEST_P(SessionTest, PartialRunsGoInSteps) {
  const Output a = f.Placeholder({}, "a");
  const Output b = f.Placeholder({}, "b");
  const Output r1 = Far().Op("Add", {a, f.Float(1)}, {}, "r1");
  f.b.Op("Mul", {r1, b}, {}, "r2");
  const std::vector<std::string> feeds = {"a:0", "b:0"};
  const std::vector<std::string> fetches = {"r1:0", "r2:0"};
  const std::string handle = *f.session->PartialRunSetup(feeds, fetches, {});
  std::vector<Tensor> out;
  const auto run = [&](std::vector<Session::NamedTensor> with, std::vector<std::string> what) {
    return f.session->PartialRun(handle, with, what, &out);
  };
  EXPECT_FAILS(run({}, {"r1:0"}), kInvalidArgument, HasSubstr("can't be computed from the feeds"),
               HasSubstr("needs 'a'"));
  EXPECT_FAILS(run({{"a:0", Tensor::Scalar(1)}}, {}), kInvalidArgument, HasSubstr("dtype int32"));
  ASSERT_TRUE(run({{"a:0", Tensor::Scalar(2.0f)}}, {"r1:0"}).ok());
  EXPECT_EQ(out[0].scalar<float>(), 3);
  EXPECT_FAILS(run({{"a:0", Tensor::Scalar(2.0f)}}, {}), kInvalidArgument, HasSubstr("already"));
  EXPECT_FAILS(run({{"c:0", Tensor::Scalar(2.0f)}}, {}), kInvalidArgument, HasSubstr("not named"));
  ASSERT_TRUE(run({{"b:0", Tensor::Scalar(5.0f)}}, {"r2:0"}).ok());
  EXPECT_EQ(out[0].scalar<float>(), 15);
  EXPECT_FAILS(run({}, {}), kInvalidArgument, HasSubstr("no partial run"));
}

TEST_P(SessionTest, PartialRunsEndWithTheirErrorOrTheSession) {
  const Output a = f.Placeholder({}, "a");
  Far().Op("Add", {a, f.b.Op("TestFail", {}, {}, "fails")}, {}, "y");
  f.b.Op("Neg", {a}, {}, "z");
  const std::vector<std::string> feeds = {"a"};
  const std::vector<std::string> fetches = {"y"};
  const std::string handle = *f.session->PartialRunSetup(feeds, fetches, {});
  const std::vector<Session::NamedTensor> values = {{"a", Tensor::Scalar(1.0f)}};
  EXPECT_FAILS(f.session->PartialRun(handle, values, fetches, nullptr), kInvalidArgument,
               HasSubstr("TestFail 'fails'"));
  const std::vector<std::string> z = {"z"};
  const std::string open = *f.session->PartialRunSetup(feeds, z, {});
  f.session->Close();
  EXPECT_FAILS(f.session->PartialRun(open, values, z, nullptr), kCancelled, HasSubstr("closed"));
}

TEST_P(SessionTest, PartialRunsAreCancelledByTheirOptions) {
  f.b.Op("Neg", {f.Placeholder({}, "a")}, {}, "z");
  const std::vector<std::string> feeds = {"a"};
  const std::vector<std::string> fetches = {"z"};
  CancellationManager cancellation;
  const std::string handle =
      *f.session->PartialRunSetup(feeds, fetches, {}, {.cancellation = &cancellation});
  cancellation.Cancel(Cancelled("the user went away"));
  const std::vector<Session::NamedTensor> values = {{"a", Tensor::Scalar(1.0f)}};
  EXPECT_FAILS(f.session->PartialRun(handle, values, fetches, nullptr), kCancelled,
               HasSubstr("the user went away"));
  f.session->EndPartialRun(handle);
}

TEST_P(SessionTest, ResetEmptiesContainers) {
  const Output v = f.Variable("v", "box");
  const Output w = f.Variable("w");
  Node* init =
      f.b.Group({f.b.OpNode("Assign", {v, f.Float(1)}), f.b.OpNode("Assign", {w, f.Float(2)})});
  ASSERT_TRUE(f.Run({}, {}, {init}).ok());
  std::shared_ptr<Callable> read = *f.session->MakeCallable({{}, {v}, {}});
  std::vector<Tensor> out(1);
  ASSERT_TRUE(read->Run({}, out).ok());
  f.session->ResetContainers({"box"});
  EXPECT_EQ(read->Run({}, out).code(), Code::kFailedPrecondition);
  EXPECT_EQ(f.Run({}, {v}).status().code(), Code::kFailedPrecondition);
  EXPECT_EQ(ValueOf(f.Run({}, {w})), 2);
  f.session->ResetContainers({});
  EXPECT_EQ(f.Run({}, {w}).status().code(), Code::kFailedPrecondition);
}

// while (i < limit) { i += step }, with the addition on the other device.
Output CountingLoop(GraphBuilder b, GraphBuilder far, Output start, Output limit, Output step,
                    std::string_view frame) {
  const auto enter = [&](Output value, bool constant) {
    return b.Op("Enter", {value}, {{"frame_name", frame}, {"is_constant", constant}});
  };
  const Output i = enter(start, false);
  const Output end = enter(limit, true);
  const Output by = enter(step, true);
  Node* merge = b.OpNode("Merge", {i, Output()});
  const Output go_on = b.Op("LoopCond", {far.Op("Less", {{merge, 0}, end})});
  Node* split = b.OpNode("Switch", {{merge, 0}, go_on});
  const Output next = far.Op("Add", {b.Op("Identity", {{split, 1}}), by});
  const Output again = b.Op("NextIteration", {next});
  if (!b.ok()) return Output();
  EXPECT_TRUE(b.graph().SetBackEdge(merge, 1, again).ok());
  return b.Op("Exit", {{split, 0}});
}

TEST_P(SessionTest, LoopsSpanDevices) {
  const Output limit = f.Placeholder();
  const Output y = f.b.Op("Neg", {CountingLoop(f.b, Far(), f.Float(0), limit, f.Float(2), "loop")});
  EXPECT_EQ(ValueOf(f.Run({{limit, Tensor::Scalar(9.0f)}}, {y})), -10);
  EXPECT_EQ(ValueOf(f.Run({{limit, Tensor::Scalar(-1.0f)}}, {y})), 0);
  EXPECT_EQ(ValueOf(f.Run({{limit, Tensor::Scalar(100.0f)}}, {y})), -100);
}

TEST_P(SessionTest, NestedLoopsSpanDevices) {
  // while (i < limit) { i = inner loop from i to i + 3 by 1 }
  const Output limit = f.Placeholder();
  GraphBuilder b = f.b;
  const auto enter = [&](Output value, bool constant) {
    return b.Op("Enter", {value}, {{"frame_name", "outer"}, {"is_constant", constant}});
  };
  const Output i = enter(f.Float(0), false);
  const Output end = enter(limit, true);
  const Output three = enter(f.Float(3), true);
  const Output one = enter(f.Float(1), true);
  GraphBuilder builder = f.b;
  Node* merge = builder.OpNode("Merge", {i, Output()});
  const Output go_on = builder.Op("LoopCond", {Far().Op("Less", {{merge, 0}, end})});
  Node* split = builder.OpNode("Switch", {{merge, 0}, go_on});
  const Output now = builder.Op("Identity", {{split, 1}});
  const Output inner_end = Far().Op("Add", {now, three});
  const Output inner = CountingLoop(f.b, Far(), now, inner_end, one, "inner");
  const Output again = builder.Op("NextIteration", {inner});
  ASSERT_TRUE(f.graph->SetBackEdge(merge, 1, again).ok());
  const Output y = Far().Op("Neg", {builder.Op("Exit", {{split, 0}})});
  EXPECT_EQ(ValueOf(f.Run({{limit, Tensor::Scalar(10.0f)}}, {y})), -12);
  EXPECT_EQ(ValueOf(f.Run({{limit, Tensor::Scalar(0.0f)}}, {y})), 0);
}

TEST_P(SessionTest, BranchesSpanDevices) {
  const Output x = f.Placeholder();
  const Output p = Far().Op("Less", {x, f.Float(0)});
  Node* split = f.b.OpNode("Switch", {x, p});
  const Output taken = Far().Op("Neg", {{split, 1}});
  const Output other = f.b.Op("Add", {Far().Op("Identity", {{split, 0}}), f.Float(1)});
  // A node behind a control edge from a branch lives and dies with it.
  const Output tied = f.b.WithControls({taken.node}).Op("Identity", {f.Float(3)}, {}, "tied");
  Node* merge = f.b.OpNode("Merge", {taken, other});
  EXPECT_EQ(ValueOf(f.Run({{x, Tensor::Scalar(-5.0f)}}, {{merge, 0}})), 5);
  EXPECT_EQ(ValueOf(f.Run({{x, Tensor::Scalar(5.0f)}}, {{merge, 0}})), 6);
  EXPECT_EQ(ValueOf(f.Run({{x, Tensor::Scalar(-5.0f)}}, {tied})), 3);
  EXPECT_FAILS(f.Run({{x, Tensor::Scalar(5.0f)}}, {tied}).status(), kInvalidArgument,
               HasSubstr("tied"));
}

TEST_P(SessionTest, ErrorsInOnePartEndTheOther) {
  const Output fails = Far().Op("TestFail", {}, {}, "fails");
  const Output sum = f.b.Op("Add", {fails, f.b.Op("TestWait", {}, {}, "waits")});
  EXPECT_FAILS(f.Run({}, {sum}).status(), kInvalidArgument, HasSubstr("TestFail 'fails'"));
}

TEST(SessionGrowthTest, WarnsOnceWhenItHappensAgainAndAgain) {
  SessionFixture f;
  const Output a = f.Float(1);
  EXPECT_EQ(ValueOf(f.Run({}, {a})), 1);
  EXPECT_TRUE(f.log.lines().empty());
  for (int i = 0; i < 8; ++i) {
    const Output b = f.b.WithSite(f.graph->InternSite("loop.py:9")).Op("Neg", {a}, {}, "extra");
    EXPECT_EQ(ValueOf(f.Run({}, {b})), -1);
    EXPECT_EQ(f.log.lines().size(), i < 4 ? 0u : 1u);
  }
  ASSERT_EQ(f.log.lines().size(), 1u);
  EXPECT_THAT(f.log.lines()[0],
              AllOf(HasSubstr("WARNING"), HasSubstr("grown after the session's first Run"),
                    HasSubstr("Neg 'extra' (created at loop.py:9)")));
}

TEST(SessionGrowthTest, IsQuietWhereALibraryGrowsTheGraph) {
  SessionFixture f;
  const Output a = f.Float(1);
  EXPECT_EQ(ValueOf(f.Run({}, {a})), 1);
  const auto grow = [&](const char* site) {
    const Output b = f.b.WithSite(f.graph->InternSite(site)).Op("Neg", {a}, {}, "extra");
    EXPECT_EQ(ValueOf(f.Run({}, {b})), -1);
  };
  for (int i = 0; i < 8; ++i) grow("/usr/lib/python3/dist-packages/keras/backend.py:9 in f");
  EXPECT_TRUE(f.log.lines().empty());
  for (int i = 0; i < 8; ++i) grow("/home/a/train.py:7 in main");
  ASSERT_EQ(f.log.lines().size(), 1u);
  EXPECT_THAT(f.log.lines()[0],
              AllOf(HasSubstr("train.py:7"), HasSubstr("TF_CPP_MIN_LOG_LEVEL=2")));
}

TEST(SessionGrowthTest, IsAnErrorInStrictMode) {
  SessionFixture f({.threads = 0}, {.strict_graph = true});
  const Output a = f.Float(1);
  EXPECT_EQ(ValueOf(f.Run({}, {a})), 1);
  const Output b = f.b.Op("Neg", {a}, {}, "extra");
  EXPECT_FAILS(f.Run({}, {b}).status(), kFailedPrecondition, HasSubstr("Neg 'extra'"),
               HasSubstr("strict_graph"));
  EXPECT_EQ(ValueOf(f.Run({}, {a})), 1);
}

TEST(SessionGrowthTest, NodesThatAreSetAsideAreNone) {
  SessionFixture f({.threads = 0}, {.strict_graph = true});
  const Output a = f.Float(1);
  EXPECT_EQ(ValueOf(f.Run({}, {a})), 1);
  const int first = f.b.graph().num_nodes();
  const Output tool = f.b.Op("Neg", {a}, {}, "tool");
  f.b.graph().SetAside(first);
  EXPECT_EQ(ValueOf(f.Run({}, {tool})), -1);
  const Output own = f.b.Op("Neg", {a}, {}, "own");
  EXPECT_FAILS(f.Run({}, {own}).status(), kFailedPrecondition, HasSubstr("by 1 nodes"),
               HasSubstr("Neg 'own'"));
}

TEST(SessionPlacementTest, SoftPlacementMovesWithOneLineStrictRefuses) {
  SessionFixture soft({}, {.placement = PlacementRule::kSoft});
  const Output y = soft.b.WithDevice("/device:GPU:0").Op("Neg", {soft.Placeholder()}, {}, "y");
  EXPECT_EQ(ValueOf(soft.Run({{y.node->input(0), Tensor::Scalar(1.0f)}}, {y})), -1);
  EXPECT_EQ(ValueOf(soft.Run({{y.node->input(0), Tensor::Scalar(1.0f)}}, {y})), -1);
  ASSERT_EQ(soft.log.lines().size(), 1u);
  EXPECT_THAT(
      soft.log.lines()[0],
      AllOf(HasSubstr("INFO: placing Neg 'y' on /job:localhost/replica:0/task:0/device:CPU:0"),
            HasSubstr("asks for '/device:GPU:0'")));
  const Result<std::string> why = soft.session->ExplainPlacement("y");
  EXPECT_THAT(*why, AllOf(HasSubstr("it asks for '/device:GPU:0'"), HasSubstr("CPU has kernel"),
                          HasSubstr("moved (soft placement)")));
  EXPECT_EQ(soft.session->ExplainPlacement("nobody").status().code(), Code::kNotFound);

  SessionFixture strict({.threads = 0}, {.placement = PlacementRule::kStrict});
  const Output x = strict.Placeholder();
  const Output w = strict.b.WithDevice("/device:GPU:0").Op("Neg", {x}, {}, "w");
  EXPECT_FAILS(strict.Run({{x, Tensor::Scalar(1.0f)}}, {w}).status(), kInvalidArgument,
               HasSubstr("Neg 'w' asks for '/device:GPU:0'"), HasSubstr("no device here meets"),
               HasSubstr("device:CPU:0"));
}

// What rewriting would fold away is placed as well, and written once, as the user made it.
TEST(SessionPlacementTest, EveryNodeOfTheStepIsPlacedAsItWasMade) {
  SessionFixture f({.threads = 0, .cpu_devices = 2}, {.log_placement = true});
  const Output a = f.b.WithDevice("/cpu:1").Op("Neg", {f.Float(1)}, {}, "a");
  const Output y = f.b.Op("Neg", {a}, {}, "y");
  EXPECT_EQ(ValueOf(f.Run({}, {y})), 1);
  EXPECT_EQ(ValueOf(f.Run({}, {a})), -1);
  EXPECT_THAT(f.log.lines(),
              IsSupersetOf({HasSubstr("a: (Neg): /job:localhost/replica:0/task:0/device:CPU:1"),
                            HasSubstr("y: (Neg): /job:localhost/replica:0/task:0/device:CPU:0")}));
  EXPECT_EQ(f.log.lines().size(), 3u);  // and the constant
  const Output lost = f.b.WithDevice("/cpu:7").Op("Neg", {f.Float(1)}, {}, "lost");
  EXPECT_FAILS(f.Run({}, {f.b.Op("Neg", {lost})}).status(), kInvalidArgument,
               HasSubstr("Cannot assign a device for operation lost: "), HasSubstr("/cpu:7"));
}

TEST(SessionResourcesTest, SharedByContainerAndNameWhenAskedFor) {
  SessionFixture f({.threads = 0}, {.share_resources = true});
  const Output v = f.Variable("v", "box");
  ASSERT_TRUE(f.Run({}, {}, {f.b.OpNode("Assign", {v, f.Float(7)})}).ok());
  auto other = *MakeLocalSession(f.environment, f.graph, {.share_resources = true});
  EXPECT_EQ(ValueOf(other->Run({}, {"v"})), 7);
  auto apart = *MakeLocalSession(f.environment, f.graph);
  EXPECT_EQ(apart->Run({}, {"v"}).status().code(), Code::kFailedPrecondition);
  f.environment->ResetContainers({"box"});
  EXPECT_EQ(other->Run({}, {"v"}).status().code(), Code::kFailedPrecondition);
}

TEST(SessionSoakTest, ManyRunsDoNotGrow) {
  SessionFixture f({.threads = 0, .cpu_devices = 2});
  const Output x = f.Placeholder();
  const Output y = f.b.Op("Add", {f.b.WithDevice("/cpu:1").Op("Neg", {x}), f.Float(1)});
  std::shared_ptr<Callable> call = *f.session->MakeCallable({{x}, {y}, {}});
  Tensor out;
  const Tensor value = Filled(1000, 2.0f);
  const Output c = f.b.Op("Neg", {x});
  const auto run = [&](int times) {
    for (int i = 0; i < times; ++i) {
      ASSERT_TRUE(f.session->Run({}, {{x}, {c}, {}}, {&value, 1}, {&out, 1}).ok());
      if (i % 10 == 0) {
        const Tensor scalar = Tensor::Scalar(1.0f);
        ASSERT_TRUE(call->Run({&scalar, 1}, {&out, 1}).ok());
      }
    }
  };
  run(1000);
  const int64_t before = f.environment->allocator()->Stats().bytes_kept;
  run(kSanitized ? 10'000 : 100'000);  // on one thread
  EXPECT_EQ(f.environment->allocator()->Stats().bytes_kept, before);
}

TEST(PlanCacheTest, AForgottenPlanIsMadeAnew) {
  SessionFixture f({.threads = 0}, {.passes = "none", .plan_cache_size = 2});
  std::vector<Output> outputs;
  for (int i = 0; i < 5; ++i) outputs.push_back(f.b.Op("Neg", {f.Float(static_cast<float>(i))}));
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < 5; ++i) {
      EXPECT_EQ(ValueOf(f.Run({}, {outputs[i]})), static_cast<float>(-i));
    }
  }
}

}  // namespace
}  // namespace thalweg
