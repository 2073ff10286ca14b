// SPDX-License-Identifier: Apache-2.0
#include <limits>

#include "thalweg/ops/boosted_trees/test_trees.h"

namespace thalweg {
namespace {

constexpr const char* kAdd = "BoostedTreesQuantileStreamResourceAddSummaries";
constexpr const char* kFlush = "BoostedTreesQuantileStreamResourceFlush";
constexpr const char* kTake = "BoostedTreesFlushQuantileSummaries";
constexpr const char* kSet = "BoostedTreesQuantileStreamResourceDeserialize";
constexpr const char* kGet = "BoostedTreesQuantileStreamResourceGetBucketBoundaries";

Tensor Summary(const std::vector<float>& rows) {
  return Numbers<float>(rows, Shape{static_cast<int64_t>(rows.size()) / 4, 4});
}
const std::vector<float> kRows = {1, 1, 0, 1, 2, 1, 1, 2, 3, 2, 2, 4, 7, 1, 4, 5};

AttrMap Of(const char* attr, int64_t n) {
  AttrMap attrs;
  attrs.Set(attr, n);
  return attrs;
}
const AttrMap kOne = Of("num_features", 1), kTwo = Of("num_features", 2);

Tensor NoFloats() { return Tensor::Of<float>(std::vector<float>(), Shape{0}); }

// Values that TensorFlow 1.15 gave.
TEST(QuantileStreamTest, BoundariesComeFromWhatWasAdded) {
  const Tensor streams = StreamsHandle(0.1F, 1);
  ExpectOutputs(kGet, {streams}, kOne, {NoFloats()});
  DoTrees(kAdd, {streams, Summary(kRows)}, kOne);
  DoTrees(kFlush, {streams, Tensor::Scalar(int64_t{2})});
  ExpectOutputs(kGet, {streams}, kOne, {Numbers<float>({1, 3, 7})});
  DoTrees(kAdd, {streams, Summary(kRows)}, kOne);
  DoTrees(kAdd, {streams, Summary(kRows)}, kOne);
  ExpectOutputs(kTake, {streams}, kOne,
                {Summary({1, 2, 0, 2, 2, 2, 2, 4, 3, 4, 4, 8, 7, 2, 8, 10})});
  ExpectOutputs(kTake, {streams}, kOne, {Tensor::Of<float>(std::vector<float>(), Shape{0, 4})});
  // Summaries alone change no boundaries, a flush of nothing does.
  ExpectOutputs(kGet, {streams}, kOne, {Numbers<float>({1, 3, 7})});
  DoTrees(kFlush, {streams, Tensor::Scalar(int64_t{2})});
  ExpectOutputs(kGet, {streams}, kOne, {NoFloats()});
  DoTrees(kSet, {streams, Numbers<float>({1, 2, 3})}, Of("num_streams", 1));
  ExpectOutputs(kGet, {streams}, kOne, {Numbers<float>({1, 2, 3})});
}

TEST(QuantileStreamTest, QuantilesAreAsManyAsAskedFor) {
  const Tensor streams = StreamsHandle(0.1F, 1);
  const AttrMap quantiles = {{"generate_quantiles", true}};
  DoTrees(kAdd, {streams, Summary(kRows)}, kOne);
  DoTrees(kFlush, {streams, Tensor::Scalar(int64_t{6})}, quantiles);
  const auto out = RunOp(kGet, {streams}, kOne);
  ASSERT_TRUE(out.ok());
  ASSERT_EQ((*out)[0].num_elements(), 6);
  EXPECT_EQ((*out)[0].data<float>()[0], 1);
  EXPECT_EQ((*out)[0].data<float>()[5], 7);
  for (const int64_t buckets : {int64_t{-1}, int64_t{2}, int64_t{1} << 50}) {
    ExpectError(kFlush, {streams, Tensor::Scalar(buckets)}, quantiles, Code::kInvalidArgument,
                "num_buckets must be a number of quantiles");
  }
}

TEST(QuantileStreamTest, OtherNumbersOfFeaturesAreRefused) {
  const Tensor streams = StreamsHandle(0.1F, 1), summary = Summary(kRows);
  ExpectError(kAdd, {streams, summary, summary}, kTwo, Code::kInvalidArgument,
              "expected summaries of 1 features, got 2");
  ExpectError(kGet, {streams}, kTwo, Code::kInvalidArgument, "expected boundaries of 1 features");
  ExpectError(kTake, {streams}, kTwo, Code::kInvalidArgument, "expected summaries of 1 features");
  ExpectError(kSet, {streams, NoFloats(), NoFloats()}, Of("num_streams", 2), Code::kInvalidArgument,
              "expected boundaries of 1 features");
  ExpectError(kAdd, {streams, Numbers<float>({1, 2, 3}, Shape{1, 3})}, kOne, Code::kInvalidArgument,
              "");
}

TEST(QuantileStreamTest, WhatCannotBeAStreamIsNotMade) {
  const AllocatorPtr allocator = MakeCpuAllocator();
  const auto refuse = [&](float epsilon, int64_t elements, int64_t streams, const char* why) {
    const Status status = QuantileStreams::Make(*allocator, epsilon, elements, streams).status();
    EXPECT_EQ(status.code(), Code::kInvalidArgument);
    EXPECT_NE(status.message().find(why), std::string_view::npos) << status.ToString();
  };
  refuse(0, 9, 1, "An epsilon value of zero is not allowed.");
  refuse(std::numeric_limits<float>::quiet_NaN(), 9, 1, "An epsilon value of zero");
  refuse(2, 9, 1, "epsilon must be below 1");
  refuse(0.1F, 0, 1, "max_elements must be above 0");
  refuse(0.1F, 9, -1, "num_streams must be a number of features");
  refuse(0.1F, 9, int64_t{1} << 40, "num_streams must be a number of features");
  EXPECT_EQ(QuantileStreams::Make(*MakeCpuAllocator(1 << 20), 0.1F, 9, 1 << 20).status().code(),
            Code::kResourceExhausted);
}

}  // namespace
}  // namespace thalweg
