// SPDX-License-Identifier: Apache-2.0
#include "thalweg/resources/tensor_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "thalweg/kernel/test_step.h"
#include "thalweg/resources/test_variants.h"

namespace thalweg {
namespace {

using ::testing::HasSubstr;

class TensorListTest : public testing::Test {
 protected:
  std::shared_ptr<TensorList> ListOfFloats(const std::vector<float>& values) {
    auto list = std::make_shared<TensorList>(DType::kFloat, PartialShape());
    for (const float value : values) {
      EXPECT_TRUE(list->Add(*step_.allocator, Tensor::Scalar(value)).ok());
    }
    return list;
  }
  TestStep step_;
};

TEST_F(TensorListTest, AListThatNobodyElseHoldsIsChangedInPlace) {
  TestCall call(step_, {VariantTensor(ListOfFloats({1}))});
  const TensorList* const before = *ListInput(call.context(), 0);
  ListUpdate update = *ListUpdate::Of(call.context(), 0);
  ASSERT_TRUE(update->Add(*step_.allocator, Tensor::Scalar(2.0F)).ok());
  ASSERT_TRUE(std::move(update).SetOutput(call.context(), 0).ok());
  const auto* const after = call.output().scalar<Variant>().As<TensorList>();
  EXPECT_EQ(after, before);
  EXPECT_EQ(after->size(), 2);
}

TEST_F(TensorListTest, AListThatOthersHoldIsCopiedBeforeItChanges) {
  const auto change = [&](TestCall& call) {
    ListUpdate update = *ListUpdate::Of(call.context(), 0);
    EXPECT_TRUE(update->Set(0, Tensor::Scalar(9.0F)).ok());
    EXPECT_TRUE(std::move(update).SetOutput(call.context(), 0).ok());
    EXPECT_EQ(call.output().scalar<Variant>().As<TensorList>()->at(0).scalar<float>(), 9);
  };
  const Tensor tensor = VariantTensor(ListOfFloats({1}));
  TestCall shared_tensor(step_, {tensor});
  change(shared_tensor);
  EXPECT_EQ(tensor.scalar<Variant>().As<TensorList>()->at(0).scalar<float>(), 1);

  const std::shared_ptr<TensorList> list = ListOfFloats({1});
  TestCall shared_list(step_, {VariantTensor(list)});
  change(shared_list);
  EXPECT_EQ(list->at(0).scalar<float>(), 1) << "another variant holds the list itself";
}

TEST_F(TensorListTest, ACopySharesItsElementsAndKeepsItsLimits) {
  auto list = std::make_shared<TensorList>(DType::kFloat, PartialShape{2}, 1);
  const Tensor element = Tensor::Vector<float>({1, 2});
  ASSERT_TRUE(list->Add(*step_.allocator, element).ok());
  const auto copy = *TensorList::CopyOf(*step_.allocator, *list);
  EXPECT_EQ(copy->at(0).raw_data(), element.raw_data());
  EXPECT_EQ(copy->element_shape(), PartialShape{2});
  const Status full = copy->Add(*step_.allocator, element);
  EXPECT_EQ(full.code(), Code::kInvalidArgument);
  EXPECT_THAT(std::string(full.message()), HasSubstr("full list list size: 1 max_num_elements: 1"));
}

TEST_F(TensorListTest, WhatIsNoListIsRefusedAndSaid) {
  TestCall call(step_, {Tensor::Scalar(1.0F), VariantTensor(nullptr),
                        VariantTensor(std::make_shared<OptionalValue>()),
                        *Tensor::AllocateHost(DType::kVariant, Shape{2})});
  const auto words = [&](int i) {
    const Status status = ListInput(call.context(), i).status();
    EXPECT_EQ(status.code(), Code::kInvalidArgument);
    EXPECT_EQ(ListUpdate::Of(call.context(), i).status().message(), status.message());
    return std::string(status.message());
  };
  EXPECT_EQ(words(0), "Input list must be a scalar variant, saw: float32[]");
  EXPECT_EQ(words(1), "Input handle is not a list. Saw: an empty variant");
  EXPECT_EQ(words(2), "Input handle is not a list. Saw: an optional without a value");
  EXPECT_THAT(words(3), HasSubstr("saw: variant[2]"));
}

TEST_F(TensorListTest, ALongListIsRefusedBeforeItsPlacesAreTaken) {
  TensorList list(DType::kFloat, PartialShape());
  const Status status = list.Resize(*step_.allocator, TensorList::kMaxElements + 1);
  EXPECT_EQ(status.code(), Code::kResourceExhausted);
  EXPECT_THAT(std::string(status.message()), HasSubstr("at most 67108864 elements"));
  EXPECT_EQ(list.size(), 0);
  TestStep small(int64_t{1} << 20);
  EXPECT_EQ(list.Resize(*small.allocator, int64_t{1} << 20).code(), Code::kResourceExhausted);
  EXPECT_EQ(list.size(), 0);
  EXPECT_EQ(small.bytes_in_use(), 0);
}

TEST_F(TensorListTest, PlacesAreChargedAndGivenBackWithTheList) {
  {
    TensorList list(DType::kFloat, PartialShape());
    ASSERT_TRUE(list.Resize(*step_.allocator, 10000).ok());
    EXPECT_GE(step_.bytes_in_use(), 10000 * static_cast<int64_t>(sizeof(Tensor)));
    const int64_t once = step_.bytes_in_use();
    const auto copy = *TensorList::CopyOf(*step_.allocator, list);
    EXPECT_GE(step_.bytes_in_use(), 2 * once) << "a copy has places of its own";
  }
  EXPECT_EQ(step_.bytes_in_use(), 0);
}

TEST_F(TensorListTest, NewPlacesAreEmptyAndTheLastElementMayBeTaken) {
  TensorList list(DType::kFloat, PartialShape());
  ASSERT_TRUE(list.Resize(*step_.allocator, 2).ok());
  EXPECT_TRUE(list.at(1).empty());
  ASSERT_TRUE(list.Set(1, Tensor::Scalar(4.0F)).ok());
  EXPECT_EQ(list.TakeLast().scalar<float>(), 4);
  EXPECT_TRUE(list.TakeLast().empty());
  EXPECT_EQ(list.size(), 0);
}

TEST_F(TensorListTest, ShapesOfElementsMergeOrTheErrorNamesBoth) {
  TensorList list(DType::kFloat, PartialShape{-1, 3});
  ASSERT_TRUE(list.Resize(*step_.allocator, 2).ok());
  EXPECT_EQ(*list.MergedShape(PartialShape()), (PartialShape{-1, 3}));
  ASSERT_TRUE(list.Set(1, *Tensor::AllocateHost(DType::kFloat, Shape{2, 3})).ok());
  EXPECT_EQ(*list.MergedShape(PartialShape()), (PartialShape{2, 3})) << "an element says the rest";
  const Status sizes = list.MergedShape(PartialShape{5, 4}).status();
  EXPECT_THAT(std::string(sizes.message()),
              testing::AllOf(HasSubstr("Incompatible shapes"), HasSubstr("[5,4] vs. [?,3]")));
  EXPECT_THAT(std::string(list.MergedShape(PartialShape{5}).status().message()),
              HasSubstr("Incompatible ranks during merge: 1 vs. 2"));
  EXPECT_THAT(std::string(list.CheckType(DType::kInt32).message()),
              HasSubstr("op elements int32 but list elements float32"));
  EXPECT_TRUE(list.CheckType(DType::kFloat).ok());
}

TEST_F(TensorListTest, ListsInListsEndAtTheirGreatestDepth) {
  auto list = std::make_shared<TensorList>(DType::kVariant, PartialShape());
  for (int depth = 1; depth < NestedVariant::kMaxDepth; ++depth) {
    auto outer = std::make_shared<TensorList>(DType::kVariant, PartialShape());
    ASSERT_TRUE(outer->Add(*step_.allocator, VariantTensor(list)).ok()) << depth;
    list = std::move(outer);
  }
  EXPECT_EQ(list->depth(), NestedVariant::kMaxDepth);
  TensorList deeper(DType::kVariant, PartialShape());
  const Status status = deeper.Add(*step_.allocator, VariantTensor(list));
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_EQ(status.message(), "variants may be nested 64 deep, these are nested 65");
  ASSERT_TRUE(deeper.Resize(*step_.allocator, 1).ok());
  EXPECT_EQ(deeper.Set(0, VariantTensor(list)).code(), Code::kInvalidArgument);
}

// Two steps may get one list: each changes a copy of its own.
TEST_F(TensorListTest, TwoThreadsThatUpdateOneListSeeNothingOfEachOther) {
  const Tensor shared = VariantTensor(ListOfFloats({0, 0}));
  std::vector<std::thread> threads;
  for (int t = 1; t <= 2; ++t) {
    threads.emplace_back([&, t] {
      TestStep step;
      for (int i = 0; i < 200; ++i) {
        TestCall call(step, {shared});
        ListUpdate update = *ListUpdate::Of(call.context(), 0);
        EXPECT_TRUE(update->Set(0, Tensor::Scalar(static_cast<float>(t))).ok());
        EXPECT_TRUE(std::move(update).SetOutput(call.context(), 0).ok());
        const auto* const list = call.output().scalar<Variant>().As<TensorList>();
        EXPECT_EQ(list->at(0).scalar<float>(), static_cast<float>(t));
        EXPECT_EQ(list->at(1).scalar<float>(), 0);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(shared.scalar<Variant>().As<TensorList>()->at(0).scalar<float>(), 0);
}

}  // namespace
}  // namespace thalweg
