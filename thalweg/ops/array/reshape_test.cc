// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "thalweg/ops/array/test_element_types.h"

namespace thalweg {
namespace {

// The elements of input 0 in the shape `to`.
template <class Call>
void Expect(Call& r, Shape to) {
  r.out = {r.in[0]};
  r.out[0].shape = std::move(to);
}

TEST(ReshapeTest, KeepsTheElements) {
  EveryElementType("Reshape")
      .Reference([](auto& r) {
        Expect(r, Shape{4, 6});
      })
      .Try({In({2, 3, 4}), In({2}, {4, 6})})
      .Try({In({2, 3, 4}), In({2}, {-1, 6})}, {{"Tshape", DType::kInt64}})
      .Trivial("elements do not change")
      .Run();
  EveryElementType("Reshape")
      .Reference([](auto& r) {
        Expect(r, Shape{0, 3});
      })
      .Try({In({3, 0}), In({2}, {-1, 3})})
      .Trivial("empty")
      .Run();
}

// As TensorFlow 1.15 and 2.21 have it: zeros count for nothing then.
TEST(ReshapeTest, AnUnknownSizeBesideAZero) {
  const Tensor none = *Tensor::AllocateHost(DType::kFloat, Shape{0, 3});
  const auto expect = [&](const std::vector<int32_t>& sizes, const Shape& shape) {
    const auto made = RunOp(
        "Reshape", {none, Tensor::Of<int32_t>(sizes, Shape{static_cast<int64_t>(sizes.size())})});
    ASSERT_TRUE(made.ok()) << made.status().ToString();
    EXPECT_EQ((*made)[0].shape(), shape);
  };
  expect({-1, 0}, Shape{3, 0});
  expect({0, -1}, Shape{0, 3});
  expect({-1, 0, 5}, Shape{0, 0, 5});
  expect({-1, 7}, Shape{0, 7});
}

TEST(ReshapeTest, Refusals) {
  OpCase("Reshape")
      .Types({{"T", DType::kFloat}})
      .Reference([](auto& r) { Expect(r, Shape()); })
      .Try({In({1, 1}), In({0}, {})})
      .Bad({In({2, 3}), In({1}, {5})}, {}, Code::kInvalidArgument, "")
      .Bad({In({2, 3}), In({1}, {-2})}, {}, Code::kInvalidArgument, "")
      .Bad({In({2, 3}), In({2}, {-1, 4})}, {}, Code::kInvalidArgument, "")
      .Bad({In({2, 3}), In({2}, {-1, -1})}, {}, Code::kInvalidArgument, "may be -1")
      .Bad({In({2, 3}), In({2}, {-1, 0})}, {}, Code::kInvalidArgument, "6")
      .Bad({In({2, 3}), In({}, {6})}, {}, Code::kInvalidArgument, "")
      .Trivial("one element")
      .Run();
}

TEST(ExpandDimsTest, PutsADimensionIn) {
  EveryElementType("ExpandDims")
      .Reference([](auto& r) {
        Expect(r, Shape{2, 1, 3});
      })
      .Try({In({2, 3}), In({}, {1})})
      .Try({In({2, 3}), In({}, {-2})}, {{"Tdim", DType::kInt64}})
      .Try({In({2, 3}), In({1}, {1})})
      .Bad({In({2, 3}), In({}, {3})}, {}, Code::kInvalidArgument,
           "dim 3 not in the interval [-3, 2].",
           "Tried to expand dim index 3 for tensor with 2 dimensions.")
      .Bad({In({2, 3}), In({2}, {0, 1})}, {}, Code::kInvalidArgument, "scalar")
      .Trivial("elements do not change")
      .Run();
}

TEST(SqueezeTest, DropsDimensionsOfSizeOne) {
  EveryElementType("Squeeze")
      .Reference([](auto& r) {
        Expect(r, Shape{2, 3});
      })
      .Try({In({1, 2, 1, 3})})
      .Try({In({2, 1, 3})}, {{"squeeze_dims", std::vector<int64_t>{-2}}})
      .Bad({In({2, 1})}, {{"squeeze_dims", std::vector<int64_t>{0}}}, Code::kInvalidArgument,
           "Can not squeeze dim[0]")
      .Bad({In({2, 1})}, {{"squeeze_dims", std::vector<int64_t>{2}}}, Code::kInvalidArgument,
           "squeeze_dims[0] not in [-2,2)",
           "Tried to squeeze dim index 2 for tensor with 2 dimensions.")
      .Trivial("elements do not change")
      .Run();
}

TEST(ReshapeTest, OfLevels) {
  const In end = In(Tensor::Scalar(1.0f));
  OpCase("QuantizedReshape")
      .Reference([](RefCall<double>& r) {
        r.out = {Array<double>(Shape{3, 2}, r.in[0].values), Array<double>(Shape{}, r.in[2].values),
                 r.in[3]};
      })
      .Trivial("the elements stay as they are")
      .Try({In({2, 3}).Range(0, 100), In({2}, {3, -1}), In({1}, {-2}), end})
      .Bad({In({2, 3}), In({2}, {4, -1}), end, end}, {}, Code::kInvalidArgument, "")
      .Bad({In({2, 3}), In({2}, {3, -1}), In({2}), end}, {}, Code::kInvalidArgument, "1 element")
      .Run();
}

}  // namespace
}  // namespace thalweg
