// SPDX-License-Identifier: Apache-2.0
// What the members of a collective operation get.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "thalweg/kernel/test_step.h"
#include "thalweg/resources/local_collectives.h"
#include "thalweg/resources/test_collective.h"

namespace thalweg {
namespace {

using Floats = std::vector<float>;

class CollectiveResultsTest : public testing::Test {
 protected:
  static std::vector<CollectiveCall> Calls(CollectiveKind kind, const std::vector<Tensor>& values) {
    std::vector<CollectiveCall> calls;
    for (size_t i = 0; i < values.size(); ++i) {
      calls.push_back(
          MemberCall(static_cast<int>(i), static_cast<int64_t>(values.size()), values[i]));
      calls.back().kind = kind;
    }
    return calls;
  }
  std::vector<Tensor> Results(const std::vector<CollectiveCall>& calls) {
    Result<std::vector<Tensor>> results = CollectiveResults(call_.context(), calls);
    EXPECT_TRUE(results.ok()) << results.status().ToString();
    return results.ok() ? *std::move(results) : std::vector<Tensor>(calls.size());
  }
  static std::string Refusal(CollectiveKind kind, Tensor value) {
    CollectiveCall call = MemberCall(0, 2, std::move(value));
    call.kind = kind;
    const Status status = CheckCollectiveValue(call);
    EXPECT_EQ(status.code(), Code::kInvalidArgument);
    return std::string(status.message());
  }

