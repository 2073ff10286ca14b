// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "thalweg/testing/op_case.h"
#include "thalweg/testing/tolerance.h"

namespace thalweg {
namespace {

constexpr auto kProduct = [](auto& r) {
  const bool ta = r.template Attr<bool>("transpose_a"), tb = r.template Attr<bool>("transpose_b");
  const auto &a = r.in[0], &b = r.in[1];
  const int64_t m = a.shape.dim(ta ? 1 : 0), k = a.shape.dim(ta ? 0 : 1);
  const int64_t n = b.shape.dim(tb ? 0 : 1);
  std::remove_cvref_t<decltype(a)> y(Shape{m, n});
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      for (int64_t l = 0; l < k; ++l) {
        y.At({i, j}) += a.At({ta ? l : i, ta ? i : l}) * b.At({tb ? j : l, tb ? l : j});
      }
    }
  }
  r.out = {y};
};

TEST(MatMulTest, Cases) {
  OpCase("MatMul")
      .Reference(kProduct)
      .Tolerance(DType::kHalf, ToleranceOf(OpClass::kProduct, DType::kHalf))
      .Try({In({2, 3}), In({3, 4})})
      .Try({In({1, 1}), In({1, 1})})
      .Try({In({37, 19}), In({19, 41})})
      .Try({In({19, 37}), In({19, 41})}, {{"transpose_a", true}})
      .Try({In({37, 19}), In({41, 19})}, {{"transpose_b", true}})
      .Try({In({19, 37}), In({41, 19})}, {{"transpose_a", true}, {"transpose_b", true}})
      .Try({In({0, 3}), In({3, 4})})
      .Try({In({2, 0}), In({0, 4})})
      .Try({In({2, 3}), In({3, 0})})
      .Bad({In({2, 3}), In({4, 2})}, {}, Code::kInvalidArgument, "inner dimensions differ")
      .Bad({In({2, 3}), In({3, 2})}, {{"transpose_b", true}}, Code::kInvalidArgument,
           "b is [3,2] transposed")
      .Bad({In({3}), In({3, 2})}, {}, Code::kInvalidArgument, "")
      .Run();
}

}  // namespace
}  // namespace thalweg
