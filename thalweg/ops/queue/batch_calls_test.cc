// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "thalweg/ops/queue/test_batch_calls.h"

namespace thalweg {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(BatchCallsTest, TheLastCallGetsAllRows) {
  BatchCalls calls;
  const auto a = calls.Batch({1, 2});
  EXPECT_FALSE(a->ended());
  const auto b = calls.Batch({3, 4});
  ASSERT_TRUE(a->ended() && b->ended());
  EXPECT_EQ(a->output(0).shape(), (Shape{0}));
  EXPECT_EQ(a->output(1).shape(), (Shape{0, 3}));
  EXPECT_THAT(Ints(b->output(0)), ElementsAre(1, 2, 3, 4));
  const int64_t first = a->output(2).scalar<int64_t>(), second = b->output(2).scalar<int64_t>();
  EXPECT_NE(first, second);
  EXPECT_THAT(Longs(b->output(1)), ElementsAre(first, 0, 2, second, 2, 4));
}

TEST(BatchCallsTest, ACallThatDoesNotFitClosesTheBatch) {
  BatchCalls calls;
  const auto a = calls.Batch({1, 2, 3});
  const auto b = calls.Batch({4, 5});
  ASSERT_TRUE(a->ended());
  EXPECT_THAT(Ints(a->output(0)), ElementsAre(1, 2, 3));
  EXPECT_FALSE(b->ended());
  b->cancellation().Cancel();
  EXPECT_EQ(b->status().code(), Code::kCancelled);
  const auto c = calls.Batch({6, 7}), d = calls.Batch({8, 9});
  EXPECT_THAT(Ints(d->output(0)), ElementsAre(6, 7, 8, 9)) << "a cancelled call leaves no rows";
}

TEST(BatchCallsTest, TimeClosesABatchAndItIsPadded) {
  BatchCalls calls({{"allowed_batch_sizes", std::vector<int64_t>{2, 4}}});
  const auto a = calls.Batch({1}), b = calls.Batch({2, 3});
  EXPECT_FALSE(a->ended() || b->ended());
  calls.Pass(std::chrono::milliseconds(11));
  ASSERT_TRUE(a->ended() && b->ended());
  EXPECT_THAT(Ints(a->output(0)), IsEmpty());
  EXPECT_THAT(Ints(b->output(0)), ElementsAre(1, 2, 3, 1));
  EXPECT_EQ(Longs(b->output(1))[5], 3);
  const auto c = calls.Batch({4});
  calls.Pass(std::chrono::milliseconds(11));
  EXPECT_THAT(Ints(c->output(0)), ElementsAre(4, 4));
}

TEST(BatchCallsTest, BadInput) {
  const auto message = [](AttrMap attrs, std::vector<Tensor> inputs) {
    BatchCalls calls(std::move(attrs));
    calls.Start("Batch", std::move(inputs), calls.BatchAttrs());
    EXPECT_EQ(calls.first().code(), Code::kInvalidArgument);
    return std::string(calls.first().message());
  };
  const Tensor two = Row({1, 2});
  EXPECT_THAT(message({}, {Row({1, 2, 3, 4, 5})}),
              HasSubstr("Task size 5 is larger than maximum input batch size 4"));
  EXPECT_THAT(message({}, {Tensor::Scalar(1)}), HasSubstr("at least one dimension"));
  EXPECT_THAT(message({}, {Row({})}), HasSubstr("at least one row"));
  EXPECT_THAT(message({{"max_batch_size", 0}}, {two}), HasSubstr("max_batch_size"));
  EXPECT_THAT(message({{"batch_timeout_micros", -1}}, {two}), HasSubstr("must not be negative"));
  EXPECT_THAT(message({{"allowed_batch_sizes", std::vector<int64_t>{4, 2}}}, {two}),
              HasSubstr("monotonically increasing"));
  EXPECT_THAT(message({{"allowed_batch_sizes", std::vector<int64_t>{1, 3}}}, {two}),
              HasSubstr("must equal max_batch_size (4), got 3"));
  BatchCalls calls;
  AttrMap pair = calls.BatchAttrs();
  pair.Set("T", std::vector<DType>{DType::kInt32, DType::kInt32});
  calls.Start("Batch", {two, Row({1})}, pair);
  EXPECT_THAT(std::string(calls.first().message()), HasSubstr("input 0 has 2, input 1 has 1"));
}

TEST(BatchCallsTest, ACallOfOtherShapeIsRefusedAlone) {
  BatchCalls calls;
  const auto a = calls.Batch({1, 2});
  calls.Start("Batch", {Tensor::Of<int32_t>(std::vector<int32_t>{1, 2}, Shape{1, 2})},
              calls.BatchAttrs());
  EXPECT_THAT(std::string(calls.first().message()), HasSubstr("must have the same types"));
  const auto b = calls.Batch({3, 4});
  EXPECT_THAT(Ints(b->output(0)), ElementsAre(1, 2, 3, 4));
}

}  // namespace
}  // namespace thalweg
