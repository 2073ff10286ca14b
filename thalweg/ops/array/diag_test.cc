// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "thalweg/ops/array/test_element_types.h"

namespace thalweg {
namespace {

OpCase DiagCase(const std::string& op) {
  OpCase made(op);
  for (DType dtype : {DType::kDouble, DType::kFloat, DType::kHalf, DType::kInt32, DType::kInt64,
                      DType::kComplex64, DType::kComplex128}) {
    made.Types({{"T", dtype}});
  }
  return made;
}

TEST(DiagTest, PutsElementsOnADiagonal) {
  DiagCase("Diag")
      .Reference([]<class V>(RefCall<V>& r) {
        Dims dims = r.in[0].shape.dims();
        for (int64_t size : r.in[0].shape.dims()) dims.push_back(size);
        r.out = {Array<V>(Shape(dims))};
        const int64_t n = r.in[0].size();
        for (int64_t i = 0; i < n; ++i) r.out[0][i * n + i] = r.in[0][i];
      })
      .Try({In({5})})
      .Try({In({2, 3})})
      .Try({In({0})})
      .Bad({In({})}, {}, Code::kInvalidArgument, "")
      .Run();
}

TEST(DiagPartTest, TakesTheDiagonal) {
  DiagCase("DiagPart")
      .Reference([]<class V>(RefCall<V>& r) {
        Dims dims = r.in[0].shape.dims();
        dims.resize(dims.size() / 2);
        r.out = {Array<V>(Shape(dims))};
        const int64_t n = r.out[0].size();
        for (int64_t i = 0; i < n; ++i) r.out[0][i] = r.in[0][i * n + i];
      })
      .Try({In({5, 5})})
      .Try({In({2, 3, 2, 3})})
      .Try({In({0, 0})})
      .Bad({In({2, 2, 2})}, {}, Code::kInvalidArgument, "should be even and positive")
      .Bad({In({2, 3})}, {}, Code::kInvalidArgument, "")
      .Bad({In({})}, {}, Code::kInvalidArgument, "should be even and positive")
      .Run();
}

}  // namespace
}  // namespace thalweg
