// SPDX-License-Identifier: Apache-2.0
// For the tests of this room: an environment with a handful of kernels of its own, so that these
// tests need no op family, and a session over a graph builder.
//
//   SessionFixture f;
//   Output y = f.b.Op("Add", {f.Float(1), f.Float(2)});
//   EXPECT_EQ((*f.Run({}, {y}))[0].scalar<float>(), 3);
//
// Ownership: owns its environment, graph and session; one fixture a test.
// Threads: the test's; sink and kernels from any.
// Errors: fail the test where it is made; Run gives the session's.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "thalweg/graph/graph_builder.h"
#include "thalweg/session/session.h"

namespace thalweg {

// Collects log lines.
class LinesSink : public LogSink {
 public:
  void Write(LogLevel level, std::string_view message) override;
  std::vector<std::string> lines() const;

 private:
  mutable Mutex mutex_;
  std::vector<std::string> lines_ GUARDED_BY(mutex_);
};

inline Tensor Filled(int64_t size, float value) {
  return Tensor::Of<float>(std::vector<float>(static_cast<size_t>(size), value), Shape{size});
}

// How often kernels of Add, Mul and Neg have run, in all sessions.
std::atomic<int>& ArithmeticCalls();

// Kernels of Add, Mul, Neg, Less, Identity, NoOp, VariableV2, Assign, AssignAdd, _Send, _Recv, for
// float; and of operations made for these tests: TestCount (keeps state: how often it has run),
// TestWait (ends only when cancelled), TestFail.
Registries TestRegistries();

struct SessionFixture {
  explicit SessionFixture(EnvironmentOptions environment_options = {.threads = 0},
                          SessionOptions options = {});

  Output Float(float value) { return b.Const(Tensor::Scalar(value)); }
  Output Placeholder(PartialShape shape = {}, std::string_view name = "x") {
    return b.Op("Placeholder", {}, {{"dtype", DType::kFloat}, {"shape", shape}}, name);
  }
  Output Variable(std::string_view name, std::string_view container = "") {
    return b.Op("VariableV2", {},
                {{"dtype", DType::kFloat},
                 {"shape", PartialShape(Shape{})},
                 {"container", std::string(container)}},
                name);
  }
  Result<std::vector<Tensor>> Run(const std::vector<std::pair<Output, Tensor>>& feeds,
                                  const std::vector<Output>& fetches,
                                  const std::vector<Node*>& targets = {},
                                  const RunOptions& options = {}, RunMetadata* metadata = nullptr);

  LinesSink log;
  std::shared_ptr<Environment> environment;
  std::shared_ptr<Graph> graph;
  GraphBuilder b;
  std::unique_ptr<Session> session;
};

}  // namespace thalweg
