// SPDX-License-Identifier: Apache-2.0
// The builder of c_dataset.h as a C program uses it: errors that stick and are forgotten, functions
// inside of functions, what lives how long. What the stages do is asked of tw::Dataset, which stands
// over it (datasets_test.cc).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "thalweg/thalweg.h"

namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class DatasetBuilderTest : public ::testing::Test {
 protected:
  ~DatasetBuilderTest() override { tw_dataset_builder_free(builder_); }

  const TwDataset* Range(int64_t stop) {
    return tw_dataset_range(builder_, tw_count(0), tw_count(stop), tw_count(1));
  }
  // A node of a body with one output.
  static TwOutput Op(TwGraph* body, const char* op, const std::vector<TwOutput>& inputs) {
    TwNodeBuilder* const node = tw_node_builder_new(body, op, "");
    for (const TwOutput& input : inputs) tw_node_builder_input(node, input);
    return {tw_node_builder_finish(node, nullptr), 0};
  }
  std::string Said() {
    tw::internal::StatusHolder status;
    tw_dataset_builder_check(builder_, status.c);
    return status.Take().message();
  }
  std::vector<int64_t> Numbers(const TwDataset* dataset) {
    const TwIterator iterator = tw_dataset_make_one_shot_iterator(builder_, dataset);
    const tw::Output next(&graph_, {tw_dataset_get_next(builder_, dataset, iterator), 0});
    EXPECT_EQ(Said(), "");
    std::vector<int64_t> seen;
    tw::Session session = tw::Session::Create(graph_).OrThrow();
    for (tw::Result<tw::Tensors> element = session.Run({}, {next}); element.ok();
         element = session.Run({}, {next})) {
      const auto* const data = element.value()[0].data<int64_t>();
      seen.insert(seen.end(), data, data + element.value()[0].num_elements());
    }
    return seen;
  }

  tw::Environment environment_ = tw::Environment::Create({.threads = 0}).OrThrow();
  tw::Graph graph_{environment_};
  TwDatasetBuilder* builder_ = tw_dataset_builder_new(graph_.c());
};

TEST_F(DatasetBuilderTest, StagesAndFunctions) {
  const TwDataset* d = Range(4);
  TwOutput x;
  TwGraph* const body = tw_dataset_begin_function(builder_, d, nullptr, 0, &x);
  const TwOutput square = Op(body, "Mul", {x, x});
  d = tw_dataset_map(builder_, d, &square, 1, tw_count(2), 1);
  EXPECT_THAT(Numbers(tw_dataset_batch(builder_, d, tw_count(3), 0)), ElementsAre(0, 1, 4, 9));
  EXPECT_EQ(tw_dataset_num_components(d), 1);
  TwTensorSpec spec;
  ASSERT_EQ(tw_dataset_component(d, 0, &spec), 1);
  EXPECT_EQ(spec.dtype, tw::kInt64);
  EXPECT_EQ(spec.rank, 0);
  EXPECT_EQ(tw_dataset_component(d, 1, &spec), 0);
}

TEST_F(DatasetBuilderTest, AFunctionInsideOfAnother) {
  const TwDataset* const outer = Range(4);
  TwOutput x, y;
  tw_dataset_begin_function(builder_, outer, nullptr, 0, &x);
  const TwDataset* inner = tw_dataset_range(builder_, tw_count(0), tw_count_of(x), tw_count(1));
  TwGraph* const body = tw_dataset_begin_function(builder_, inner, nullptr, 0, &y);
  const TwOutput sum = Op(body, "AddV2", {x, y});  // x is of the function outside
  inner = tw_dataset_map(builder_, inner, &sum, 1, tw_count(0), 1);
  EXPECT_THAT(Numbers(tw_dataset_flat_map(builder_, outer, inner)), ElementsAre(1, 2, 3, 3, 4, 5));
}

TEST_F(DatasetBuilderTest, AReductionBeginsWithItsState) {
  const TwDataset* const d = Range(5);
  const TwOutput hundred = graph_.Scalar<int64_t>(100).c();
  TwOutput both[2];
  TwGraph* const body = tw_dataset_begin_function(builder_, d, &hundred, 1, both);
  const TwOutput sum = Op(body, "AddV2", {both[0], both[1]});
  const tw::Output last(&graph_, {tw_dataset_reduce(builder_, d, &sum, 1), 0});
  ASSERT_EQ(Said(), "");
  tw::Session session = tw::Session::Create(graph_).OrThrow();
  EXPECT_EQ(session.Run({}, {last}).OrThrow()[0].scalar<int64_t>(), 110);
}

TEST_F(DatasetBuilderTest, TheFirstErrorSticksUntilItIsAskedFor) {
  tw_dataset_builder_site(builder_, "lines.c:7");
  const TwDataset* d = tw_dataset_unbatch(builder_, Range(3));
  EXPECT_EQ(d, nullptr);
  d = tw_dataset_batch(builder_, d, tw_count(2), 0);
  EXPECT_EQ(d, nullptr);
  EXPECT_EQ(Range(1), nullptr);
  TwStatus* const status = tw_status_new();
  EXPECT_EQ(tw_dataset_builder_check(builder_, status), tw::kInvalidArgument);
  EXPECT_STREQ(tw_status_message(status),
               "Unbatch: component 0 is a scalar, which has no rows (created at lines.c:7)");
  EXPECT_EQ(tw_dataset_builder_check(builder_, status), TW_OK);
  tw_status_free(status);
  EXPECT_THAT(Numbers(Range(2)), ElementsAre(0, 1));
}

