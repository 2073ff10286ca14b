// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>

#include "thalweg/testing/op_case.h"
#include "thalweg/testing/tolerance.h"

namespace thalweg {
namespace {

// Loss and gradient by the logits, with labels(row, class).
template <class Label>
void CrossEntropy(RefCall<double>& r, int64_t rows, int64_t classes, Label label) {
  r.out = {Array<double>(Shape{rows}), Array<double>(Shape{rows, classes})};
  for (int64_t i = 0; i < rows; ++i) {
    double sum = 0;
    for (int64_t j = 0; j < classes; ++j) sum += std::exp(r.in[0].At({i, j}));
    for (int64_t j = 0; j < classes; ++j) {
      const double log = r.in[0].At({i, j}) - std::log(sum);
      r.out[0][i] -= label(i, j) * log;
      r.out[1].At({i, j}) = std::exp(log) - label(i, j);
    }
  }
}

OpCase Tolerant(const char* op) {
  OpCase made(op);
  made.Tolerance(DType::kHalf, ToleranceOf(OpClass::kSoftmax, DType::kHalf))
      .Tolerance(DType::kBfloat16, ToleranceOf(OpClass::kSoftmax, DType::kBfloat16));
  return made;
}

TEST(CrossEntropyTest, Distributions) {
  const auto reference = [](RefCall<double>& r) {
    const Shape shape = BroadcastShape(r.in[0].shape, r.in[1].shape);
    CrossEntropy(r, shape.dim(0), shape.dim(1), [&](int64_t i, int64_t j) {
      return r.in[1].At({i, j});
    });
  };
  // The gradients hold for labels that sum to one.
  const std::vector<double> labels = {0.2, 0.3, 0.5, 1, 0, 0};
  Tolerant("SoftmaxCrossEntropyWithLogits")
      .Reference(reference)
      .Try({In({2, 3}), In({2, 3}, labels)})
      .Try({In({0, 3}), In({0, 3})})
      .GradOutputs({0})
      .GradInputs({0})
      .Bad({In({2, 3}), In({2, 4})}, {}, Code::kInvalidArgument,
           "Dimensions must be equal, but are 3 and 4 for ",
           "logits and labels must be broadcastable: logits_size=[2,3] labels_size=[2,4]")
      .Bad({In({3}), In({3})}, {}, Code::kInvalidArgument,
           "Shape must be broadcasted with rank 2, but is rank 1",
           "logits and labels must be either 2-dimensional, or broadcasted to be 2-dimensional, "
           "got [3]")
      .Run();
  Tolerant("SoftmaxCrossEntropyWithLogits")
      .Reference(reference)
      .Try({In({2, 3}), In({2, 3}, labels)})
      .GradOutputs({1})
      .Run();
  // TensorFlow refuses gradients of repeated operands; here they are sums.
  Tolerant("SoftmaxCrossEntropyWithLogits")
      .Reference(reference)
      .Try({In({1, 3}), In({2, 3}, labels)})
      .Try({In({3}), In({2, 3}, labels)})
      .Try({In({4, 3}), In({1, 3}, {0.2, 0.3, 0.5})})
      .GradOutputs({0})
      .GradInputs({0})
      .Run();
  Tolerant("SoftmaxCrossEntropyWithLogits")
      .Reference(reference)
      .Try({In({1, 3}), In({2, 3}, labels)})
      .Try({In({7, 31}), In({1, 31}).Range(0, 0.1)})
      .GradOutputs({1})
      .Run();
}

TEST(CrossEntropyTest, Classes) {
  Tolerant("SparseSoftmaxCrossEntropyWithLogits")
      .Reference([](RefCall<double>& r) {
        const Shape& shape = r.in[0].shape;
        CrossEntropy(r, shape.dim(0), shape.dim(1),
                     [&](int64_t i, int64_t j) { return r.in[1][i] == j ? 1.0 : 0.0; });
      })
      .Try({In({7, 31}), In({7}).Range(0, 30)})
      .Try({In({2, 3}), In({2}, {2, 0})})
      .Try({In({1, 1}), In({1}, {0})})
      .Try({In({0, 3}), In({0})})
      .Try({In({0, 0}), In({0})})
      .Bad({In({2, 3}), In({2}, {0, 3})}, {}, Code::kInvalidArgument, "")
      .Bad({In({2, 3}), In({2}, {-1, 0})}, {}, Code::kInvalidArgument, "")
      .Bad({In({2, 3}), In({3}, {0, 1, 2})}, {}, Code::kInvalidArgument,
           "Dimensions must be equal, but are 2 and 3 for ",
           "logits and labels must have the same first dimension, got logits shape [2,3] and "
           "labels shape [3]")
      .Bad({In({2, 0}), In({2}, {0, 0})}, {}, Code::kInvalidArgument, "")
      .Run();
}

}  // namespace
}  // namespace thalweg
