// SPDX-License-Identifier: Apache-2.0
// What ends the compilation of a step, and who waits for one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "thalweg/base/notification.h"
#include "thalweg/session/session_fixture.h"

namespace thalweg {
namespace {

using ::testing::HasSubstr;

// A second goes by with each look.
class RunningClock : public SystemClock {
 public:
  TimePoint Now() const override {
    return TimePoint(std::chrono::seconds(seconds_.fetch_add(is_running.load() ? 1 : 0)));
  }
  std::atomic<bool> is_running{false};

 private:
  mutable std::atomic<int64_t> seconds_{1};
};

std::atomic<int> folding{0};

// A node that is folded, for as long as it may.
Status FoldForEver(Context& ctx) {
  folding.fetch_add(1);
  while (!ctx.step().cancellation->IsCancelled()) std::this_thread::yield();
  return Cancelled("given up");
}

struct CompileLimitsTest : testing::Test {
  CompileLimitsTest() {
    folding = 0;
    f.environment->kernels().AddFunction<FoldForEver>("Neg", kCpu, {{"T", DType::kDouble}});
    endless_ = f.b.Op("Neg", {f.b.Const(Tensor::Scalar(1.0))}, {}, "endless");
    quick_ = f.b.Op("Neg", {f.Placeholder()}, {}, "quick");
  }
  // Compiles `endless` on another thread until that ends.
  void Compile(CancellationManager* cancellation) {
    compiling_ = std::thread([this, cancellation] {
      ended_ = f.Run({}, {endless_}, {}, {.cancellation = cancellation}).status();
    });
    while (folding == 0) std::this_thread::yield();
  }
  Status RunQuick(const RunOptions& options = {}) {
    Tensor out;
    const Tensor one = Tensor::Scalar(1.0f);
    return f.session->Run(options, {{quick_.node->input(0)}, {quick_}, {}}, {&one, 1}, {&out, 1},
                          nullptr);
  }
  SessionFixture f;
  Output endless_, quick_;
  std::thread compiling_;
  Status ended_;
};

// Found by trials of changed graphs: what a node costs was estimated with numbers of 64 bits.
TEST_F(CompileLimitsTest, AShapeMayPromiseMoreElementsThanANumberHolds) {
  const int64_t large = int64_t{1} << 36;
  const Output x = f.b.Op(
      "Placeholder", {}, {{"dtype", DType::kFloat}, {"shape", PartialShape{large - 1, large - 1}}});
  const Output y = f.b.Op("Neg", {x}, {}, "large");
  Tensor out;
  const Tensor one = Tensor::Scalar(1.0f);
  EXPECT_EQ(f.session->Run({}, {{x}, {y}, {}}, {&one, 1}, {&out, 1}, nullptr).code(),
            Code::kInvalidArgument);
}

TEST_F(CompileLimitsTest, CancellationEndsACompilation) {
  CancellationManager cancellation;
  Compile(&cancellation);
  cancellation.Cancel(Cancelled("the user went away"));
  compiling_.join();
  EXPECT_EQ(ended_.code(), Code::kCancelled) << ended_.ToString();
  EXPECT_THAT(std::string(ended_.message()),
              HasSubstr("the user went away (it was still being compiled: folding constants"));
  EXPECT_TRUE(RunQuick().ok());
}

TEST_F(CompileLimitsTest, CloseEndsACompilation) {
  Compile(nullptr);
  f.session->Close();
  compiling_.join();
  EXPECT_EQ(ended_.code(), Code::kCancelled) << ended_.ToString();
  EXPECT_THAT(std::string(ended_.message()), HasSubstr("Session has been closed"));
}

TEST_F(CompileLimitsTest, WhoWaitsForACompilationStopsAtHisOwnEnd) {
  CancellationManager first, second;
  Compile(&first);
  second.Cancel(Cancelled("no longer"));
  const Status waited = RunQuick({.cancellation = &second});
  EXPECT_EQ(waited.code(), Code::kCancelled) << waited.ToString();
  EXPECT_THAT(std::string(waited.message()), HasSubstr("waiting for the compilation of another"));
  const Status late = RunQuick({.timeout = std::chrono::milliseconds(1)});
  EXPECT_EQ(late.code(), Code::kDeadlineExceeded) << late.ToString();
  first.Cancel(Cancelled("enough"));
  compiling_.join();
  EXPECT_TRUE(RunQuick().ok());
}

TEST(CompileDeadlineTest, TheTimeOfAStepIsThatOfItsCompilationToo) {
  RunningClock clock;
  SessionFixture f({.threads = 0, .clock = &clock});
  const Output x = f.Placeholder();
  Output y = x;
  for (int i = 0; i < 3000; ++i) y = f.b.Op("Neg", {y});
  ASSERT_TRUE(f.b.ok());
  clock.is_running = true;
  const Status late =
      f.Run({{x, Tensor::Scalar(1.0f)}}, {y}, {}, {.timeout = std::chrono::seconds(10)}).status();
  clock.is_running = false;
  EXPECT_EQ(late.code(), Code::kDeadlineExceeded) << late.ToString();
  EXPECT_THAT(std::string(late.message()),
              testing::AllOf(HasSubstr("did not end within 10000 ms"),
                             HasSubstr("it was still being compiled: ")));
  // Nothing half made is left.
  EXPECT_TRUE(f.Run({{x, Tensor::Scalar(1.0f)}}, {y}).ok());
}

}  // namespace
}  // namespace thalweg
