// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "thalweg/testing/op_case.h"
#include "thalweg/testing/tolerance.h"

namespace thalweg {
namespace {

TEST(AddNTest, Cases) {
  for (const char* op : {"AddN", "AccumulateNV2"}) {
    AttrMap shape;
    if (op[1] == 'c') shape.Set("shape", PartialShape());
    OpCase(op)
        .Skip(DType::kVariant, "lists and optionals: see ops/list")
        .Reference([](auto& r) {
          r.out = {r.in[0]};
          for (size_t k = 1; k < r.in.size(); ++k) {
            for (int64_t i = 0; i < r.in[k].size(); ++i) r.out[0][i] += r.in[k][i];
          }
        })
        .Tolerance(DType::kHalf, ToleranceOf(OpClass::kArithmetic, DType::kHalf))
        .Tolerance(DType::kBfloat16, ToleranceOf(OpClass::kArithmetic, DType::kBfloat16))
        .Try({In({7, 31}), In({7, 31}), In({7, 31})}, shape)
        .Try({In({7, 31})}, shape)
        .Try({In({}), In({}).Range(1, 3)}, shape)
        .Try({In({0, 2}), In({0, 2})}, shape)
        .Bad({In({2}), In({3})}, shape, Code::kInvalidArgument, "")
        .Run();
  }
}

}  // namespace
}  // namespace thalweg
