// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "thalweg/testing/op_case.h"

namespace thalweg {
namespace {

TEST(L2LossTest, Cases) {
  OpCase("L2Loss")
      .Reference([](RefCall<double>& r) {
        double sum = 0;
        for (double x : r.in[0].values) sum += x * x;
        r.out = {Array<double>(Shape(), {sum / 2})};
      })
      .Try({In({7, 31})})
      .Try({In({})})
      .Try({In({0, 3})})
      .Run();
}

}  // namespace
}  // namespace thalweg
