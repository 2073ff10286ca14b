// SPDX-License-Identifier: Apache-2.0
#include <limits>

#include "thalweg/testing/test_values.h"

namespace thalweg {
namespace {

TEST(TreeBucketsTest, Bucketize) {
  const AttrMap one = {{"num_features", int64_t{1}}}, two = {{"num_features", int64_t{2}}};
  OpCase("BoostedTreesBucketize")
      .Reference([](RefCall<double>& r) {
        for (size_t f = 0; f < r.in.size() / 2; ++f) {
          const Array<double>&values = r.in[f], &bounds = r.in[r.in.size() / 2 + f];
          r.out.push_back(Array<double>(Shape{values.size()}));
          for (int64_t i = 0; i < values.size(); ++i) {
            int64_t bucket = 0;
            while (bucket + 1 < bounds.size() && bounds[bucket] < values[i]) ++bucket;
            r.out.back()[i] = static_cast<double>(bucket);
          }
        }
      })
      .Try({In({7}, {0, 1, 1.5, 2, 3, 9, -5}), In({3}, {1, 2, 3})}, one)
      .Try({In({2, 3}), In({9}), In({2}, {-1, 1}), In({5}, {-2, -1, 0, 1, 2})}, two)
      .Try({In({0}), In({4}), In({2}, {-1, 1}), In({2}, {0, 1})}, two)
      .Bad({In({2}), In({1, 2})}, one, Code::kInvalidArgument, "", "Buckets should be flat vectors")
      .Run();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  ExpectOutputs("BoostedTreesBucketize", {Numbers<float>({nan, 5}), Numbers<float>({1, 2})},
                {{"num_features", int64_t{1}}}, {Numbers<int32_t>({0, 1})});
  ExpectOutputs("BoostedTreesBucketize",
                {Numbers<float>({5}), Tensor::Of<float>(std::vector<float>(), Shape{0})},
                {{"num_features", int64_t{1}}}, {Numbers<int32_t>({0})});
}

// Values that TensorFlow 1.15 gave.
TEST(TreeBucketsTest, SummariesAreTensorFlows) {
  const auto expect = [](const std::vector<Tensor>& values, const Tensor& weights, float epsilon,
                         const std::vector<Tensor>& summaries) {
    std::vector<Tensor> inputs = values;
    inputs.push_back(weights);
    inputs.push_back(Tensor::Scalar(epsilon));
    ExpectOutputs("BoostedTreesMakeQuantileSummaries", inputs,
                  {{"num_features", static_cast<int64_t>(values.size())}}, summaries);
  };
  const auto summary = [](const std::vector<float>& rows) {
    return Numbers<float>(rows, Shape{static_cast<int64_t>(rows.size()) / 4, 4});
  };
  const Tensor three = Numbers<float>({1, 2, 3});
  expect({three}, Numbers<float>({2}), 0.1F, {summary({1, 2, 0, 2, 3, 2, 4, 6})});
  expect({three, Numbers<float>({2, 2, 2})}, Numbers<float>({1, -1, 0}), 0.1F,
         {summary({1, 1, 0, 1}), summary({2, 1, 0, 1})});
  expect({three}, Numbers<float>({1, 2, 3}, Shape{3, 1}), 0.1F,
         {summary({1, 1, 0, 1, 3, 3, 3, 6})});
  const Tensor none = Tensor::Of<float>(std::vector<float>(), Shape{0});
  expect({none}, none, 0.1F, {Tensor::Of<float>(std::vector<float>(), Shape{0, 4})});
  const auto refuse = [&](const Tensor& values, const Tensor& weights, float epsilon,
                          const char* why) {
    ExpectError("BoostedTreesMakeQuantileSummaries", {values, weights, Tensor::Scalar(epsilon)},
                {{"num_features", int64_t{1}}}, Code::kInvalidArgument, why);
  };
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const float epsilon : {0.0F, -1.0F, 1.0F, nan}) {
    refuse(three, three, epsilon, "An epsilon value of zero is not allowed.");
  }
  refuse(three, Numbers<float>({1, 2}), 0.1F,
         "Weights should be a single value or same size as features.");
  refuse(Numbers<float>({1, nan, 3}), three, 0.1F, "float_values[0] is NaN at 1");
}

}  // namespace
}  // namespace thalweg
