// SPDX-License-Identifier: Apache-2.0
#include <limits>

#include "thalweg/base/notification.h"
#include "thalweg/ops/collective/test_collective_calls.h"
#include "thalweg/testing/fake_clock.h"
#include "thalweg/testing/op_case.h"

namespace thalweg {
namespace {

const auto kOneReduceMember = [](RefCall<double>& r) { r.out = {r.in[0]}; };

TEST(CollectiveReduceTest, AGroupOfOneGetsWhatItBrought) {
  OpCase("CollectiveReduce")
      .Reference(kOneReduceMember)
      .Trivial("one member's sum is its value")
      .Try({In({5, 3})}, ReduceAttrs(1))
      .Try({In({})}, ReduceAttrs(1, "Max", "Div"))
      .Try({In({0, 4})}, ReduceAttrs(1, "Mul"))
      .Bad({In({2})}, ReduceAttrs(0), Code::kInvalidArgument, "group_size must be positive")
      .Bad({In({2})}, ReduceAttrs(-3), Code::kInvalidArgument, "group_size must be positive")
      .Run();
  for (const char* op : {"CollectiveReduceV2", "CollectiveReduceScatterV2"}) {
    const auto keys = [](int32_t size, int32_t group) {
      return std::vector<In>{In({4, 2}), Tensor::Scalar(size), Tensor::Scalar(group),
                             Tensor::Scalar(9)};
    };
    OpCase(op)
        .Reference(kOneReduceMember)
        .Trivial("one member's sum is its value")
        .Try(keys(1, 3), Merge("Min", "Id"))
        .Bad(keys(0, 3), Merge("Add", "Id"), Code::kInvalidArgument, "must be positive")
        .Bad({In({4}), In({2}).As(DType::kInt32), Tensor::Scalar(1), Tensor::Scalar(1)},
             Merge("Add", "Id"), Code::kInvalidArgument, "")
        .Run();
  }
}

Tensor Row(std::vector<float> values) {
  return Tensor::Of<float>(values, Shape{static_cast<int64_t>(values.size())});
}

TEST(CollectiveReduceTest, MergesAndDivides) {
  struct Case {
    const char* merge;
    const char* final_op;
    std::vector<float> expected;
  };
  for (const Case& c :
       {Case{"Add", "Id", {9, -1}}, Case{"Add", "Div", {3, -1.0f / 3}}, Case{"Mul", "Id", {24, 0}},
        Case{"Min", "Id", {2, -4}}, Case{"Max", "Div", {4.0f / 3, 1}}}) {
    CollectiveStep step(3);
    std::vector<StartedMember> members;
    const std::vector<std::vector<float>> values = {{2, -4}, {3, 0}, {4, 3}};
    for (size_t i = 0; i < 3; ++i) {
      for (const StartedMember& earlier : members) EXPECT_FALSE(earlier->ended());
      members.push_back(
          step.Start(i, "CollectiveReduce", {Row(values[i])}, ReduceAttrs(3, c.merge, c.final_op)));
    }
    for (const StartedMember& member : members) ExpectResult<float>(member, Row(c.expected));
  }
}

// Recorded: TensorFlow 1.15 and 2.21 give [-1, 2, 3, -4].
TEST(CollectiveReduceTest, IntegersAreDividedTowardsZero) {
  CollectiveStep step(2);
  const auto a = step.Start(0, "CollectiveReduce", {Tensor::Vector<int32_t>({0, 0, 0, 0})},
                            ReduceAttrs(2, "Add", "Div"));
  const auto b = step.Start(1, "CollectiveReduce", {Tensor::Vector<int32_t>({-3, 5, 7, -8})},
                            ReduceAttrs(2, "Add", "Div"));
  ExpectResult<int32_t>(a, Tensor::Vector<int32_t>({-1, 2, 3, -4}));
  ExpectResult<int32_t>(b, Tensor::Vector<int32_t>({-1, 2, 3, -4}));
}

TEST(CollectiveReduceTest, AddsInTheOrderOfDevicesWhoeverComesFirst) {
  // Another order gives 0 or 1: (1e8 + 1) - 1e8, (1e8 - 1e8) + 1; numbers are ordered as numbers.
  std::vector<Tensor> values(12, Row({0}));
  values[2] = Row({1e8f});
  values[10] = Row({1});
  values[11] = Row({-1e8f});
  for (const size_t shift : {0, 5, 11}) {
    CollectiveStep step(12);
    std::vector<StartedMember> members;
    for (size_t i = 0; i < 12; ++i) {
      const size_t device = (i * 7 + shift) % 12;
      members.push_back(step.Start(device, "CollectiveReduce", {values[device]}, ReduceAttrs(12)));
    }
    for (const StartedMember& member : members) ExpectResult<float>(member, Row({0}));
  }
}

TEST(CollectiveReduceTest, KeysMayBeInputsAndVersionsMeet) {
  CollectiveStep step(2);
  const auto a = step.Start(0, "CollectiveReduceV2", WithKeys({Row({1})}, 2), Merge("Add", "Id"));
  const auto other =
      step.Start(1, "CollectiveReduceV2", WithKeys({Row({5})}, 2, 1, 8), Merge("Add", "Id"));
  EXPECT_FALSE(a->ended()) << "another instance";
  const auto b = step.Start(1, "CollectiveReduce", {Row({2})}, ReduceAttrs(2));
  ExpectResult<float>(a, Row({3}));
  ExpectResult<float>(b, Row({3}));
  EXPECT_FALSE(other->ended());
}

TEST(CollectiveReduceTest, IterationsAndStepsDoNotMeet) {
  CollectiveStep step(2), other(2);
  const auto a = step.Start(0, "CollectiveReduce", {Row({1})}, ReduceAttrs(2), 1);
  const auto b = step.Start(1, "CollectiveReduce", {Row({2})}, ReduceAttrs(2), 2);
  const auto c = other.Start(1, "CollectiveReduce", {Row({2})}, ReduceAttrs(2), 1);
  EXPECT_FALSE(a->ended() || b->ended() || c->ended());
  const auto d = step.Start(1, "CollectiveReduce", {Row({4})}, ReduceAttrs(2), 1);
  ExpectResult<float>(a, Row({5}));
  ExpectResult<float>(d, Row({5}));
}

TEST(CollectiveReduceTest, ScatterGivesEachRankItsRows) {
  for (const int64_t rows : {4, 4000}) {  // copied; shared
    CollectiveStep step(2);
    Tensor x = Tensor::Of<double>(std::vector<double>(static_cast<size_t>(rows), 1.5), Shape{rows});
    x.mutable_data<double>()[0] = 7;
    const auto b = step.Start(1, "CollectiveReduceScatterV2", WithKeys({x}, 2), Merge("Add", "Id"));
    const auto a = step.Start(0, "CollectiveReduceScatterV2", WithKeys({x}, 2), Merge("Add", "Id"));
    Tensor half =
        Tensor::Of<double>(std::vector<double>(static_cast<size_t>(rows / 2), 3), Shape{rows / 2});
    ExpectResult<double>(b, half);
    half.mutable_data<double>()[0] = 14;
    ExpectResult<double>(a, half);
  }
  CollectiveStep step(2);
  ExpectError(step.Start(0, "CollectiveReduceScatterV2",
                         WithKeys({Tensor::Vector<float>({1, 2, 3})}, 2), Merge("Add", "Id")),
              Code::kInvalidArgument, "multiple of the group's size 2");
}

// What a second member must not be, when the first is a float[2] to be added in a group of 2.
TEST(CollectiveReduceTest, ContradictionsAreEverybodysError) {
  const Tensor x = Tensor::Vector<float>({1, 2});
  struct Case {
    const char* op;
    Tensor value;
    AttrMap attrs;
    const char* part;
  };
  const std::vector<Case> cases = {
      {"CollectiveReduce", Tensor::Vector<float>({1}), ReduceAttrs(2), "Shape mismatch"},
      {"CollectiveReduce", Tensor::Vector<double>({1, 2}), ReduceAttrs(2), "type"},
      {"CollectiveReduce", x, ReduceAttrs(3), "group size"},
      {"CollectiveReduce", x, ReduceAttrs(2, "Mul"), "merge"},
      {"CollectiveReduce", x, ReduceAttrs(2, "Add", "Div"), "final operation"},
      {"CollectiveGather", x, Keys(2, {{"shape", PartialShape{4}}}), "kind"}};
  for (const Case& c : cases) {
    CollectiveStep step(3);
    const auto good = step.Start(0, "CollectiveReduce", {x}, ReduceAttrs(2));
    const auto bad = step.Start(1, c.op, {c.value}, c.attrs);
    const auto late = step.Start(2, "CollectiveReduce", {x}, ReduceAttrs(2));
    for (const auto* member : {&good, &bad, &late}) {
      ExpectError(*member, Code::kInvalidArgument, c.part);
    }
  }
}

TEST(CollectiveReduceTest, ADeviceComesOnceAndNobodyAfterTheLast) {
  CollectiveStep step(3);
  const auto a = step.Start(0, "CollectiveReduce", {Row({1})}, ReduceAttrs(2));
  const auto again = step.Start(0, "CollectiveReduce", {Row({1})}, ReduceAttrs(2));
  ExpectError(a, Code::kInvalidArgument, "comes twice");
  ExpectError(again, Code::kInvalidArgument, "comes twice");
  CollectiveStep full(3);
  std::vector<StartedMember> members;
  for (size_t i = 0; i < 3; ++i) {
    members.push_back(full.Start(i, "CollectiveReduce", {Row({1})}, ReduceAttrs(2)));
  }
  ExpectResult<float>(members[0], Row({2}));
  ExpectError(members[2], Code::kInvalidArgument, "one too many");
}

TEST(CollectiveReduceTest, ACancelledMemberFreesAll) {
  CollectiveStep step(4);
  const auto a = step.Start(0, "CollectiveReduce", {Row({1})}, ReduceAttrs(4));
  const auto b = step.Start(1, "CollectiveReduce", {Row({1})}, ReduceAttrs(4));
  a->cancellation().Cancel(Cancelled("enough"));
  const auto late = step.Start(2, "CollectiveReduce", {Row({1})}, ReduceAttrs(4));
  for (const auto* member : {&a, &b, &late}) ExpectError(*member, Code::kCancelled, "enough");
}

TEST(CollectiveReduceTest, ATimeoutFreesAllAndSaysWhoCame) {
  auto clock = std::make_unique<FakeClock>();
  FakeClock& time = *clock;
  const auto timer =
      RefPtr<CollectiveTimer>::Adopt(std::make_unique<CollectiveTimer>(std::move(clock)).release());
  const Deadline after = Deadline::After(time, std::chrono::seconds(3));
  AttrMap attrs = ReduceAttrs(3);
  attrs.Set("timeout_seconds", 2.0f);
  CollectiveStep step(3);
  const auto a = step.Start(0, "CollectiveReduce", {Row({1})}, attrs, 0, timer);
  const auto b = step.Start(1, "CollectiveReduce", {Row({1})}, ReduceAttrs(3));
  EXPECT_FALSE(a->ended() || b->ended());
  Notification passed;  // callbacks come one after the other
  timer->timer().Add(after, [&] { passed.Notify(); });
  time.Advance(std::chrono::seconds(4));
  passed.Wait();
  const auto late = step.Start(2, "CollectiveReduce", {Row({1})}, attrs, 0, timer);
  for (const auto* member : {&a, &b, &late}) {
    ExpectError(*member, Code::kDeadlineExceeded,
                "within 2 s; group 1, instance 7 (reduction): 2 of 3");
  }
}

TEST(CollectiveReduceTest, OddTimeoutsAreNone) {
  for (const float seconds : {-1.0f, 1e30f, std::numeric_limits<float>::infinity(),
                              std::numeric_limits<float>::quiet_NaN()}) {
    CollectiveStep step(2);
    AttrMap attrs = ReduceAttrs(2);
    attrs.Set("timeout_seconds", seconds);
    const auto a = step.Start(0, "CollectiveReduce", {Row({1})}, attrs);
    const auto b = step.Start(1, "CollectiveReduce", {Row({1})}, attrs);
    ExpectResult<float>(a, Row({2}));
  }
}

}  // namespace
}  // namespace thalweg
