// SPDX-License-Identifier: Apache-2.0
// Outputs that a kernel makes in memory of the host count against the limit of the step's allocator
// for as long as they live.
#include <gtest/gtest.h>

#include <vector>

#include "thalweg/executor/test_program.h"
#include "thalweg/kernel/waiting_kernel.h"

namespace thalweg {
namespace {

constexpr int64_t kMegabyte = int64_t{1} << 20;

Tensor OnHost(int64_t bytes) {
  return Tensor::Of<int64_t>(std::vector<int64_t>(static_cast<size_t>(bytes) / 8),
                             Shape{bytes / 8});
}

Status MakeOnHost(Context& ctx) {
  ctx.set_output(0, OnHost(ctx.input(0).scalar<int64_t>()));
  return OkStatus();
}

class TriedKernel : public WaitingKernel {
 public:
  explicit TriedKernel(bool waits) : waits_(waits) {}
  std::optional<Status> TryCompute(Context& ctx) override {
    if (waits_) return std::nullopt;
    return MakeOnHost(ctx);
  }
  void Wait(Context& ctx, Done done) override { std::move(done)(MakeOnHost(ctx)); }
  std::string WaitsFor(Context&) const override { return "nothing"; }

 private:
  const bool waits_;
};

Value AddMaker(TestProgram& p, Value bytes, int way) {
  if (way == 0) return p.Call({bytes}, MakeOnHost);
  if (way == 1) {
    return p.CallAsync({bytes}, [](Context& ctx, Done done) { std::move(done)(MakeOnHost(ctx)); });
  }
  const Value made = p.CallAsync({bytes}, {});
  p.last().kernel = std::make_shared<TriedKernel>(way == 3);
  return made;
}

Result<std::unique_ptr<Executor>> Make(Program program) {
  return MakeExecutor(std::move(program), {.threads = 0});
}

class HostOutputsTest : public ::testing::TestWithParam<int> {};

TEST_P(HostOutputsTest, CountForAsLongAsTheyLive) {
  TestProgram p;
  p.Fetch(p.Identity(AddMaker(p, p.Feed(), GetParam())));
  p.last().inline_outputs = {false};
  Harness h(p.Take(), Make, nullptr, 4 * kMegabyte);
  CancellationManager cancellation;
  Tensor feed = Tensor::Scalar(kMegabyte), fetched, kept;
  for (int i = 0; i < 10; ++i) {
    const Status status = h.RunStep({&feed, 1}, {&fetched, 1}, cancellation);
    ASSERT_TRUE(status.ok()) << status.ToString();
    EXPECT_EQ(h.bytes_in_use(), i == 0 ? kMegabyte : 2 * kMegabyte);
    kept = fetched;
    fetched = Tensor();
  }
  kept = Tensor();
  EXPECT_EQ(h.bytes_in_use(), 0);
}

TEST_P(HostOutputsTest, TooLargeIsResourceExhaustedAndNamesTheNode) {
  TestProgram p;
  p.Fetch(AddMaker(p, p.Feed(), GetParam()));
  Harness h(p.Take(), Make, nullptr, 4 * kMegabyte);
  CancellationManager cancellation;
  Tensor feed = Tensor::Scalar(8 * kMegabyte), fetched;
  const Status status = h.RunStep({&feed, 1}, {&fetched, 1}, cancellation);
  EXPECT_EQ(status.code(), Code::kResourceExhausted);
  EXPECT_NE(status.message().find("Call"), std::string_view::npos) << status.ToString();
  EXPECT_NE(status.message().find("shape[1048576] and type int64"), std::string_view::npos)
      << status.ToString();
  EXPECT_EQ(h.bytes_in_use(), 0);
}

INSTANTIATE_TEST_SUITE_P(Ways, HostOutputsTest, ::testing::Range(0, 4));

TEST(HandedOnTest, WhatIsFedDoesNotCount) {
  TestProgram p;
  p.Fetch(p.Call({p.Feed()}, [](Context& ctx) {
    ctx.set_output(0, ctx.input(0));
    return OkStatus();
  }));
  Harness h(p.Take(), Make, nullptr, 4 * kMegabyte);
  CancellationManager cancellation;
  Tensor feed = OnHost(8 * kMegabyte), fetched;
  const Status status = h.RunStep({&feed, 1}, {&fetched, 1}, cancellation);
  EXPECT_TRUE(status.ok()) << status.ToString();
  EXPECT_EQ(h.bytes_in_use(), 0);
}

}  // namespace
}  // namespace thalweg
