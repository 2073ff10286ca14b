// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "thalweg/ops/array/test_element_types.h"

namespace thalweg {
namespace {

template <class V>
void ConcatReference(RefCall<V>& r, size_t axis_input, size_t begin, size_t end) {
  int64_t axis = static_cast<int64_t>(std::real(r.in[axis_input][0]));
  if (axis < 0) axis += r.in[begin].shape.rank();
  Dims dims = r.in[begin].shape.dims();
  for (size_t i = begin + 1; i < end; ++i) {
    dims[static_cast<int>(axis)] += r.in[i].shape.dim(static_cast<int>(axis));
  }
  r.out = {Array<V>(Shape(dims))};
  ForEachIndex(r.out[0].shape, [&](const std::vector<int64_t>& at) {
    std::vector<int64_t> from = at;
    size_t i = begin;
    int64_t& position = from[static_cast<size_t>(axis)];
    while (position >= r.in[i].shape.dim(static_cast<int>(axis))) {
      position -= r.in[i++].shape.dim(static_cast<int>(axis));
    }
    r.out[0].At(at) = r.in[i].values[static_cast<size_t>(r.in[i].Offset(from))];
  });
}

TEST(ConcatTest, JoinsAlongADimension) {
  EveryElementType("ConcatV2")
      .Reference(
          []<class V>(RefCall<V>& r) { ConcatReference(r, r.in.size() - 1, 0, r.in.size() - 1); })
      .Try({In({2, 3}), In({4, 3}), In({}, {0})})
      .Try({In({2, 3, 2}), In({2, 1, 2}), In({2, 5, 2}), In({}, {-2})}, {{"Tidx", DType::kInt64}})
      .Try({In({70, 30}), In({70, 40}), In({}, {1})})
      .Try({In({2, 0}), In({2, 3}), In({}, {1})})
      .Bad({In({2, 3}), In({2, 4}), In({}, {0})}, {}, Code::kInvalidArgument, "")
      .Bad({In({2, 3}), In({2}), In({}, {0})}, {}, Code::kInvalidArgument, "[2,3]")
      .Bad({In({2, 3}), In({2, 3}), In({}, {2})}, {}, Code::kInvalidArgument,
           "Shape must be at least rank 3 but is rank 2 for ",
           "ConcatOp : Expected concatenating dimensions in the range [-2, 2), but got 2")
      .Bad({In({}), In({}), In({}, {0})}, {}, Code::kInvalidArgument, "")
      .Run();
}

TEST(ConcatTest, OldForm) {
  EveryElementType("Concat")
      .Reference([]<class V>(RefCall<V>& r) { ConcatReference(r, 0, 1, r.in.size()); })
      .Try({In({}, {1}), In({2, 3}), In({2, 4})})
      .Run();
}

TEST(ConcatTest, OfText) {
  Result<std::vector<Tensor>> joined =
      RunOp("ConcatV2", {Tensor::Scalar("x").Reshaped(Shape{1}).value(),
                         Tensor::Scalar("y").Reshaped(Shape{1}).value(), Tensor::Scalar(0)});
  ASSERT_TRUE(joined.ok()) << joined.status().ToString();
  EXPECT_EQ((*joined)[0].data<std::string>()[1], "y");
}

// As TensorFlow 2.21 computed them.
TEST(ConcatTest, OfLevels) {
  const auto levels = [](DType dtype, std::vector<double> values) {
    const Shape shape{1, static_cast<int64_t>(values.size())};
    return ToTensor(Array<double>(shape, std::move(values)), dtype, *MakeCpuAllocator()).value();
  };
  const auto run = [](const Tensor& a, const Tensor& b, const std::vector<float>& ends) {
    std::vector<Tensor> inputs = {Tensor::Scalar<int32_t>(0), a, b};
    for (float end : ends) inputs.push_back(Tensor::Scalar(end));
    auto out = RunOp("QuantizedConcat", inputs).value();
    EXPECT_EQ(out[0].shape(), (Shape{2, 3}));
    EXPECT_EQ(out[1].scalar<float>(), std::min({0.0f, ends[0], ends[1]}));
    EXPECT_EQ(out[2].scalar<float>(), std::max(ends[2], ends[3]));
    return ToArray<double>(out[0]).values;
  };
  using Values = std::vector<double>;
  const Tensor a = levels(DType::kQuint8, {0, 50, 255}), b = levels(DType::kQuint8, {10, 128, 200});
  EXPECT_EQ(run(a, b, {-1, 0, 1, 4}), (Values{0, 20, 102, 59, 153, 211}));
  EXPECT_EQ(run(a, b, {-1, -1, 1, 1}), (Values{0, 50, 255, 10, 128, 200}));
  EXPECT_EQ(run(a, b, {1, 2, 3, 3}), (Values{85, 118, 255, 173, 213, 237}));
  const auto signed_out = RunOp(
      "QuantizedConcatV2",
      {levels(DType::kQint8, {-128, 127}), levels(DType::kQint8, {5}), Tensor::Scalar<int32_t>(-1),
       Tensor::Scalar(-1.0f), Tensor::Scalar(-1.0f), Tensor::Scalar(1.0f), Tensor::Scalar(1.0f)});
  EXPECT_EQ(ToArray<double>((*signed_out)[0]).values, (Values{-128, 127, 5}));
  const auto wide =
      RunOp("QuantizedConcat", {Tensor::Scalar<int32_t>(0), levels(DType::kQint32, {5, -7, 100}),
                                levels(DType::kQint32, {5, 5, 5}), Tensor::Scalar(-3.0f),
                                Tensor::Scalar(-1.0f), Tensor::Scalar(5.0f), Tensor::Scalar(2.0f)});
  ASSERT_TRUE(wide.ok()) << wide.status().ToString();
  const Values wide_values{429496736, 429496736, 429496832, 214748368, 214748368, 214748368};
  for (size_t i = 0; i < 6; ++i) {  // in steps of 32 there, as floats
    EXPECT_NEAR(ToArray<double>((*wide)[0]).values[i], wide_values[i], 32);
  }
  EXPECT_EQ((*wide)[1].scalar<float>(), -5);
  EXPECT_EQ((*wide)[2].scalar<float>(), 5);
  const In end = In(Tensor::Scalar(1.0f)), axis = In(Tensor::Scalar<int32_t>(0));
  OpCase("QuantizedConcat")
      .Types({{"T", DType::kQuint8}})
      .Reference([](RefCall<double>& r) {
        r.out = {Array<double>(Shape{4}), Array<double>(Shape{}, {0}), r.in[5]};
        for (int i = 0; i < 4; ++i) r.out[0][i] = r.in[i < 2 ? 1 : 2][i % 2];
      })
      .Try({axis, In({2}).Range(0, 255), In({2}).Range(0, 255), In(Tensor::Scalar(0.0f)),
            In(Tensor::Scalar(0.0f)), end, end},
           {{"N", 2}})
      .Bad({axis, In({2, 1}), In({2, 2}), end, end, end, end}, {{"N", 2}}, Code::kInvalidArgument,
           "")
      .Bad({In(Tensor::Scalar<int32_t>(2)), In({2}), In({2}), end, end, end, end}, {{"N", 2}},
           Code::kInvalidArgument, "Shape must be at least rank 3 but is rank 1 for ",
           "ConcatOp : Expected concatenating dimensions in the range [-1, 1), but got 2")
      .Bad({axis, In({2}), In({2}), In({2}), end, end, end}, {{"N", 2}}, Code::kInvalidArgument,
           "one element")
      .Run();
}

TEST(ConcatOffsetTest, SaysWhereEachBegins) {
  OpCase("ConcatOffset")
      .Reference([](RefCall<double>& r) {
        const auto axis = static_cast<int64_t>(r.in[0][0]);
        double offset = 0;
        for (size_t i = 1; i < r.in.size(); ++i) {
          Array<double> out(r.in[i].shape);
          out[axis] = offset;
          offset += r.in[i][axis];
          r.out.push_back(out);
        }
      })
      .Try({In({}, {1}), In({2}, {3, 2}), In({2}, {3, 5}), In({2}, {3, 1})})
      .Bad({In({}, {1}), In({2}, {3, 2}), In({2}, {4, 5})}, {}, Code::kInvalidArgument, "agree")
      .Bad({In({}, {2}), In({2}, {3, 2}), In({2}, {3, 5})}, {}, Code::kInvalidArgument,
           "concat_dim in the range [-2, 2), but got 2")
      .Run();
}

}  // namespace
}  // namespace thalweg
