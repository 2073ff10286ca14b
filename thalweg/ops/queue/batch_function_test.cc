// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "thalweg/ops/queue/test_batch_calls.h"

namespace thalweg {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const std::vector<DType> kOne = {DType::kInt32};

class BatchFunctionTest : public testing::Test {
 protected:
  StartedCall Gather(const std::vector<int32_t>& rows, AttrMap more = {}) {
    AttrMap attrs = {{"max_batch_size", int64_t{4}},
                     {"batch_timeout_micros", int64_t{10'000}},
                     {"allowed_batch_sizes", std::vector<int64_t>{}},
                     {"enable_large_batch_splitting", false},
                     {"container", std::string()},
                     {"shared_name", std::string("function")}};
    for (const auto& [name, value] : more) attrs.Set(name, value);
    return calls_.Start("_GatherBatch", {Row(rows)}, std::move(attrs));
  }
  StartedCall Scatter(const Tensor& share, Tensor results) {
    return calls_.Start("_ScatterBatch", {share, std::move(results)}, {{"Tout", kOne}});
  }
  StartedCall Await(const Tensor& share, const std::vector<DType>& types = kOne) {
    return calls_.Start("_AwaitBatch", {share}, {{"Tout", types}});
  }
  BatchCalls calls_;
};

TEST_F(BatchFunctionTest, TheLeaderComputesAndEachGetsItsRows) {
  const auto a = Gather({1}), b = Gather({2, 3, 4});
  ASSERT_TRUE(a->ended() && b->ended());
  EXPECT_FALSE(a->output(2).scalar<bool>());
  EXPECT_TRUE(b->output(2).scalar<bool>());
  EXPECT_EQ(a->output(0).shape(), (Shape{0}));
  EXPECT_THAT(Ints(b->output(0)), ElementsAre(1, 2, 3, 4));
  const auto rows_of_a = Await(a->output(1));
  EXPECT_FALSE(rows_of_a->ended());
  const auto rows_of_b = Scatter(b->output(1), Row({10, 20, 30, 40}));
  EXPECT_THAT(Ints(rows_of_b->output(0)), ElementsAre(20, 30, 40));
  ASSERT_TRUE(rows_of_a->ended());
  EXPECT_THAT(Ints(rows_of_a->output(0)), ElementsAre(10));
}

TEST_F(BatchFunctionTest, WhoComesLateFindsItsRows) {
  const auto a = Gather({1, 2}), b = Gather({3, 4});
  Scatter(b->output(1), Row({5, 6, 7, 8}));
  b->cancellation().Cancel();
  EXPECT_THAT(Ints(Await(a->output(1))->output(0)), ElementsAre(5, 6));
}

TEST_F(BatchFunctionTest, AFailureOfTheLeadersStepIsEverybodys) {
  const auto a = Gather({1}), b = Gather({2}), c = Gather({3, 4});
  const auto rows_of_a = Await(a->output(1));
  c->cancellation().Cancel(OutOfRange("the function's own error"));
  ASSERT_TRUE(rows_of_a->ended());
  for (const Status& status : {rows_of_a->status(), Await(b->output(1))->status()}) {
    EXPECT_EQ(status.code(), Code::kOutOfRange);
    EXPECT_THAT(std::string(status.message()), HasSubstr("the function's own error"));
  }
}

TEST_F(BatchFunctionTest, ACallThatGivesUpIsMissedByNobody) {
  const auto a = Gather({1}), b = Gather({2, 3, 4});
  const auto rows_of_a = Await(a->output(1));
  rows_of_a->cancellation().Cancel();
  EXPECT_EQ(rows_of_a->status().code(), Code::kCancelled);
  EXPECT_THAT(Ints(Scatter(b->output(1), Row({10, 20, 30, 40}))->output(0)),
              ElementsAre(20, 30, 40));
}

TEST_F(BatchFunctionTest, APaddedBatchGivesBackWhatIsNoPadding) {
  const auto a = Gather({1, 2}, {{"allowed_batch_sizes", std::vector<int64_t>{3, 4}}});
  calls_.Pass(std::chrono::milliseconds(11));
  EXPECT_THAT(Ints(a->output(0)), ElementsAre(1, 2, 1));
  EXPECT_THAT(Ints(Scatter(a->output(1), Row({7, 8, 9}))->output(0)), ElementsAre(7, 8));
}

TEST_F(BatchFunctionTest, ACallWithoutRowsIsInNoBatch) {
  const auto a = Gather({}), b = Gather({1});
  ASSERT_TRUE(a->ended());
  EXPECT_FALSE(b->ended() || a->output(2).scalar<bool>());
  EXPECT_EQ(Await(a->output(1))->output(0).shape(), (Shape{0}));
}

TEST_F(BatchFunctionTest, CallsThatWouldBeSplit) {
  const AttrMap splits = {{"enable_large_batch_splitting", true},
                          {"allowed_batch_sizes", std::vector<int64_t>{1, 2}}};
  EXPECT_TRUE(Gather({1, 2}, splits)->ended()) << "a batch is full with its largest allowed size";
  Gather({1, 2, 3}, splits);
  EXPECT_EQ(calls_.first().code(), Code::kUnimplemented);
  EXPECT_THAT(std::string(calls_.first().message()), HasSubstr("enable_large_batch_splitting"));
  Gather({1, 2, 3, 4, 5}, splits);
  EXPECT_EQ(calls_.first().code(), Code::kInvalidArgument);
  AttrMap beyond = splits;
  beyond.Set("allowed_batch_sizes", std::vector<int64_t>{5});
  Gather({1}, beyond);
  EXPECT_THAT(std::string(calls_.first().message()), HasSubstr("must not exceed max_batch_size"));
}

TEST_F(BatchFunctionTest, BadResultsAndShares) {
  const auto a = Gather({1}), b = Gather({2, 3, 4});
  Scatter(b->output(1), Row({10, 20, 30}));
  EXPECT_EQ(calls_.first().code(), Code::kFailedPrecondition);
  EXPECT_THAT(std::string(calls_.first().message()), HasSubstr("shape [3], the batch 4 rows"));
  Scatter(b->output(1), Tensor::Scalar(1));
  EXPECT_THAT(std::string(calls_.first().message()), HasSubstr("has 0 dimensions"));
  Scatter(b->output(1), Row({10, 20, 30, 40}));
  EXPECT_EQ(Await(a->output(1), {DType::kInt32, DType::kInt32})->status().code(),
            Code::kInvalidArgument);
  Await(Tensor::Scalar(1));
  EXPECT_EQ(calls_.first().code(), Code::kInvalidArgument);
}

}  // namespace
}  // namespace thalweg
