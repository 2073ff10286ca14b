// SPDX-License-Identifier: Apache-2.0
// AddVariants and ZerosLikeVariants: what AddN and ZerosLike do with variants.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "thalweg/kernel/test_step.h"
#include "thalweg/resources/loop_stack.h"
#include "thalweg/resources/tensor_list.h"
#include "thalweg/resources/tensor_map.h"
#include "thalweg/resources/test_variants.h"
#include "thalweg/resources/variant_arithmetic.h"

namespace thalweg {
namespace {

using ::testing::HasSubstr;

// A variant that is one number.
class Figure final : public ArithmeticVariant {
 public:
  explicit Figure(int value) : value(value) {}
  Result<Variant> Plus(Context&, const VariantValue& other) const override {
    const auto* const figure = dynamic_cast<const Figure*>(&other);
    if (figure == nullptr) return InvalidArgument("no figure: ", other.TypeName());
    return Variant(std::make_shared<const Figure>(value + figure->value));
  }
  std::string TypeName() const override { return "Figure"; }
  std::string DebugString() const override { return "a figure"; }
  const int value;
};

class VariantMathTest : public testing::Test {
 protected:
  using Elements = std::vector<Tensor>;
  std::shared_ptr<TensorList> MakeList(const Elements& elements, DType dtype = DType::kFloat,
                                       const PartialShape& shape = PartialShape()) {
    auto list = std::make_shared<TensorList>(dtype, shape);
    EXPECT_TRUE(list->Resize(*step_.allocator, static_cast<int64_t>(elements.size())).ok());
    for (size_t i = 0; i < elements.size(); ++i) {
      EXPECT_TRUE(list->Set(static_cast<int64_t>(i), elements[i]).ok());
    }
    return list;
  }
  using Value = std::shared_ptr<const VariantValue>;
  Result<Tensor> Add(Value a, Value b) {
    return AddVariants(call_.context(), VariantTensor(std::move(a)), VariantTensor(std::move(b)));
  }
  Result<Tensor> ZerosLike(Value x) {
    return ZerosLikeVariants(call_.context(), VariantTensor(std::move(x)));
  }
  std::string Refusal(Value a, Value b, Code code = Code::kInvalidArgument) {
    const Status status = Add(std::move(a), std::move(b)).status();
    EXPECT_EQ(status.code(), code) << status.ToString();
    return std::string(status.message());
  }
  static Value Optional(Elements components) {
    return std::make_shared<const OptionalValue>(std::move(components));
  }

