// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "thalweg/testing/op_case.h"

namespace thalweg {
namespace {

// Recorded: what TensorFlow 2.21 gives.
TEST(CollectiveGroupTest, TheRowOfTheDeviceIsItsGroup) {
  const auto ints = [](std::vector<int32_t> values, const Shape& shape) {
    return In(Tensor::Of<int32_t>(values, shape));
  };
  const In groups = ints({0, 3, 2, 1}, Shape{2, 2});
  OpCase("CollectiveAssignGroupV2")
      .Reference([](RefCall<double>& r) {
        const Array<double>& rows = r.in[0];
        const int64_t size = rows.shape.dim(1);
        r.out = {Array<double>(Shape()), Array<double>(Shape())};
        r.out[0][0] = static_cast<double>(size);
        for (int64_t i = rows.size() - 1; i >= 0; --i) {
          const int64_t row = i / size;
          if (rows[i] == r.in[1][0]) r.out[1][0] = r.in[2][0] + static_cast<double>(row);
        }
      })
      .Try({groups, Tensor::Scalar(2), Tensor::Scalar(7)})
      .Try({groups, Tensor::Scalar(3), Tensor::Scalar(7)})
      .Try({ints({0, 3, 2, 0}, Shape{2, 2}), Tensor::Scalar(0), Tensor::Scalar(7)})
      .Bad({groups, Tensor::Scalar(9), Tensor::Scalar(7)}, {}, Code::kInvalidArgument,
           "device_index 9 is not found")
      .Bad({ints({0, 3}, Shape{2}), Tensor::Scalar(0), Tensor::Scalar(7)}, {},
           Code::kInvalidArgument, "")
      .Bad({ints({}, Shape{2, 0}), Tensor::Scalar(0), Tensor::Scalar(7)}, {},
           Code::kInvalidArgument, "is not found")
      .Bad({groups, Tensor::Scalar(2), Tensor::Scalar(2147483647)}, {}, Code::kInvalidArgument,
           "does not fit into an int32")
      .Run();
}

}  // namespace
}  // namespace thalweg
