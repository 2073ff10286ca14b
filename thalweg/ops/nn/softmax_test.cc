// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>

#include "thalweg/testing/op_case.h"
#include "thalweg/testing/tolerance.h"

namespace thalweg {
namespace {

void Rows(const char* op, bool log) {
  OpCase(op)
      .Reference([log](RefCall<double>& r) {
        r.out = {r.in[0]};
        const Shape& shape = r.in[0].shape;
        const int64_t classes = shape.dim(shape.rank() - 1);
        for (int64_t row = 0; row * classes < r.in[0].size(); ++row) {
          double sum = 0;
          for (int64_t i = 0; i < classes; ++i) sum += std::exp(r.in[0][row * classes + i]);
          for (int64_t i = 0; i < classes; ++i) {
            double& to = r.out[0][row * classes + i];
            to = log ? to - std::log(sum) : std::exp(to) / sum;
          }
        }
      })
      .Tolerance(DType::kHalf, ToleranceOf(OpClass::kSoftmax, DType::kHalf))
      .Tolerance(DType::kBfloat16, ToleranceOf(OpClass::kSoftmax, DType::kBfloat16))
      .Try({In({7, 31})})
      .Try({In({3, 2, 70})})
      .Try({In({5}).Range(-30, 30)})
      .Try({In({4, 1})})
      .Try({In({0, 3})})
      .Try({In({3, 0})})
      .Bad({In({})}, {}, Code::kInvalidArgument, "Shape must be at least rank 1 but is rank 0 for ",
           "logits must have >= 1 dimension, got []")
      .Run();
}

TEST(SoftmaxTest, Softmax) { Rows("Softmax", false); }
TEST(SoftmaxTest, LogSoftmax) { Rows("LogSoftmax", true); }

TEST(SoftmaxTest, LargeLogitsDoNotOverflow) {
  const Tensor y = (*RunOp("Softmax", {Tensor::Vector<float>({1000, 0})}))[0];
  EXPECT_EQ(y.data<float>()[0], 1);
  EXPECT_EQ(y.data<float>()[1], 0);
}

}  // namespace
}  // namespace thalweg
