// SPDX-License-Identifier: Apache-2.0
#include "thalweg/resources/tensor_array.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "thalweg/kernel/test_step.h"

namespace thalweg {
namespace {

using ::testing::HasSubstr;
using Floats = std::vector<float>;

class TensorArrayTest : public testing::Test {
 protected:
  TensorArray::Options Named(std::string name = "a") {
    return {.name = std::move(name), .dtype = DType::kFloat};
  }
  Status Write(TensorArray& array, int64_t i, Tensor value) {
    return array.Write(call_.context(), i, std::move(value));
  }
  Status Write(TensorArray& array, int64_t i, float value) {
    return Write(array, i, Tensor::Scalar(value));
  }
  Result<Tensor> Read(TensorArray& array, int64_t i) { return array.Read(call_.context(), i); }
  float Value(TensorArray& array, int64_t i) {
    const Result<Tensor> value = Read(array, i);
    EXPECT_TRUE(value.ok()) << value.status().ToString();
    return value.ok() ? value->scalar<float>() : -1;
  }
  RefPtr<TensorArray> GradientOf(TensorArray& array, std::string_view source = "g",
                                 const Dims& prepended = {}) {
    return *array.Gradient(*step_.allocator, source, prepended);
  }
  static std::string Words(const Status& status) {
    EXPECT_EQ(status.code(), Code::kInvalidArgument) << status.ToString();
    return std::string(status.message());
  }