  TestStep step_;
  TestCall call_{step_, {}, 0};
};

TEST_F(CollectiveResultsTest, AReductionGivesAllTheSameBuffer) {
  const auto results = Results(Calls(
      CollectiveKind::kReduce, {Tensor::Vector<float>({1, 2}), Tensor::Vector<float>({10, 20}),
                                Tensor::Vector<float>({100, 200})}));
  ASSERT_EQ(results.size(), 3u);
  EXPECT_EQ(ElementsOf<float>(results[0]), (Floats{111, 222}));
  EXPECT_EQ(results[2].raw_data(), results[0].raw_data());
}

TEST_F(CollectiveResultsTest, ValuesAreMergedInTheOrderOfTheRanks) {
  // (1e8 + 1) - 1e8 rounds to 0 and (1e8 - 1e8) + 1 to 1: the bits say the order.
  const Tensor large = Tensor::Vector<float>({1e8F}), one = Tensor::Vector<float>({1}),
               minus = Tensor::Vector<float>({-1e8F});
  EXPECT_EQ(Results(Calls(CollectiveKind::kReduce, {large, one, minus}))[0].data<float>()[0], 0);
  EXPECT_EQ(Results(Calls(CollectiveKind::kReduce, {large, minus, one}))[0].data<float>()[0], 1);
}

TEST_F(CollectiveResultsTest, AMeanIsDividedByTheNumberOfMembers) {
  auto calls =
      Calls(CollectiveKind::kReduce, {Tensor::Vector<int32_t>({7}), Tensor::Vector<int32_t>({2})});
  for (CollectiveCall& call : calls) call.is_mean = true;
  EXPECT_EQ(Results(calls)[0].data<int32_t>()[0], 4);
  auto product =
      Calls(CollectiveKind::kReduce, {Tensor::Vector<float>({3}), Tensor::Vector<float>({5})});
  for (CollectiveCall& call : product) call.merge = compute::BinaryOp::kMul;
  EXPECT_EQ(Results(product)[0].data<float>()[0], 15);
}

TEST_F(CollectiveResultsTest, AMemberAloneGetsWhatItBrought) {
  const Tensor value = Tensor::Vector<float>({1, 2});
  for (const CollectiveKind kind :
       {CollectiveKind::kReduce, CollectiveKind::kGather, CollectiveKind::kReduceScatter}) {
    EXPECT_EQ(Results(Calls(kind, {value}))[0].raw_data(), value.raw_data());
  }
}

TEST_F(CollectiveResultsTest, AScatterGivesEachRankItsPart) {
  const auto results =
      Results(Calls(CollectiveKind::kReduceScatter, {Tensor::Vector<float>({1, 2, 3, 4}),
                                                     Tensor::Vector<float>({10, 20, 30, 40})}));
  EXPECT_EQ(ElementsOf<float>(results[0]), (Floats{11, 22}));
  EXPECT_EQ(ElementsOf<float>(results[1]), (Floats{33, 44}));
}

TEST_F(CollectiveResultsTest, LargePartsOfAScatterShareTheirBytes) {
  const Tensor large = Tensor::Of<float>(Floats(8192, 1), Shape{8192});
  const auto results = Results(Calls(CollectiveKind::kReduceScatter, {large, large}));
  EXPECT_EQ(results[1].raw_data(), results[0].data<float>() + 4096);
  EXPECT_EQ(results[1].data<float>()[4095], 2);
}

TEST_F(CollectiveResultsTest, AGatherJoinsInTheOrderOfTheRanks) {
  const auto results =
      Results(Calls(CollectiveKind::kGather, {Tensor::Of<float>(Floats{1, 2}, Shape{1, 2}),
                                              Tensor::Of<float>(Floats{3, 4}, Shape{1, 2})}));
  EXPECT_EQ(results[1].shape(), (Shape{2, 2}));
  EXPECT_EQ(ElementsOf<float>(results[1]), (Floats{1, 2, 3, 4}));
}

TEST_F(CollectiveResultsTest, ABroadcastSharesTheSendersValue) {
  const Tensor value = Tensor::Vector<float>({5});
  const auto results = Results(Calls(CollectiveKind::kBroadcast, {Tensor(), value, Tensor()}));
  for (const Tensor& result : results) EXPECT_EQ(result.raw_data(), value.raw_data());
}

TEST_F(CollectiveResultsTest, AnExchangeIsATranspositionOfRows) {
  const auto results =
      Results(Calls(CollectiveKind::kAllToAll,
                    {Tensor::Vector<float>({1, 2, 3}), Tensor::Vector<float>({4, 5, 6}),
                     Tensor::Vector<float>({7, 8, 9})}));
  EXPECT_EQ(ElementsOf<float>(results[0]), (Floats{1, 4, 7}));
  EXPECT_EQ(ElementsOf<float>(results[2]), (Floats{3, 6, 9}));
}

TEST_F(CollectiveResultsTest, AResultThatFindsNoRoomIsAnError) {
  TestStep small(int64_t{1} << 20);
  TestCall call(small, {}, 0);
  const Tensor value = *Tensor::AllocateHost(DType::kFloat, Shape{int64_t{1} << 18, 2});
  const Status status =
      CollectiveResults(call.context(), Calls(CollectiveKind::kGather, {value, value})).status();
  EXPECT_EQ(status.code(), Code::kResourceExhausted);
}

TEST_F(CollectiveResultsTest, AValueThatCannotBeCutForItsGroupIsRefused) {
  EXPECT_THAT(Refusal(CollectiveKind::kGather, Tensor::Scalar(1.0F)),
              testing::HasSubstr("at least rank 1"));
  EXPECT_THAT(Refusal(CollectiveKind::kReduceScatter, Tensor::Vector<float>({1, 2, 3})),
              testing::HasSubstr("a multiple of the group's size 2, got shape [3]"));
  EXPECT_THAT(Refusal(CollectiveKind::kAllToAll, Tensor::Vector<float>({1, 2, 3, 4})),
              testing::HasSubstr("equal to the group's size 2, got shape [4]"));
  EXPECT_TRUE(CheckCollectiveValue(MemberCall(0, 2, Tensor::Scalar(1.0F))).ok());
}

TEST(LocalCollectivesTest, HoldsInstancesOfAGroupWhateverItsSize) {
  const LocalCollectives here({{1, 7}, {2, 8}});
  EXPECT_TRUE(here.Contains({2, 1, 7}));
  EXPECT_TRUE(here.Contains({3, 1, 7}));
  EXPECT_FALSE(here.Contains({2, 1, 8}));
  EXPECT_FALSE(here.Contains({2, 7, 1}));
}

}  // namespace
}  // namespace thalweg
