// SPDX-License-Identifier: Apache-2.0
#include "thalweg/kernel/rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "thalweg/base/philox.h"
#include "thalweg/kernel/seed_stream.h"
#include "thalweg/kernel/shared_rows.h"
#include "thalweg/kernel/test_step.h"

namespace thalweg {
namespace {

using ::testing::HasSubstr;
using Floats = std::vector<float>;

Tensor Matrix(const std::vector<float>& values, int64_t rows) {
  return Tensor::Of<float>(values, Shape{rows, static_cast<int64_t>(values.size()) / rows});
}

class RowsTest : public testing::Test {
 protected:
  Tensor Gathered(const Tensor& params, const Tensor& indices, int64_t axis = 0,
                  int64_t batch_dims = 0) {
    TestCall call(step_, {});
    const Status status = GatherOutput(call.context(), params, indices, axis, batch_dims);
    EXPECT_TRUE(status.ok()) << status.ToString();
    return call.output();
  }
  Status Refusal(const Tensor& params, const Tensor& indices, int64_t axis = 0,
                 int64_t batch_dims = 0) {
    TestCall call(step_, {});
    return GatherOutput(call.context(), params, indices, axis, batch_dims);
  }
  Status Combine(compute::Combine combine, Tensor& target, const Tensor& indices,
                 const Tensor& updates) {
    TestCall call(step_, {}, 0);
    return CombineIntoRows(call.context(), combine, target, indices, updates);
  }