  TestStep step_;
  TestCall call_{step_, {}, 0};
};

TEST_F(TensorArrayTest, AWriteSharesTheBufferAndTheOneReadGivesItAway) {
  TensorArray array(Named(), 2);
  const Tensor value = Tensor::Vector<float>({1, 2});
  ASSERT_TRUE(Write(array, 1, value).ok());
  const Tensor read = *Read(array, 1);
  EXPECT_EQ(read.raw_data(), value.raw_data());
  EXPECT_THAT(Words(Read(array, 1).status()), HasSubstr("Could not read index 1 twice"));
}

TEST_F(TensorArrayTest, WithoutClearingReadsRepeatButNoWriteFollowsThem) {
  TensorArray::Options options = Named();
  options.clear_after_read = false;
  TensorArray array(options, 1);
  ASSERT_TRUE(Write(array, 0, 3.0F).ok());
  EXPECT_EQ(Value(array, 0), 3);
  EXPECT_EQ(Value(array, 0), 3);
  EXPECT_THAT(Words(Write(array, 0, 4.0F)), HasSubstr("it has already been read"));
}

TEST_F(TensorArrayTest, AnElementIsWrittenOnce) {
  TensorArray array(Named(), 1);
  ASSERT_TRUE(Write(array, 0, 3.0F).ok());
  EXPECT_THAT(Words(Write(array, 0, 4.0F)), HasSubstr("it has already been written to"));
  EXPECT_EQ(Value(array, 0), 3);
}

TEST_F(TensorArrayTest, OnlyADynamicArrayGrows) {
  TensorArray fixed(Named("fixed"), 2);
  EXPECT_THAT(Words(Write(fixed, 2, 1.0F)),
              HasSubstr("TensorArray fixed: Tried to write to index 2 but array is not resizeable "
                        "and size is: 2"));
  TensorArray::Options options = Named();
  options.dynamic_size = true;
  TensorArray array(options, 0);
  ASSERT_TRUE(Write(array, 5, 1.0F).ok());
  EXPECT_EQ(array.size(), 6);
  EXPECT_THAT(Words(Write(array, -1, 1.0F)), HasSubstr("index -1"));
  EXPECT_THAT(Words(Read(array, 6).status()), HasSubstr("index 6 but array size is: 6"));
  EXPECT_THAT(Words(Read(array, -1).status()), HasSubstr("index -1"));
}

TEST_F(TensorArrayTest, AValueOfAnotherTypeOrShapeIsRefused) {
  TensorArray::Options options = Named();
  options.element_shape = PartialShape{2};
  TensorArray array(options, 1);
  EXPECT_THAT(Words(Write(array, 0, Tensor::Vector<double>({1, 2}))),
              HasSubstr("the value dtype is float64 but TensorArray dtype is float32"));
  EXPECT_THAT(Words(Write(array, 0, Tensor::Vector<float>({1, 2, 3}))),
              HasSubstr("the value shape is [3]"));
  EXPECT_TRUE(Write(array, 0, Tensor::Vector<float>({1, 2})).ok()) << "a refusal leaves it unset";
}

TEST_F(TensorArrayTest, IdenticalShapesAreThatOfTheFirstValue) {
  TensorArray::Options options = Named();
  options.identical_element_shapes = true;
  TensorArray array(options, 3);
  ASSERT_TRUE(Write(array, 0, Tensor::Vector<float>({1, 2})).ok());
  EXPECT_EQ(array.element_shape(), PartialShape{2});
  EXPECT_THAT(Words(Write(array, 1, 1.0F)), HasSubstr("inferred element shape: [2]"));
  EXPECT_EQ(*array.ShapeAt(2), Shape{2}) << "known of those that nobody wrote";
}

TEST_F(TensorArrayTest, WhatNobodyWroteIsZerosWhereItsShapeIsKnown) {
  TensorArray::Options options = Named();
  TensorArray unknown(options, 1);
  EXPECT_THAT(Words(Read(unknown, 0).status()), HasSubstr("element shape is not fully defined"));
  options.element_shape = PartialShape{3};
  options.clear_after_read = false;
  TensorArray array(options, 1);
  const Tensor zeros = *Read(array, 0);
  EXPECT_EQ(ElementsOf<float>(zeros), (Floats{0, 0, 0}));
  EXPECT_EQ(Read(array, 0)->raw_data(), zeros.raw_data()) << "who reads again gets the same";
}

TEST_F(TensorArrayTest, ALongArrayTakesMemoryOnlyForWhatIsWritten) {
  TestStep small(int64_t{1} << 20);
  TestCall call(small, {}, 0);
  TensorArray array(Named(), (int64_t{1} << 31) - 1);
  ASSERT_TRUE(array.Write(call.context(), (int64_t{1} << 31) - 2, Tensor::Scalar(1.0F)).ok());
  EXPECT_LT(small.bytes_in_use(), 4096);
  // One element in each of many chunks passes the limit at last, and is refused, not taken.
  Status status;
  int64_t written = 0;
  for (; status.ok() && written < 100000; ++written) {
    status = array.Write(call.context(), written * 16, Tensor::Scalar(1.0F));
  }
  EXPECT_EQ(status.code(), Code::kResourceExhausted) << status.ToString();
  EXPECT_LT(written, 10000);
  array.Close();
  EXPECT_EQ(small.bytes_in_use(), 0);
}

TEST_F(TensorArrayTest, AClosedArrayHasNothingAndTakesNothing) {
  TensorArray array(Named(), 1);
  ASSERT_TRUE(Write(array, 0, *Tensor::Allocate(*step_.allocator, DType::kFloat, {100})).ok());
  array.Close();
  EXPECT_EQ(step_.bytes_in_use(), 0);
  EXPECT_EQ(Words(Read(array, 0).status()), "TensorArray a has already been closed.");
  EXPECT_EQ(Words(Write(array, 0, 1.0F)), "TensorArray a has already been closed.");
  EXPECT_EQ(Words(array.Gradient(*step_.allocator, "g", {}).status()),
            "TensorArray a has already been closed.");
}

TEST_F(TensorArrayTest, WritesToAGradientArrayAddUpWithoutChangingWhatWasGiven) {
  TensorArray array(Named(), 2);
  const RefPtr<TensorArray> gradient = GradientOf(array);
  EXPECT_EQ(gradient->name(), "a@g");
  const Tensor first = Tensor::Vector<float>({1, 2});
  ASSERT_TRUE(Write(*gradient, 0, first).ok());
  ASSERT_TRUE(Write(*gradient, 0, Tensor::Vector<float>({10, 20})).ok());
  ASSERT_TRUE(Write(*gradient, 0, Tensor::Vector<float>({100, 200})).ok());
  EXPECT_EQ(ElementsOf<float>(*Read(*gradient, 0)), (Floats{111, 222}));
  EXPECT_EQ(ElementsOf<float>(first), (Floats{1, 2})) << "the giver's buffer is not written";
  EXPECT_THAT(Words(Write(*gradient, 0, Tensor::Vector<float>({1, 2}))),
              HasSubstr("already been read"));
}

TEST_F(TensorArrayTest, AGradientArrayHasTheShapesOfItsArrayWithDimensionsBefore) {
  TensorArray array(Named(), 2);
  ASSERT_TRUE(Write(array, 0, Tensor::Vector<float>({1, 2})).ok());
  const RefPtr<TensorArray> gradient = GradientOf(array, "g", {3});
  EXPECT_EQ(*gradient->ShapeAt(0), (Shape{3, 2}));
  EXPECT_EQ(Read(*gradient, 0)->shape(), (Shape{3, 2})) << "zeros where nobody wrote";
  EXPECT_THAT(Words(Read(*gradient, 1).status()), HasSubstr("element shape is not fully defined"));
  const RefPtr<TensorArray> plain = GradientOf(array, "h");
  EXPECT_THAT(Words(Write(*plain, 0, 1.0F)), HasSubstr("the existing shape is [2] but the new"));
}

TEST_F(TensorArrayTest, OneGradientArrayPerSourceAndNoGrowthAfterIt) {
  TensorArray::Options options = Named();
  options.dynamic_size = true;
  TensorArray array(options, 1);
  EXPECT_TRUE(array.dynamic_size());
  const RefPtr<TensorArray> one = GradientOf(array, "g");
  EXPECT_EQ(one.get(), GradientOf(array, "g").get());
  EXPECT_NE(one.get(), GradientOf(array, "h").get());
  EXPECT_FALSE(array.dynamic_size());
  EXPECT_THAT(Words(Write(array, 1, 1.0F)), HasSubstr("not resizeable"));
}

TEST_F(TensorArrayTest, ValuesThatCannotBeAddedAreRefused) {
  TensorArray::Options options = Named();
  options.dtype = DType::kString;
  TensorArray array(options, 1);
  const RefPtr<TensorArray> gradient = GradientOf(array);
  ASSERT_TRUE(Write(*gradient, 0, Tensor::Scalar("x")).ok());
  EXPECT_THAT(Words(Write(*gradient, 0, Tensor::Scalar("y"))), HasSubstr("cannot be added"));
}

TEST_F(TensorArrayTest, ASumThatFindsNoRoomIsAnErrorAndTheElementStays) {
  TestStep small(int64_t{1} << 20);
  TestCall call(small, {}, 0);
  TensorArray array(Named(), 1);
  const RefPtr<TensorArray> gradient = *array.Gradient(*small.allocator, "g", {});
  const Tensor given = *Tensor::AllocateHost(DType::kFloat, Shape{int64_t{1} << 19});
  ASSERT_TRUE(gradient->Write(call.context(), 0, given).ok());
  EXPECT_EQ(gradient->Write(call.context(), 0, given).code(), Code::kResourceExhausted);
  EXPECT_EQ(gradient->Read(call.context(), 0)->raw_data(), given.raw_data());
}

TEST_F(TensorArrayTest, WritersOfOneElementFromManyThreadsLoseNothing) {
  TensorArray array(Named(), 2);
  const RefPtr<TensorArray> gradient = GradientOf(array);
  std::atomic<int> refused{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      TestCall call(step_, {}, 0);
      for (int i = 0; i < 250; ++i) {
        EXPECT_TRUE(gradient->Write(call.context(), 0, Tensor::Vector<float>({1, 2})).ok());
      }
      if (!array.Write(call.context(), 1, Tensor::Scalar(1.0F)).ok()) ++refused;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(ElementsOf<float>(*Read(*gradient, 0)), (Floats{1000, 2000}));
  EXPECT_EQ(refused.load(), 3) << "an element is written once";
}

}  // namespace
}  // namespace thalweg