TEST_F(DatasetBuilderTest, WhatIsWrongIsSaid) {
  const TwDataset* const d = Range(3);
  TwOutput x = {nullptr, 0};
  const TwOutput none = {nullptr, 0};
  tw_dataset_map(builder_, d, &x, 0, tw_count(0), 1);
  EXPECT_EQ(Said(), "Map: no function has been begun");
  tw_dataset_begin_function(builder_, d, nullptr, 0, &x);
  tw_dataset_map(builder_, d, &none, 1, tw_count(0), 1);
  EXPECT_EQ(Said(), "Map: number 0: result is an empty output");
  const TwDataset* const other = Range(1);
  tw_dataset_begin_function(builder_, d, nullptr, 0, &x);
  tw_dataset_filter(builder_, other, x);
  EXPECT_THAT(Said(), StartsWith("Filter: the function that was begun last is one of another"));
  tw_dataset_begin_function(builder_, d, nullptr, 0, &x);
  tw_dataset_filter(builder_, d, x);
  EXPECT_EQ(Said(), "Filter: the function must give one bool scalar");
  tw_dataset_take(builder_, nullptr, tw_count(1));
  EXPECT_EQ(Said(), "Take: the dataset is NULL");
  tw_dataset_zip(builder_, nullptr, 2);
  EXPECT_THAT(Said(), HasSubstr("Zip: 2 datasets, but the array is NULL"));
  tw_dataset_from_tensors(builder_, nullptr, -1);
  EXPECT_THAT(Said(), HasSubstr("the number of components must not be negative"));
  tw_dataset_list_files(builder_, nullptr, 1, nullptr);
  EXPECT_EQ(Said(), "ListFiles: the pattern is NULL");
  tw_dataset_from_output(builder_, graph_.Scalar<int64_t>(1).c(), nullptr, 0);
  EXPECT_THAT(Said(), HasSubstr("a dataset is a variant, got a tensor of type int64"));
  const TwTensorSpec shape = {0, -7, nullptr};
  EXPECT_NE(tw_dataset_padded_batch(builder_, d, tw_count(2), &shape, nullptr, 0), nullptr);
  const TwTensorSpec lost = {0, 2, nullptr};
  tw_dataset_padded_batch(builder_, d, tw_count(2), &lost, nullptr, 0);
  EXPECT_THAT(Said(), HasSubstr("PaddedBatch: 2 dimensions, but the array is NULL"));
  tw_dataset_csv(builder_, graph_.Strings({"x"}).c(), nullptr, 1, nullptr);
  EXPECT_THAT(Said(), HasSubstr("Csv: 1 fields, but the array is NULL"));
}

TEST_F(DatasetBuilderTest, NullHandlesGiveTheEmptyAnswer) {
  EXPECT_EQ(tw_dataset_builder_new(nullptr), nullptr);
  EXPECT_EQ(tw_dataset_builder_check(nullptr, nullptr), tw::kInvalidArgument);
  EXPECT_EQ(tw_dataset_num_components(nullptr), 0);
  EXPECT_EQ(tw_dataset_component(nullptr, 0, nullptr), 0);
  EXPECT_EQ(tw_dataset_variant(nullptr).node, nullptr);
  EXPECT_EQ(tw_dataset_range(nullptr, tw_count(0), tw_count(1), tw_count(1)), nullptr);
  EXPECT_EQ(tw_dataset_get_next(nullptr, nullptr, {}), nullptr);
  EXPECT_EQ(tw_dataset_begin_function(nullptr, nullptr, nullptr, 0, nullptr), nullptr);
  tw_dataset_builder_site(nullptr, "x");
  tw_dataset_builder_device(nullptr, "x");
  tw_dataset_builder_free(nullptr);
}

TEST_F(DatasetBuilderTest, NodesOutliveTheBuilder) {
  const TwDataset* const d = Range(2);
  tw_dataset_builder_device(builder_, "/cpu:0");
  const TwIterator iterator = tw_dataset_make_initializable_iterator(builder_, d, nullptr);
  const tw::Output next(&graph_, {tw_dataset_get_next(builder_, d, iterator), 0});
  EXPECT_STREQ(tw_node_device(next.node()), "/cpu:0");
  ASSERT_EQ(Said(), "");
  tw_dataset_builder_free(builder_);
  builder_ = nullptr;
  tw::Session session = tw::Session::Create(graph_).OrThrow();
  session.Run({}, {}, {iterator.initializer}).OrThrow();
  EXPECT_EQ(session.Run({}, {next}).OrThrow()[0].scalar<int64_t>(), 0);
}

}  // namespace
