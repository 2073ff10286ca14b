// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>

#include "thalweg/testing/op_case.h"

namespace thalweg {
namespace {

template <class V>
void Chosen(RefCall<V>& r) {
  const Shape values = BroadcastShape(r.in[1].shape, r.in[2].shape);
  r.out = {Array<V>(BroadcastShape(r.in[0].shape, values))};
  ForEachIndex(r.out[0].shape, [&](const std::vector<int64_t>& at) {
    r.out[0].At(at) = r.in[0].At(at) != V(0) ? r.in[1].At(at) : r.in[2].At(at);
  });
}

template <class V>
void ChosenRows(RefCall<V>& r) {
  if (r.in[0].shape.rank() == 1) {
    Dims dims = r.in[0].shape.dims();
    dims.resize(r.in[1].shape.rank(), 1);
    r.in[0].shape = Shape(dims);
  }
  Chosen(r);
}

OpCase& SkipObjects(OpCase& c) {
  return c.Skip(DType::kString, "see Objects")
      .Skip(DType::kResource, "see Objects")
      .Skip(DType::kVariant, "see Objects");
}

TEST(SelectTest, Select) {
  OpCase c("Select");
  SkipObjects(c)
      .Reference([](auto& r) { ChosenRows(r); })
      .Try({In({7, 31}), In({7, 31}), In({7, 31})})
      .Try({In({7}), In({7, 31}), In({7, 31})})
      .Try({In({}), In({7, 31}), In({7, 31})})
      .Try({In({}), In({}), In({})})
      .Try({In({3, 3}), In({3, 3}), In({3, 3})})
      .Try({In({0, 2}), In({0, 2}), In({0, 2})})
      .Bad({In({3}), In({2, 3}), In({2, 3})}, {}, Code::kInvalidArgument,
           "Dimension 0 in both shapes must be equal, but are 3 and 2. Shapes are [3] and [2].",
           "Number of batches of 'then' must match size of 'cond', but saw: 2 vs. 3")
      .Bad({In({1, 3}), In({2, 3}), In({2, 3})}, {}, Code::kInvalidArgument,
           "Dimension 0 in both shapes must be equal, but are 2 and 1. Shapes are [2,3] and [1,3].",
           "of type Select must have the same size and shape.  Input 0: [1,3] != input 1: [2,3]")
      .Bad({In({2}), In({2}), In({3})}, {}, Code::kInvalidArgument,
           "Dimension 0 in both shapes must be equal, but are 2 and 3",
           "of type Select must have the same size and shape.  Input 0: [2] != input 2: [3]")
      .Bad({In({1}), In({}), In({})}, {}, Code::kInvalidArgument,
           "Shapes must be equal rank, but are 0 and 1",
           "'then' must be at least a vector, but saw shape: []")
      .Bad({In({}), In({2, 3}), In({3})}, {}, Code::kInvalidArgument,
           "Shapes must be equal rank, but are 2 and 1",
           "'then' and 'else' must have the same size.  but received: [2,3] vs. [3]")
      .Run();
}

TEST(SelectTest, SelectV2) {
  OpCase c("SelectV2");
  SkipObjects(c)
      .Reference([](auto& r) { Chosen(r); })
      .Try({In({7, 31}), In({7, 31}), In({7, 31})})
      .Try({In({31}), In({7, 31}), In({})})
      .Try({In({7, 1}), In({}), In({7, 31})})
      .Try({In({2, 1, 1}), In({3, 1}), In({4})})
      .Try({In({}), In({}), In({})})
      .Try({In({0, 2}), In({2}), In({})})
      .Bad({In({3}), In({2}), In({2})}, {}, Code::kInvalidArgument, "")
      .Run();
}

TEST(SelectTest, Objects) {
  const std::vector<std::string> words = {"a", "b"};
  const Tensor text = Tensor::Of<std::string>(words, Shape{2});
  const bool flags[] = {true, false};
  const Tensor condition = Tensor::Of<bool>(flags, Shape{2});
  const Tensor chosen = (*RunOp("SelectV2", {condition, text, Tensor::Scalar("z")}))[0];
  EXPECT_EQ(chosen.data<std::string>()[0], "a");
  EXPECT_EQ(chosen.data<std::string>()[1], "z");
  const Tensor none = Tensor::Of<std::string>({}, Shape{2, 0, 1});
  EXPECT_EQ((*RunOp("SelectV2", {condition, none, text}))[0].shape(), Shape({2, 0, 2}));
}

double Clipped(double x, double low, double high) { return std::max(std::min(x, high), low); }

OpCase::Complex Clipped(OpCase::Complex x, OpCase::Complex low, OpCase::Complex high) {
  return {Clipped(x.real(), low.real(), high.real()), Clipped(x.imag(), low.imag(), high.imag())};
}

TEST(SelectTest, ClipByValue) {
  OpCase("ClipByValue")
      .Reference([](auto& r) {
        r.out = {r.in[0]};
        ForEachIndex(r.in[0].shape, [&](const std::vector<int64_t>& at) {
          r.out[0].At(at) = Clipped(r.in[0].At(at), r.in[1].At(at), r.in[2].At(at));
        });
      })
      .Try({In({7, 31}).Range(0, 9), In({}, {3}), In({}, {6})})
      .Try({In({7, 31}).Range(0, 9), In({7, 31}).Range(0, 4), In({7, 31}).Range(5, 9)})
      .Try({In({}, {9}), In({}, {3}), In({}, {6})})
      .Try({In({0}), In({}), In({})})
      .Bad({In({2, 3}), In({3}), In({})}, {}, Code::kInvalidArgument, "bounds")
      .Run();
}

}  // namespace
}  // namespace thalweg