  TestStep step_;
  TestCall call_{step_, {}, 0};
};

TEST_F(VariantMathTest, ListsAddElementByElementAndUnsetOnesCountAsZero) {
  const Tensor only = Tensor::Scalar(5.0F);
  const Tensor sum = *Add(MakeList({Tensor::Scalar(1.0F), only, Tensor(), Tensor()}),
                          MakeList({Tensor::Scalar(2.0F), Tensor(), only, Tensor()}));
  const auto& list = VariantIn<TensorList>(sum);
  EXPECT_EQ(list.at(0).scalar<float>(), 3);
  EXPECT_EQ(list.at(1).scalar<float>(), 5);
  EXPECT_EQ(list.at(2).scalar<float>(), 5);
  EXPECT_TRUE(list.at(3).empty());
}

TEST_F(VariantMathTest, ListsThatDoNotFitAreRefusedWithBothSides) {
  const auto one = MakeList({Tensor::Scalar(1.0F)});
  EXPECT_THAT(Refusal(one, MakeList({Tensor::Scalar(1)}, DType::kInt32)),
              HasSubstr("different dtypes. One is float32 and the other is int32"));
  EXPECT_THAT(Refusal(one, MakeList({})), HasSubstr("different lengths. One is 1 and the other"));
  EXPECT_THAT(Refusal(MakeList({}, DType::kFloat, PartialShape{2}),
                      MakeList({}, DType::kFloat, PartialShape{3})),
              HasSubstr("incompatible element shapes"));
  EXPECT_THAT(Refusal(one, MakeList({Tensor::Vector<float>({1, 2})})),
              HasSubstr("different shapes. One is [] and the other is [2]"));
  EXPECT_THAT(Refusal(MakeList({Tensor::Scalar("x")}, DType::kString),
                      MakeList({Tensor::Scalar("y")}, DType::kString)),
              HasSubstr("unsupported dtype string"));
}

TEST_F(VariantMathTest, OptionalsAddComponentsWhereBothHaveThem) {
  const Tensor sum = *Add(Optional({Tensor::Scalar(1.0F), Tensor::Scalar(2)}),
                          Optional({Tensor::Scalar(10.0F), Tensor::Scalar(20)}));
  const auto& components = VariantIn<OptionalValue>(sum).components();
  EXPECT_EQ(components[0].scalar<float>(), 11);
  EXPECT_EQ(components[1].scalar<int>(), 22);
  const auto none = std::make_shared<const OptionalValue>();
  EXPECT_FALSE(VariantIn<OptionalValue>(*Add(none, none)).has_value());
  EXPECT_THAT(Refusal(none, Optional({})), HasSubstr("one has a value and the other doesn't"));
  EXPECT_THAT(Refusal(Optional({Tensor::Scalar(1)}), Optional({})), HasSubstr("(1 vs. 0)"));
  EXPECT_THAT(Refusal(Optional({Tensor::Scalar(1)}), Optional({Tensor::Scalar(1.0F)})),
              HasSubstr("different dtypes"));
}

TEST_F(VariantMathTest, MapsAddByKeyAndAKeyOfOneSideStays) {
  const auto make = [](const std::vector<std::pair<int, float>>& entries) {
    auto map = std::make_shared<TensorMap>();
    for (const auto& [key, value] : entries) {
      EXPECT_TRUE(map->Insert(Tensor::Scalar(key), Tensor::Scalar(value)).ok());
    }
    return map;
  };
  const auto a = make({{1, 1}, {2, 2}});
  const Tensor sum = *Add(a, make({{2, 20}, {3, 30}}));
  const auto& map = VariantIn<TensorMap>(sum);
  const auto value = [&](int key) { return map.Find(Tensor::Scalar(key))->scalar<float>(); };
  EXPECT_EQ(value(1), 1);
  EXPECT_EQ(value(2), 22);
  EXPECT_EQ(value(3), 30);
  EXPECT_EQ(a->Find(Tensor::Scalar(2))->scalar<float>(), 2) << "the summands stay";
  EXPECT_EQ(VariantIn<TensorMap>(*ZerosLike(a)).size(), 0) << "a key that is absent is zero";
}

TEST_F(VariantMathTest, VariantsOfDifferentClassesHaveNoSum) {
  EXPECT_EQ(Refusal(MakeList({}), Optional({}), Code::kUnimplemented),
            "sums of these variants are not known");
  Refusal(nullptr, nullptr, Code::kUnimplemented);
  Refusal(std::make_shared<const LoopStack>(), std::make_shared<const LoopStack>(),
          Code::kUnimplemented);
}

TEST_F(VariantMathTest, AClassOfItsOwnIsAskedAndSaysWhatItLacks) {
  const auto two = std::make_shared<const Figure>(2);
  EXPECT_EQ(VariantIn<Figure>(*Add(two, std::make_shared<const Figure>(40))).value, 42);
  EXPECT_EQ(Refusal(two, Optional({})), "no figure: tensorflow::data::Optional");
  EXPECT_EQ(ZerosLike(two).status().message(), "a variant of type Figure has no ZEROS_LIKE");
  EXPECT_EQ(two->Conjugate(call_.context()).status().code(), Code::kUnimplemented);
  Refusal(two, nullptr, Code::kUnimplemented);
}

TEST_F(VariantMathTest, ZerosHaveTheStructureOfTheirVariant) {
  const Tensor zeros = *ZerosLike(MakeList({Tensor::Vector<float>({1, 2}), Tensor()}));
  const auto& list = VariantIn<TensorList>(zeros);
  EXPECT_EQ(ElementsOf<float>(list.at(0)), (std::vector<float>{0, 0}));
  EXPECT_TRUE(list.at(1).empty());
  EXPECT_EQ(list.element_dtype(), DType::kFloat);
  const Tensor optional = *ZerosLike(Optional({Tensor::Scalar(3)}));
  EXPECT_EQ(VariantIn<OptionalValue>(optional).components()[0].scalar<int>(), 0);
  EXPECT_FALSE(
      VariantIn<OptionalValue>(*ZerosLike(std::make_shared<const OptionalValue>())).has_value());
  EXPECT_EQ(ZerosLike(nullptr).status().code(), Code::kUnimplemented);
}

TEST_F(VariantMathTest, ZerosOfAStackAreRecordsOfWhatHasAGradient) {
  auto stack = std::make_shared<const LoopStack>();
  for (int i = 1; i <= 3; ++i) {
    stack = std::make_shared<const LoopStack>(
        stack, Elements{Tensor::Scalar(1.5F), Tensor::Scalar(i), Tensor::Scalar(2.5)});
  }
  const Tensor zeros = *ZerosLike(stack);
  const LoopStack* record = &VariantIn<LoopStack>(zeros);
  EXPECT_EQ(record->length(), 3);
  for (; record->length() > 0; record = record->earlier().get()) {
    ASSERT_EQ(record->latest().size(), 2u) << "an integer has no gradient";
    EXPECT_EQ(record->latest()[0].scalar<float>(), 0);
    EXPECT_EQ(record->latest()[1].scalar<double>(), 0);
  }
}

TEST_F(VariantMathTest, EveryElementOfATensorOfVariantsIsSummed) {
  Tensor a = *Tensor::AllocateHost(DType::kVariant, Shape{2});
  for (int i = 0; i < 2; ++i) {
    a.mutable_data<Variant>()[i] = Variant(std::make_shared<const Figure>(i + 1));
  }
  const Tensor sum = *AddVariants(call_.context(), a, a);
  EXPECT_EQ(sum.shape(), Shape{2});
  EXPECT_EQ(VariantIn<Figure>(sum, 1).value, 4);
}

TEST_F(VariantMathTest, ADepthBeyondAllNestingIsRefusedNotRecursed) {
  // Stacks do not count as nested, so only the sum's own limit ends this.
  Value value = std::make_shared<const LoopStack>();
  for (int depth = 0; depth < 1000; ++depth) {
    value = std::make_shared<const LoopStack>(std::make_shared<const LoopStack>(),
                                              Elements{VariantTensor(value)});
  }
  const Status status = ZerosLike(value).status();
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_EQ(status.message(), "variants are nested more than 128 deep");
}

TEST_F(VariantMathTest, ASumWithoutRoomIsResourceExhausted) {
  TestStep small(int64_t{1} << 20);
  TestCall call(small, {}, 0);
  const Tensor list =
      VariantTensor(MakeList({*Tensor::AllocateHost(DType::kFloat, Shape{int64_t{1} << 19})}));
  EXPECT_EQ(AddVariants(call.context(), list, list).status().code(), Code::kResourceExhausted);
  EXPECT_EQ(ZerosLikeVariants(call.context(), list).status().code(), Code::kResourceExhausted);
  EXPECT_EQ(small.bytes_in_use(), 0);
}

}  // namespace
}  // namespace thalweg
