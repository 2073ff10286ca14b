// SPDX-License-Identifier: Apache-2.0
// Two checkpoints beside each other.
#include "thalweg/files/checkpoint_difference.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "thalweg/base/test_temporary_directory.h"
#include "thalweg/io/bundle_writer.h"
#include "thalweg/tensor/tensor_proto.h"

namespace thalweg {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Named = std::vector<std::pair<std::string, Tensor>>;

std::optional<ValueDifference> Compared(const Tensor& a, const Tensor& b,
                                        const CompareOptions& options) {
  return *CompareTensors(a, b, options);
}

class CheckpointDifferenceTest : public testing::Test {
 protected:
  std::string Write(const std::string& name, const Named& tensors) {
    auto writer = *BundleWriter::Create(fs_, directory_.Path(name));
    for (const auto& [key, value] : tensors) EXPECT_TRUE(writer->Add(key, value).ok());
    EXPECT_TRUE(writer->Finish().ok());
    return directory_.Path(name);
  }

  PosixFileSystem fs_;
  TemporaryDirectory directory_;
};

TEST_F(CheckpointDifferenceTest, NamesKindsAndValues) {
  const std::string a =
      Write("a", {{"gone", Tensor::Scalar<float>(1)},
                  {"kind", Tensor::Scalar<float>(1)},
                  {"same", Tensor::Vector<int64_t>({1, 2})},
                  {"shape", Tensor::Vector<float>({1, 2})},
                  {"value", *Tensor::Vector<float>({1, 2, 3, 4}).Reshaped(Shape{2, 2})}});
  const std::string b =
      Write("b", {{"kind", Tensor::Scalar<double>(1)},
                  {"new", Tensor::Scalar<float>(1)},
                  {"same", Tensor::Vector<int64_t>({1, 2})},
                  {"shape", Tensor::Vector<float>({1, 2, 3})},
                  {"value", *Tensor::Vector<float>({1, 2, 3.5, 2}).Reshaped(Shape{2, 2})}});
  const CheckpointDifference d = *CompareCheckpoints(fs_, a, b);
  EXPECT_FALSE(d.same());
  EXPECT_EQ(d.equal, 1u);
  ASSERT_EQ(d.only_a.size(), 1u);
  EXPECT_EQ(d.only_a[0].name, "gone");
  ASSERT_EQ(d.only_b.size(), 1u);
  EXPECT_EQ(d.only_b[0].name, "new");
  ASSERT_EQ(d.kinds.size(), 2u);
  EXPECT_EQ(d.kinds[0].second.dtype, DType::kDouble);
  ASSERT_EQ(d.values.size(), 1u);
  EXPECT_EQ(d.values[0].differing, 2u);
  EXPECT_EQ(*d.values[0].max_abs, 2);
  EXPECT_EQ(*d.values[0].max_rel, 0.5);
  EXPECT_THAT(d.values[0].first, ElementsAre(1, 0));
  const std::string json = DifferenceJson(d);
  EXPECT_THAT(json,
              HasSubstr("\"differing\": 2, \"max_abs\": 2, \"max_rel\": 0.5, \"first\": [1, 0], "
                        "\"a\": 3, \"b\": 3.5"));
  EXPECT_TRUE(CompareCheckpoints(fs_, a, a)->same());
}

TEST_F(CheckpointDifferenceTest, FloatsMayDifferByTheTolerances) {
  const Tensor a = Tensor::Vector<float>({100, 0}), b = Tensor::Vector<float>({101, 0.5});
  EXPECT_EQ(Compared(a, b, {})->differing, 2u);
  EXPECT_EQ(Compared(a, b, {.rtol = 0.01})->differing, 1u);
  EXPECT_FALSE(Compared(a, b, {.atol = 0.5, .rtol = 0.01}));
  // Not integers, and nothing is near an infinity.
  const Tensor i = Tensor::Vector<int32_t>({100}), j = Tensor::Vector<int32_t>({101});
  EXPECT_TRUE(Compared(i, j, {.atol = 5}));
  const double inf = std::numeric_limits<double>::infinity();
  EXPECT_TRUE(
      Compared(Tensor::Vector<double>({inf}), Tensor::Vector<double>({1e300}), {.rtol = 1e9}));
}

TEST_F(CheckpointDifferenceTest, NanEqualsNanAndZerosAreEqual) {
  const float nan = std::nanf("");
  EXPECT_FALSE(
      Compared(Tensor::Vector<float>({nan, 0.f}), Tensor::Vector<float>({-nan, -0.f}), {}));
  const auto d = Compared(Tensor::Vector<float>({nan}), Tensor::Vector<float>({1}), {});
  EXPECT_TRUE(std::isinf(*d->max_abs));
  EXPECT_EQ(d->first_a, "\"NaN\"");
}

TEST_F(CheckpointDifferenceTest, WideIntegersStringsAndComplexNumbers) {
  const int64_t wide = (int64_t{1} << 60) + 1;
  const auto integers =
      Compared(Tensor::Vector<int64_t>({wide}), Tensor::Vector<int64_t>({wide - 1}), {});
  EXPECT_EQ(*integers->max_abs, 1);
  const auto strings = Compared(Tensor::Vector<std::string>({"a", "b"}),
                                Tensor::Vector<std::string>({"a", "c"}), {});
  EXPECT_EQ(strings->differing, 1u);
  EXPECT_EQ(strings->first_b, "\"c\"");
  EXPECT_FALSE(strings->max_abs);
  using C = std::complex<float>;
  const auto complex = Compared(Tensor::Vector<C>({C(3, 0)}), Tensor::Vector<C>({C(0, 4)}), {});
  EXPECT_EQ(*complex->max_abs, 5);
}

TEST_F(CheckpointDifferenceTest, VariantsAreTheirMessages) {
  const auto variants = [](const std::string& second) {
    Tensor two = *Tensor::AllocateHost(DType::kVariant, Shape{2});
    for (const int i : {0, 1}) {
      two.mutable_data<Variant>()[i] = Variant(std::make_shared<const OpaqueVariant>(
          "t", "\x0a\x01t\x12\x02" + (i == 0 ? "me" : second)));
    }
    return two;
  };
  EXPECT_FALSE(Compared(variants("ab"), variants("ab"), {}));
  const std::string a = Write("a", {{"it", variants("ab")}});
  const std::string b = Write("b", {{"it", variants("ac")}});
  EXPECT_TRUE(CompareCheckpoints(fs_, a, a)->same());
  const CheckpointDifference d = *CompareCheckpoints(fs_, a, b);
  ASSERT_EQ(d.values.size(), 1u);
  EXPECT_EQ(d.values[0].differing, 1u);
  EXPECT_THAT(d.values[0].first, ElementsAre(1));
  EXPECT_THAT(DifferenceJson(d), HasSubstr("\"a\": null"));
  const Tensor handle = *Tensor::AllocateHost(DType::kResource, Shape{1});
  EXPECT_EQ(CompareTensors(handle, handle, {}).status().code(), Code::kUnimplemented);
}

}  // namespace
}  // namespace thalweg
