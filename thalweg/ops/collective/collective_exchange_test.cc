// SPDX-License-Identifier: Apache-2.0
#include <limits>

#include "thalweg/ops/collective/test_collective_calls.h"
#include "thalweg/testing/op_case.h"

namespace thalweg {
namespace {

AttrMap GatherAttrs(int64_t size) { return Keys(size, {{"shape", PartialShape()}}); }

const auto kOneMember = [](RefCall<double>& r) { r.out = {r.in[0]}; };
constexpr std::string_view kWhyTrivial = "one member gets what it brought";

TEST(CollectiveExchangeTest, AGroupOfOneGetsWhatItBrought) {
  OpCase("CollectiveGather")
      .Reference(kOneMember)
      .Trivial(kWhyTrivial)
      .Try({In({3, 2})}, GatherAttrs(1))
      .Try({In({0, 2})}, GatherAttrs(1))
      .Bad({In({})}, GatherAttrs(1), Code::kInvalidArgument, "rank 1")
      .Bad({In({3})}, GatherAttrs(0), Code::kInvalidArgument, "must be positive")
      .Run();
  const auto with_keys = [](In value, int32_t size) {
    return std::vector<In>{std::move(value), Tensor::Scalar(size), Tensor::Scalar(1),
                           Tensor::Scalar(2)};
  };
  OpCase("CollectiveGatherV2")
      .Reference(kOneMember)
      .Trivial(kWhyTrivial)
      .Try(with_keys(In({3, 2}), 1))
      .Bad(with_keys(In({3}), -1), {}, Code::kInvalidArgument, "must be positive")
      .Run();
  OpCase("CollectiveAllToAllV2")
      .Reference(kOneMember)
      .Trivial(kWhyTrivial)
      .Try(with_keys(In({1, 3}), 1))
      .Bad(with_keys(In({}), 1), {}, Code::kInvalidArgument, "group's size 1")
      .Bad(with_keys(In({3}), 2), {}, Code::kInvalidArgument, "group's size 2")
      .Run();
}

// Recorded: what TensorFlow 2.21 gives (CollectiveGather, CollectiveAllToAllV2).
TEST(CollectiveExchangeTest, JoinsByRankAndExchangesRows) {
  const auto value = [](int32_t from) {
    return Tensor::Of<int32_t>(std::vector<int32_t>{from, from + 1, from + 2, from + 3},
                               Shape{2, 2});
  };
  CollectiveStep step(2);
  const auto b = step.Start(1, "CollectiveGather", {value(10)}, GatherAttrs(2));
  const auto a = step.Start(0, "CollectiveGatherV2", WithKeys({value(0)}, 2), {});
  const Tensor joined =
      Tensor::Of<int32_t>(std::vector<int32_t>{0, 1, 2, 3, 10, 11, 12, 13}, Shape{4, 2});
  ExpectResult<int32_t>(a, joined);
  ExpectResult<int32_t>(b, joined);
  CollectiveStep next(2);
  const auto d = next.Start(1, "CollectiveAllToAllV2", WithKeys({value(10)}, 2), {});
  const auto c = next.Start(0, "CollectiveAllToAllV2", WithKeys({value(0)}, 2), {});
  ExpectResult<int32_t>(c, Tensor::Of<int32_t>(std::vector<int32_t>{0, 1, 10, 11}, Shape{2, 2}));
  ExpectResult<int32_t>(d, Tensor::Of<int32_t>(std::vector<int32_t>{2, 3, 12, 13}, Shape{2, 2}));
}

TEST(CollectiveExchangeTest, EmptyRowsOfAnyNumberHaveASizeOrAnError) {
  const Tensor many = *Tensor::Allocate(*MakeCpuAllocator(), DType::kFloat,
                                        Shape{std::numeric_limits<int64_t>::max() / 2 + 1, 0});
  CollectiveStep step(2);
  const auto a = step.Start(0, "CollectiveGather", {many}, GatherAttrs(2));
  const auto b = step.Start(1, "CollectiveGather", {many}, GatherAttrs(2));
  for (const auto* member : {&a, &b}) ExpectError(*member, Code::kInvalidArgument, "2^63 rows");
}

}  // namespace
}  // namespace thalweg