  TestStep step_;
};

TEST_F(RowsTest, GatherTakesSlicesAlongTheAxis) {
  const Tensor params = Matrix({0, 1, 2, 3, 4, 5}, 2);
  const Tensor indices = Tensor::Vector<int32_t>({2, 0});
  EXPECT_EQ(ElementsOf<float>(Gathered(params, Tensor::Vector<int64_t>({1, 1}))),
            (Floats{3, 4, 5, 3, 4, 5}));
  const Tensor columns = Gathered(params, indices, 1);
  EXPECT_EQ(columns.shape(), (Shape{2, 2}));
  EXPECT_EQ(ElementsOf<float>(columns), (Floats{2, 0, 5, 3}));
  EXPECT_EQ(ElementsOf<float>(Gathered(params, indices, -1)), (Floats{2, 0, 5, 3}));
  EXPECT_EQ(Gathered(params, Tensor::Scalar(1)).shape(), Shape{3}) << "a scalar index drops it";
}

TEST_F(RowsTest, BatchDimensionsGoTogether) {
  const Tensor params = Matrix({0, 1, 2, 3, 4, 5}, 2);
  const Tensor indices = Tensor::Of<int32_t>(std::vector<int32_t>{2, 0}, Shape{2, 1});
  const Tensor out = Gathered(params, indices, 1, 1);
  EXPECT_EQ(out.shape(), (Shape{2, 1}));
  EXPECT_EQ(ElementsOf<float>(out), (Floats{2, 3}));
  EXPECT_EQ(ElementsOf<float>(Gathered(params, indices, 1, -1)), (Floats{2, 3}));
}

TEST_F(RowsTest, WhatDoesNotFitIsNamed) {
  const Tensor params = Matrix({0, 1, 2, 3, 4, 5}, 2);
  const Tensor one = Tensor::Vector<int32_t>({0});
  const auto words = [](const Status& status) {
    EXPECT_EQ(status.code(), Code::kInvalidArgument);
    return std::string(status.message());
  };
  EXPECT_THAT(words(Refusal(params, Tensor::Vector<int32_t>({0, 2}))), HasSubstr("indices[1] = 2"));
  EXPECT_THAT(words(Refusal(params, Tensor::Vector<int32_t>({-1}))), HasSubstr("-1"));
  EXPECT_THAT(words(Refusal(Tensor::Scalar(1.0F), one)), HasSubstr("at least 1 dimensional"));
  EXPECT_THAT(words(Refusal(params, one, 2)), HasSubstr("axis"));
  EXPECT_THAT(words(Refusal(params, one, 1, 2)), HasSubstr("batch_dims = 2 is not in [-1, 1]"));
  EXPECT_THAT(words(Refusal(params, one, 0, 1)), HasSubstr("must not be greater than axis"));
  EXPECT_THAT(words(Refusal(params, one, 1, 1)),
              HasSubstr("params.shape[0] should be equal to indices.shape[0]"));
}

TEST_F(RowsTest, AnOutputOfTooManyRowsIsRefusedBeforeItIsTaken) {
  TestStep small(int64_t{1} << 20);
  TestCall call(small, {});
  const Tensor params = Tensor::Of<float>(Floats(1024), Shape{1, 1024});
  const Tensor indices = Tensor::Of<int32_t>(std::vector<int32_t>(1024), Shape{1024});
  EXPECT_EQ(GatherOutput(call.context(), params, indices, 0, 0).code(), Code::kResourceExhausted);
}

TEST_F(RowsTest, GatheredStringsCountAgainstTheLimitWhereverTheyRepeat) {
  TestStep small(int64_t{1} << 20);
  TestCall call(small, {});
  const Tensor text = Tensor::Vector<std::string>({std::string(1000, 'x')});
  const auto gather = [&](size_t times) {
    const Tensor indices =
        Tensor::Of<int32_t>(std::vector<int32_t>(times), Shape{static_cast<int64_t>(times)});
    return GatherOutput(call.context(), text, indices, 0, 0);
  };
  EXPECT_TRUE(gather(100).ok());
  EXPECT_EQ(gather(2000).code(), Code::kResourceExhausted);
}

TEST_F(RowsTest, NdIndicesNumberRowsAlongTheirDimensions) {
  const Tensor indices = Tensor::Of<int32_t>(std::vector<int32_t>{1, 2, 0, 0}, Shape{2, 2});
  const NdRows rows = *RowsOfNdIndices(*step_.allocator, indices, Shape{2, 3, 4}, false);
  EXPECT_EQ(ElementsOf<int64_t>(rows.rows), (std::vector<int64_t>{5, 0}));
  EXPECT_EQ(rows.inner, 4);
  EXPECT_EQ(rows.slices, (Shape{2, 4}));
}

TEST_F(RowsTest, ABadNdIndexIsNamedOrIgnored) {
  const Tensor indices = Tensor::Of<int32_t>(std::vector<int32_t>{0, 3, 1, 1}, Shape{2, 2});
  const Status refused = RowsOfNdIndices(*step_.allocator, indices, Shape{2, 3}, false).status();
  EXPECT_EQ(refused.message(),
            "indices[0] = [0, 3] does not index into shape [2,3]: its element 1 is 3");
  const NdRows rows = *RowsOfNdIndices(*step_.allocator, indices, Shape{2, 3}, true);
  EXPECT_EQ(ElementsOf<int64_t>(rows.rows), (std::vector<int64_t>{-1, 4}));
  TestCall call(step_, {});
  const Tensor params = Matrix({0, 1, 2, 3, 4, 5}, 2);
  ASSERT_TRUE(GatherNdOutput(call.context(), params, indices, true).ok());
  EXPECT_EQ(ElementsOf<float>(call.output()), (Floats{0, 4})) << "zeros for the one ignored";
}

TEST_F(RowsTest, NdIndicesDeeperThanTheTensorAreRefused) {
  const Tensor indices = Tensor::Of<int32_t>(std::vector<int32_t>{0, 0, 0}, Shape{1, 3});
  EXPECT_THAT(
      std::string(
          RowsOfNdIndices(*step_.allocator, indices, Shape{2, 3}, false).status().message()),
      HasSubstr("saw: 3 vs. 2"));
  EXPECT_THAT(
      std::string(
          RowsOfNdIndices(*step_.allocator, Tensor::Scalar(0), Shape{2}, false).status().message()),
      HasSubstr("at least rank 1"));
}

TEST_F(RowsTest, UpdatesOfOneRowAddUpInTheirOrder) {
  Tensor target = Matrix({1, 2, 3, 4}, 2);
  const Tensor twice = Tensor::Vector<int32_t>({1, 1});
  ASSERT_TRUE(Combine(compute::Combine::kAdd, target, twice, Matrix({10, 20, 1, 2}, 2)).ok());
  EXPECT_EQ(ElementsOf<float>(target), (Floats{1, 2, 14, 26}));
  ASSERT_TRUE(Combine(compute::Combine::kAssign, target, twice, Matrix({5, 6, 7, 8}, 2)).ok());
  EXPECT_EQ(ElementsOf<float>(target), (Floats{1, 2, 7, 8})) << "the last one stays";
  ASSERT_TRUE(
      Combine(compute::Combine::kMul, target, Tensor::Scalar(0), Tensor::Scalar(3.0F)).ok());
  EXPECT_EQ(ElementsOf<float>(target), (Floats{3, 6, 7, 8})) << "one update for a whole row";
}

TEST_F(RowsTest, UpdatesOfAnotherTypeOrShapeOrRowChangeNothing) {
  Tensor target = Matrix({1, 2, 3, 4}, 2);
  const Tensor one = Tensor::Vector<int32_t>({1});
  const auto refused = [&](const Tensor& indices, const Tensor& updates) {
    const Status status = Combine(compute::Combine::kAdd, target, indices, updates);
    EXPECT_EQ(status.code(), Code::kInvalidArgument) << status.ToString();
    EXPECT_EQ(ElementsOf<float>(target), (Floats{1, 2, 3, 4}));
  };
  refused(one, Tensor::Vector<double>({1, 1}));
  refused(one, Matrix({1, 1, 1}, 1));
  refused(Tensor::Vector<int32_t>({0, 2}), Matrix({1, 1, 1, 1}, 2));
  Tensor scalar = Tensor::Scalar(1.0F);
  EXPECT_EQ(Combine(compute::Combine::kAdd, scalar, one, Tensor::Vector<float>({1})).code(),
            Code::kInvalidArgument);
}

TEST_F(RowsTest, NdUpdatesPassOverIgnoredIndices) {
  Tensor target = Tensor::Vector<float>({1, 2, 3});
  const Tensor indices = Tensor::Of<int32_t>(std::vector<int32_t>{7, 2}, Shape{2, 1});
  TestCall call(step_, {}, 0);
  const auto add = [&](bool ignore, const Tensor& updates) {
    return CombineIntoNdRows(call.context(), compute::Combine::kAdd, target, indices, updates,
                             ignore);
  };
  EXPECT_EQ(add(false, Tensor::Vector<float>({10, 20})).code(), Code::kInvalidArgument);
  EXPECT_EQ(add(true, Tensor::Scalar(1.0F)).code(), Code::kInvalidArgument) << "rank at least one";
  ASSERT_TRUE(add(true, Tensor::Vector<float>({10, 20})).ok());
  EXPECT_EQ(ElementsOf<float>(target), (Floats{1, 2, 23}));
}

TEST_F(RowsTest, ThePolicyOfBadIndicesHasFourWords) {
  EXPECT_TRUE(*IgnoresBadIndices("IGNORE"));
  for (const char* word : {"", "DEFAULT", "ERROR"}) EXPECT_FALSE(*IgnoresBadIndices(word)) << word;
  EXPECT_EQ(IgnoresBadIndices("ignore").status().code(), Code::kInvalidArgument);
}

TEST(ShareRowsTest, SharesLargeAlignedPlainPiecesOnly) {
  const Tensor x = Tensor::Of<float>(Floats(size_t{64} * 64), Shape{64, 64});  // rows of 256 bytes
  const Tensor shared = *ShareRows(x, 16, 48, Shape{32, 64});
  ASSERT_FALSE(shared.empty());
  EXPECT_EQ(shared.raw_data(), x.data<float>() + int64_t{16} * 64);
  EXPECT_TRUE(ShareRows(x, 0, 15, Shape{15, 64})->empty()) << "too small to keep all alive for";
  const Tensor odd = Tensor::Of<float>(Floats(size_t{4097}), Shape{4097});
  EXPECT_TRUE(ShareRows(odd, 1, 4097, Shape{4096})->empty()) << "not aligned";
  EXPECT_FALSE(ShareRows(odd, 0, 4096, Shape{4096})->empty());
  const Tensor text = Tensor::Of<std::string>(std::vector<std::string>(500), Shape{500});
  EXPECT_TRUE(ShareRows(text, 0, 400, Shape{400})->empty()) << "objects";
  EXPECT_TRUE(ShareRows(Tensor::Scalar(1.0F), 0, 1, Shape())->empty());
}

TEST(SeedStreamTest, EitherSeedChangesTheStream) {
  const auto first = [](const Tensor& seed) { return StreamOfSeed(seed)->Next()[0]; };
  const uint32_t here = first(Tensor::Vector<int64_t>({1, 2}));
  EXPECT_EQ(here, first(Tensor::Vector<int32_t>({1, 2}))) << "of any integer type";
  EXPECT_NE(here, first(Tensor::Vector<int64_t>({2, 1})));
  EXPECT_NE(here, first(Tensor::Vector<int64_t>({1, 3})));
  EXPECT_EQ(StreamOfSeed(Tensor::Vector<int64_t>({1, 2, 3})).status().message(),
            "seed must have shape [2], not [3]");
  EXPECT_FALSE(StreamOfSeed(Tensor::Scalar(int64_t{1})).ok());
}

}  // namespace
}  // namespace thalweg
