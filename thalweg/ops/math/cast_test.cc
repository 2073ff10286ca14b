// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <limits>
#include <vector>

#include "thalweg/testing/op_case.h"

namespace thalweg {
namespace {

TEST(CastTest, EveryPair) {
  std::vector<DType> all;
  ForEachType<PodTypes>([&]<class T> { all.push_back(kDTypeOf<T>); });
  OpCase c("Cast");
  for (DType from : all) {
    for (DType to : all) c.Types({{"SrcT", from}, {"DstT", to}});
  }
  c.Reference([](auto& r) {
     using V = typename std::remove_cvref_t<decltype(r.in[0].values)>::value_type;
     const DType to = r.node->output_type(0);
     r.out = {r.in[0]};
     for (V& value : r.out[0].values) {
       if constexpr (!std::is_same_v<V, double>) {
         if (!IsComplex(to)) value = value.real();
       }
       if (to == DType::kBool) value = value != V(0) ? 1 : 0;
     }
   })
      .GradStep(1e-1, 1e-3)
      .Try({In({7, 31}).Range(0.1, 100)})
      .Try({In({3}, {0, 1, 2})})
      .Try({In({}, {3})})
      .Try({In({0, 2})})
      .Trivial("a cast to the same type changes nothing")
      .Run();
}

TEST(CastTest, NumbersThatDoNotFit) {
  const float inf = std::numeric_limits<float>::infinity();
  const auto cast = [](float x, DType to) {
    return (*RunOp("Cast", {Tensor::Scalar(x)}, {{"DstT", to}}))[0];
  };
  const int32_t least = std::numeric_limits<int32_t>::min();
  EXPECT_EQ(cast(1e20f, DType::kInt32).scalar<int32_t>(), least);
  EXPECT_EQ(cast(std::nanf(""), DType::kInt32).scalar<int32_t>(), least);
  EXPECT_EQ(cast(-inf, DType::kInt64).scalar<int64_t>(), std::numeric_limits<int64_t>::min());
  EXPECT_EQ(cast(-2.9f, DType::kInt32).scalar<int32_t>(), -2);
  EXPECT_EQ(static_cast<float>(cast(1e6f, DType::kHalf).scalar<Half>()), inf);
}

}  // namespace
}  // namespace thalweg
