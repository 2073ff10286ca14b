// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "thalweg/executor/test_program.h"
#include "thalweg/kernel/waiting_kernel.h"

namespace thalweg {
namespace {

// Doubles its input: at once below a limit, fails at 7, else as if it had waited.
class DoubleKernel : public WaitingKernel {
 public:
  std::optional<Status> TryCompute(Context& ctx) override {
    const int64_t x = ctx.input(0).scalar<int64_t>();
    if (x == 7) return OutOfRange("seven");
    if (x >= 100) return std::nullopt;
    ctx.set_output(0, Tensor::Scalar(2 * x));
    return OkStatus();
  }
  void Wait(Context& ctx, Done done) override {
    ctx.set_output(0, Tensor::Scalar(2 * ctx.input(0).scalar<int64_t>()));
    std::move(done)(OkStatus());
  }
  std::string WaitsFor(Context&) const override { return "nothing"; }
};

Result<std::vector<int64_t>> RunChain(int64_t x, int length) {
  TestProgram p;
  Value v = p.Feed();
  for (int i = 0; i < length; ++i) {
    v = p.CallAsync({v}, {});
    p.last().kernel = std::make_shared<DoubleKernel>();
  }
  p.Fetch(v);
  Harness h(
      p.Take(), [](Program program) { return MakeExecutor(std::move(program), {.threads = 0}); },
      nullptr);
  return h.Run({x});
}

TEST(TriedKernelTest, GoesOnAtOnceOrWaits) {
  const Result<std::vector<int64_t>> got = RunChain(1, 10);  // 64 is the last that does not wait
  ASSERT_TRUE(got.ok()) << got.status().ToString();
  EXPECT_EQ((*got)[0], 1024);
}

TEST(TriedKernelTest, AnErrorNamesTheNode) {
  const Status status = RunChain(7, 3).status();
  EXPECT_EQ(status.code(), Code::kOutOfRange);
  EXPECT_NE(status.message().find("CallAsync"), std::string_view::npos) << status.ToString();
}

}  // namespace
}  // namespace thalweg
