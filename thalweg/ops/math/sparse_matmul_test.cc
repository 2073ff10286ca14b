// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "thalweg/testing/op_case.h"

namespace thalweg {
namespace {

TEST(SparseMatMulTest, Cases) {
  OpCase("SparseMatMul")
      .Reference([](RefCall<double>& r) {
        const bool ta = r.Attr<bool>("transpose_a"), tb = r.Attr<bool>("transpose_b");
        const Shape &a = r.in[0].shape, &b = r.in[1].shape;
        const int64_t m = a.dim(ta ? 1 : 0), k = a.dim(ta ? 0 : 1), n = b.dim(tb ? 0 : 1);
        r.out = {Array<double>(Shape{m, n})};
        ForEachIndex(r.out[0].shape, [&](const std::vector<int64_t>& at) {
          for (int64_t i = 0; i < k; ++i) {
            r.out[0].At(at) +=
                r.in[0].At(ta ? std::vector<int64_t>{i, at[0]} : std::vector<int64_t>{at[0], i}) *
                r.in[1].At(tb ? std::vector<int64_t>{at[1], i} : std::vector<int64_t>{i, at[1]});
          }
        });
      })
      .GradStep(1e-2, 1e-2)
      .Try({In({7, 5}), In({5, 9})}, {{"a_is_sparse", true}})
      .Try({In({5, 7}), In({5, 9})}, {{"transpose_a", true}})
      .Try({In({7, 5}), In({9, 5})}, {{"transpose_b", true}, {"b_is_sparse", true}})
      .Try({In({5, 7}), In({9, 5})}, {{"transpose_a", true}, {"transpose_b", true}})
      .Try({In({2, 0}), In({0, 3})})
      .Bad({In({2, 3}), In({2, 3})}, {}, Code::kInvalidArgument, "inner dimensions")
      .Bad({In({2, 3}), In({3})}, {}, Code::kInvalidArgument, "")
      .Run();
}

}  // namespace
}  // namespace thalweg
