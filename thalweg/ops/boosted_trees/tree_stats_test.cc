// SPDX-License-Identifier: Apache-2.0
#include "thalweg/testing/test_values.h"

namespace thalweg {
namespace {

// out[place(i, k)] += what example i has, for every column k of the feature.
template <class Place>
void SumExamples(RefCall<double>& r, Array<double>& out, int64_t columns, const Place& place) {
  const int64_t batch = r.in[0].size();
  const int64_t gradients = r.in[1].shape.dim(1), hessians = r.in[2].shape.dim(1);
  for (int64_t i = 0; i < batch; ++i) {
    for (int64_t k = 0; k < columns; ++k) {
      const int64_t at = place(i, k) * (gradients + hessians);
      for (int64_t g = 0; g < gradients; ++g) out[at + g] += r.in[1][i * gradients + g];
      for (int64_t h = 0; h < hessians; ++h) out[at + gradients + h] += r.in[2][i * hessians + h];
    }
  }
}

TEST(TreeStatsTest, MakeStatsSummary) {
  const AttrMap attrs = {{"max_splits", int64_t{3}}, {"num_buckets", int64_t{4}}};
  OpCase("BoostedTreesMakeStatsSummary")
      .Reference([](RefCall<double>& r) {
        const auto features = static_cast<int64_t>(r.in.size()) - 3;
        r.out = {Array<double>(Shape{features, 3, 4, 2})};
        for (int64_t f = 0; f < features; ++f) {
          SumExamples(r, r.out[0], 1, [&](int64_t i, int64_t) {
            return (f * 3 + static_cast<int64_t>(r.in[0][i])) * 4 +
                   static_cast<int64_t>(r.in[3 + static_cast<size_t>(f)][i]);
          });
        }
      })
      .Try({In({5}, {0, 2, 1, 0, 2}), In({5, 1}), In({5, 1}), In({5}, {3, 0, 1, 3, 2}),
            In({5}, {0, 0, 1, 1, 2})},
           attrs)
      .Try({In({1}, {2}), In({1, 1}), In({1, 1}), In({1}, {3})}, attrs)
      .Bad({In({1}, {3}), In({1, 1}), In({1, 1}), In({1}, {3})}, attrs, Code::kInvalidArgument, "",
           "node_ids[0] = 3 is not in [0, 3)")
      .Bad({In({1}, {2}), In({1, 1}), In({1, 1}), In({1}, {4})}, attrs, Code::kInvalidArgument, "",
           "bucket 4 of example 0 is not in [0, 4)")
      .Bad({In({1}, {2}), In({1, 1}), In({1, 1}), In({1}, {-1})}, attrs, Code::kInvalidArgument, "",
           "bucket -1 of example 0")
      .Bad({In({1}, {2}), In({2, 1}), In({1, 1}), In({1}, {1})}, attrs, Code::kInvalidArgument, "",
           "gradients and hessians must be of 1 examples")
      .Run();
}

TEST(TreeStatsTest, AggregateStats) {
  const AttrMap attrs = {{"max_splits", int64_t{3}}, {"num_buckets", int64_t{2}}};
  OpCase("BoostedTreesAggregateStats")
      .Reference([](RefCall<double>& r) {
        const int64_t dims = r.in[3].shape.dim(1);
        r.out = {Array<double>(Shape{3, dims, 3, r.in[1].shape.dim(1) + r.in[2].shape.dim(1)})};
        SumExamples(r, r.out[0], dims, [&](int64_t i, int64_t k) {
          const auto bucket = static_cast<int64_t>(r.in[3][i * dims + k]);
          return (static_cast<int64_t>(r.in[0][i]) * dims + k) * 3 + (bucket < 0 ? 2 : bucket);
        });
      })
      .Try({In({3}, {0, 2, 0}), In({3, 1}), In({3, 1}), In({3, 2}, {0, -1, 1, 1, 0, -1})}, attrs)
      .Try({In({2}, {1, 1}), In({2, 2}), In({2, 4}), In({2, 1}, {1, 0})}, attrs)
      .Bad({In({1}, {0}), In({1, 1}), In({1, 1}), In({1, 1}, {-2})}, attrs, Code::kInvalidArgument,
           "", "bucket -2 of example 0")
      .Bad({In({1}, {0}), In({1, 1}), In({1, 1}), In({2, 1}, {0, 0})}, attrs,
           Code::kInvalidArgument, "", "feature must be of 1 examples")
      .Run();
}

// Values that TensorFlow 1.15 gave.
TEST(TreeStatsTest, SparseAggregateStatsCountsWhatIsMissing) {
  const AttrMap attrs = {{"max_splits", int64_t{3}}, {"num_buckets", int64_t{3}}};
  const std::vector<Tensor> examples = {Numbers<int32_t>({0, 1, 0, 2}),
                                        Numbers<float>({1, 2, 3, 4}, Shape{4, 1}),
                                        Numbers<float>({.1F, .2F, .3F, .4F}, Shape{4, 1})};
  const auto with = [&](const Tensor& indices, const Tensor& values, const Tensor& shape) {
    std::vector<Tensor> all = examples;
    for (const Tensor& t : {indices, values, shape}) all.push_back(t);
    return all;
  };
  const Tensor indices = Numbers<int32_t>({0, 0, 1, 1, 2, 0, 3, 0}, Shape{4, 2});
  const Tensor values = Numbers<int32_t>({0, 2, 1, 1}), shape = Numbers<int32_t>({4, 2});
  const std::vector<int32_t> keys = {0, 0, 0, 0, 0, 1, 0, 1, 3, 1, 0, 3, 1, 1, 2, 2, 0, 1, 2, 1, 3};
  std::vector<int32_t> rows;
  for (size_t i = 0; i < keys.size(); i += 3) {
    for (const int32_t k : {0, 1}) rows.insert(rows.end(), {keys[i], keys[i + 1], keys[i + 2], k});
  }
  ExpectOutputs("BoostedTreesSparseAggregateStats", with(indices, values, shape), attrs,
                {Numbers<int32_t>(rows, Shape{14, 4}),
                 Numbers<float>({1, .1F, 3, .3F, 4, .1F + .3F, 2, .2F, 2, .2F, 4, .4F, 4, .4F}),
                 Numbers<int32_t>({3, 2, 4, 2})});
  const auto refuse = [&](const Tensor& i, const Tensor& v, const Tensor& s, const char* why) {
    ExpectError("BoostedTreesSparseAggregateStats", with(i, v, s), attrs, Code::kInvalidArgument,
                why);
  };
  refuse(Numbers<int32_t>({3, 0, 1, 1, 2, 0, 3, 0}, Shape{4, 2}), values, shape, "out of order");
  refuse(Numbers<int32_t>({0, 0, 1, 2, 2, 0, 3, 0}, Shape{4, 2}), values, shape, "lies outside");
  refuse(Numbers<int32_t>({0, 0, 1, 1, 2, 0, 4, 0}, Shape{4, 2}), values, shape, "lies outside");
  refuse(indices, Numbers<int32_t>({0, 3, 1, 1}), shape, "bucket 3 of example 1");
  refuse(indices, values, Numbers<int32_t>({4, -1}), "feature_shape must be that of a matrix");
}

}  // namespace
}  // namespace thalweg
