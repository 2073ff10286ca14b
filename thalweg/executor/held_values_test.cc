// SPDX-License-Identifier: Apache-2.0
// What the error of a step says that found no room for a tensor (users C6).
#include "thalweg/executor/held_values.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "thalweg/executor/test_program.h"

namespace thalweg {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr int64_t kLimit = 1 << 20;

// A node that makes so many bytes.
Value Bytes(TestProgram& p, std::vector<Value> inputs, const std::string& name, int64_t bytes) {
  const Value value = p.Call(std::move(inputs), [bytes](Context& ctx) -> Status {
    ASSIGN_OR_RETURN(Tensor made, Tensor::Allocate(ctx.allocator(), DType::kInt8, Shape{bytes}));
    ctx.set_output(0, std::move(made));
    return OkStatus();
  });
  p.last().name = name;
  p.last().op = "Make";
  p.last().site = "train.py:" + std::to_string(bytes / 1024);
  return value;
}

Status RunLimited(TestProgram& p, const ExecutorOptions& options) {
  Harness harness(
      p.Take(), [&](Program program) { return MakeExecutor(std::move(program), options); }, nullptr,
      kLimit);
  EXPECT_TRUE(harness.made().ok()) << harness.made().ToString();
  Status status = harness.Run().status();
  EXPECT_EQ(harness.bytes_in_use(), 0);
  return status;
}

class HeldValuesTest : public ::testing::TestWithParam<ExecutorOptions> {};

TEST_P(HeldValuesTest, TheLargestComeFirstWithTheirLines) {
  TestProgram p;
  const Value small = Bytes(p, {}, "small", 64 << 10);
  const Value large = Bytes(p, {small}, "large", 512 << 10);
  const Value middle = Bytes(p, {large}, "middle", 256 << 10);
  const Value gone = Bytes(p, {Bytes(p, {middle}, "gone", 32 << 10)}, "after", 16 << 10);
  const Value more = Bytes(p, {gone}, "more", 640 << 10);
  p.Fetch(p.Call({small, large, middle, more}, [](Context& ctx) {
    ctx.set_output(0, Tensor::Scalar<int64_t>(1));
    return OkStatus();
  }));
  const Status status = RunLimited(p, GetParam());
  EXPECT_EQ(status.code(), Code::kResourceExhausted);
  const std::string text(status.message());
  EXPECT_THAT(text, HasSubstr("OOM when allocating tensor with shape[655360]"));
  EXPECT_THAT(text, HasSubstr("[[Make 'more'"));
  EXPECT_THAT(text, HasSubstr("what held the memory: "));
  EXPECT_THAT(text, HasSubstr("of 1.0 MB in use"));
  const size_t first =
      text.find("\n\t524.3 kB int8[524288] of Make 'large' (created at train.py:512)");
  const size_t second =
      text.find("\n\t262.1 kB int8[262144] of Make 'middle' (created at train.py:256)");
  const size_t third =
      text.find("\n\t65.5 kB int8[65536] of Make 'small' (created at train.py:64)");
  EXPECT_LT(first, second) << text;
  EXPECT_LT(second, third) << text;
  EXPECT_LT(third, text.size()) << text;
  EXPECT_THAT(text, Not(HasSubstr("'gone'")));
}

TEST_P(HeldValuesTest, TenAreListedAndTheOthersCounted) {
  TestProgram p;
  std::vector<Value> values;
  for (int i = 0; i < 13; ++i) {
    values.push_back(Bytes(p, {}, "v" + std::to_string(i), (i + 1) << 10));
  }
  values.push_back(Bytes(p, values, "more", 1 << 20));
  p.Fetch(p.Call(values, [](Context& ctx) {
    ctx.set_output(0, Tensor::Scalar<int64_t>(1));
    return OkStatus();
  }));
  const std::string text(RunLimited(p, GetParam()).message());
  EXPECT_THAT(text, HasSubstr("in 13 tensors"));
  EXPECT_THAT(text, HasSubstr("'v12'"));
  EXPECT_THAT(text, HasSubstr("'v3'"));
  EXPECT_THAT(text, Not(HasSubstr("'v2'")));
  EXPECT_THAT(text, HasSubstr("\n\t6.1 kB in 3 more"));
}

TEST_P(HeldValuesTest, ValuesOfLoopsAreNamed) {
  TestProgram p;
  const Value start = Bytes(p, {}, "start", 300 << 10);
  const Value one = p.Const(1), limit = p.Const(10);
  const std::vector<Value> out = p.While(
      "loop", {p.Const(0), start}, [&](const auto& v) { return p.Less(v[0], limit); },
      [&](const auto& v) {
        const Value kept = Bytes(p, {v[1]}, "kept", 400 << 10);
        const Value more = Bytes(p, {kept}, "more", 500 << 10);
        const Value both = p.Call({v[1], kept, more}, [](Context& ctx) {
          ctx.set_output(0, ctx.input(1));
          return OkStatus();
        });
        return std::vector<Value>{p.Add(v[0], one), both};
      });
  p.Fetch(out[0]);
  p.Fetch(p.Call({out[1]}, [](Context& ctx) {
    ctx.set_output(0, Tensor::Scalar<int64_t>(ctx.input(0).num_elements()));
    return OkStatus();
  }));
  const std::string text(RunLimited(p, GetParam()).message());
  EXPECT_THAT(text, HasSubstr("'more'"));
  EXPECT_THAT(text, HasSubstr("409.6 kB int8[409600] of Make 'kept' (created at train.py:400)"));
  EXPECT_THAT(text, HasSubstr("307.2 kB int8[307200] of "));
}

TEST_P(HeldValuesTest, OtherErrorsAreAsTheyWere) {
  TestProgram p;
  const Value value = Bytes(p, {}, "value", 64 << 10);
  p.Fetch(p.Call({value}, [](Context&) { return ResourceExhausted("no more seats"); }));
  EXPECT_THAT(std::string(RunLimited(p, GetParam()).message()), Not(HasSubstr("what held")));
}

size_t Lists(std::string_view text) {
  size_t lists = 0;
  for (size_t at = 0; (at = text.find("what held the memory", at)) != text.npos; ++at) ++lists;
  return lists;
}

TEST_P(HeldValuesTest, AFunctionThatFindsNoRoomHasOneList) {
  TestProgram p;
  const Value value = Bytes(p, {}, "value", 64 << 10);
  p.Fetch(p.Call({value}, [](Context&) -> Status {
    TestProgram body;
    body.Fetch(Bytes(body, {Bytes(body, {}, "inner", 512 << 10)}, "more", 640 << 10));
    return RunLimited(body, GetParam());
  }));
  const Status status = RunLimited(p, GetParam());
  EXPECT_EQ(status.code(), Code::kResourceExhausted);
  EXPECT_EQ(Lists(status.message()), 1u) << status.message();
  EXPECT_THAT(std::string(status.message()), HasSubstr("int8[524288] of Make 'inner'"));
}

// What this task held is not why another found no room.
TEST_P(HeldValuesTest, AnotherTasksErrorListsNothingHere) {
  TestProgram p;
  const Value value = Bytes(p, {}, "value", 64 << 10);
  p.Fetch(p.Call({value}, [](Context&) {
    return ResourceExhausted("OOM: out of memory: 9 bytes asked for\n\t [[Make 'y' on /job:b]]");
  }));
  EXPECT_EQ(Lists(RunLimited(p, GetParam()).message()), 0u);
}

INSTANTIATE_TEST_SUITE_P(Worlds, HeldValuesTest,
                         ::testing::Values(ExecutorOptions{},
                                           ExecutorOptions{.basic_blocks = false},
                                           ExecutorOptions{.structured_loops = false}));

}  // namespace
}  // namespace thalweg
