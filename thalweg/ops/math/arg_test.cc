// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "thalweg/testing/op_case.h"

namespace thalweg {
namespace {

void Arg(const char* op, bool max) {
  OpCase(op)
      .Reference([max](RefCall<double>& r) {
        const Shape& in = r.in[0].shape;
        auto axis = static_cast<int>(r.in[1][0]);
        if (axis < 0) axis += in.rank();
        Dims dims = in.dims();
        dims.erase(axis);
        r.out = {Array<double>(Shape(dims))};
        int64_t next = 0;
        ForEachIndex(Shape(dims), [&](const std::vector<int64_t>& at) {
          std::vector<int64_t> place = at;
          place.insert(place.begin() + axis, 0);
          int64_t best = 0;
          double extreme = r.in[0].At(place);
          for (int64_t i = 1; i < in.dim(axis); ++i) {
            place[axis] = i;
            const double value = r.in[0].At(place);
            if (max ? value > extreme : value < extreme) {
              extreme = value;
              best = i;
            }
          }
          r.out[0][next++] = static_cast<double>(best);
        });
      })
      .Try({In({7, 31}), In({}, {1})})
      .Try({In({7, 31}), In({}, {0})})
      .Try({In({3, 400}), In({}, {-1})})
      .Try({In({2, 3, 70}), In({}, {1})}, {{"Tidx", DType::kInt64}})
      .Try({In({4}, {1, 3, 0, 3}), In({}, {0})})
      .Try({In({0, 3}), In({}, {1})})
      .Bad({In({2, 3}), In({}, {2})}, {}, Code::kInvalidArgument, "dimension")
      .Bad({In({2, 0}), In({}, {1})}, {}, Code::kInvalidArgument,
           "Reduction axis 1 is empty in shape [2,0]")
      .Bad({In({}), In({}, {0})}, {}, Code::kInvalidArgument, "")
      .Run();
}

TEST(ArgTest, Max) { Arg("ArgMax", true); }
TEST(ArgTest, Min) { Arg("ArgMin", false); }

}  // namespace
}  // namespace thalweg
