// SPDX-License-Identifier: Apache-2.0
#include "thalweg/ops/collective/test_collective_calls.h"
#include "thalweg/testing/op_case.h"

namespace thalweg {
namespace {

AttrMap Shaped(int64_t size, const PartialShape& shape, AttrMap more = {}) {
  more.Set("shape", shape);
  return Keys(size, std::move(more));
}
AttrMap RecvAttrs(int64_t size, const PartialShape& shape, DType dtype = DType::kFloat) {
  return Shaped(size, shape, {{"T", dtype}});
}

TEST(CollectiveBroadcastTest, ASenderAloneGetsItsInput) {
  const auto same = [](RefCall<double>& r) { r.out = {r.in[0]}; };
  OpCase("CollectiveBcastSend")
      .Reference(same)
      .Trivial("a broadcast copies")
      .Try({In({2, 3})}, Shaped(1, PartialShape{2, -1}))
      .Bad({In({2, 3})}, Shaped(1, PartialShape{3, 3}), Code::kInvalidArgument, "")
      .Bad({In({2})}, Shaped(0, PartialShape{2}), Code::kInvalidArgument, "must be positive")
      .Run();
  OpCase("CollectiveBcastSendV2")
      .Reference(same)
      .Trivial("a broadcast copies")
      .Try({In({2, 3}), Tensor::Scalar(1), Tensor::Scalar(1), Tensor::Scalar(1)})
      .Bad({In({2}), Tensor::Scalar(-1), Tensor::Scalar(1), Tensor::Scalar(1)}, {},
           Code::kInvalidArgument, "must be positive")
      .Run();
}

TEST(CollectiveBroadcastTest, EverybodyGetsTheSendersValue) {
  const Tensor x = Tensor::Vector<float>({3, 4});
  CollectiveStep step(3);
  const auto a = step.Start(0, "CollectiveBcastRecv", {}, RecvAttrs(3, PartialShape{2}));
  AttrMap types = {{"T", DType::kFloat}};
  const auto c = step.Start(2, "CollectiveBcastRecvV2",
                            WithKeysFirst(3, {Tensor::Vector<int32_t>({2})}), types);
  EXPECT_FALSE(a->ended() || c->ended());
  const auto b = step.Start(1, "CollectiveBcastSend", {x}, Shaped(3, PartialShape{2}));
  for (const auto* member : {&a, &b, &c}) ExpectResult<float>(*member, x);
  EXPECT_TRUE(a->output(0).SharesBufferWith(x));
}

TEST(CollectiveBroadcastTest, NeedsOneSenderAndOneShape) {
  const Tensor x = Tensor::Vector<float>({3, 4});
  const auto expect_both = [&](const StartedMember& a, const StartedMember& b, const char* part) {
    ExpectError(a, Code::kInvalidArgument, part);
    ExpectError(b, Code::kInvalidArgument, part);
  };
  const PartialShape shape{2};
  CollectiveStep two(2), none(2), other_shape(2), other_type(2), negative(1);
  const auto first = two.Start(0, "CollectiveBcastSend", {x}, Shaped(2, shape));
  expect_both(first, two.Start(1, "CollectiveBcastSend", {x}, Shaped(2, shape)), "has 2 among 2");
  const auto second = none.Start(0, "CollectiveBcastRecv", {}, RecvAttrs(2, shape));
  expect_both(second, none.Start(1, "CollectiveBcastRecv", {}, RecvAttrs(2, shape)),
              "has 0 among 2");
  const auto third = other_shape.Start(0, "CollectiveBcastSend", {x}, Shaped(2, shape));
  expect_both(third, other_shape.Start(1, "CollectiveBcastRecv", {}, RecvAttrs(2, PartialShape{3})),
              "Shape mismatch");
  const auto fourth = other_type.Start(0, "CollectiveBcastSend", {x}, Shaped(2, shape));
  expect_both(fourth,
              other_type.Start(1, "CollectiveBcastRecv", {}, RecvAttrs(2, shape, DType::kDouble)),
              "type");
  ExpectError(
      negative.Start(0, "CollectiveBcastRecvV2", WithKeysFirst(1, {Tensor::Vector<int32_t>({-2})}),
                     {{"T", DType::kFloat}}),
      Code::kInvalidArgument, "");
}

}  // namespace
}  // namespace thalweg
