// SPDX-License-Identifier: Apache-2.0
// For the tests of this family: datasets made by their kernels.
//
//   const Tensor range = Made("RangeDataset", {Int(0), Int(5), Int(1)}, IntAttrs());
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "thalweg/testing/kernel_call.h"

namespace thalweg {

inline Tensor Int(int64_t value) { return Tensor::Scalar(value); }

inline AttrMap IntAttrs(std::string_view types = "output_types") {
  return {{std::string(types), std::vector<DType>{DType::kInt64}},
          {"output_shapes", std::vector<PartialShape>{PartialShape()}}};
}

// Output 0 of the kernel.
inline Tensor Made(std::string_view op, std::vector<Tensor> inputs, AttrMap attrs) {
  KernelCall call(op, std::move(inputs), std::move(attrs));
  const Status status = call.Run();
  EXPECT_TRUE(status.ok()) << status.ToString();
  return status.ok() ? call.output(0) : Tensor();
}

inline Tensor Range(int64_t n) {
  return Made("RangeDataset", {Int(0), Int(n), Int(1)}, IntAttrs());
}

// What the kernel says of inputs that it refuses.
inline std::string Refused(std::string_view op, std::vector<Tensor> inputs, AttrMap attrs) {
  KernelCall call(op, std::move(inputs), std::move(attrs));
  const Status status = call.Run();
  EXPECT_EQ(status.code(), Code::kInvalidArgument) << status.ToString();
  return std::string(status.message());
}

// The elements of a dataset of int64s, all of one iterator.
inline std::vector<int64_t> Elements(const Tensor& dataset) {
  const Tensor iterator = Made("AnonymousIteratorV3", {}, IntAttrs());
  KernelCall begin("MakeIterator", {dataset, iterator});
  const Status begun = begin.Run();
  EXPECT_TRUE(begun.ok()) << begun.ToString();
  std::vector<int64_t> elements;
  while (begun.ok() && elements.size() < 1000) {
    KernelCall next("IteratorGetNext", {iterator}, IntAttrs());
    const Status status = next.Run();
    if (!status.ok()) {
      EXPECT_EQ(status.code(), Code::kOutOfRange) << status.ToString();
      break;
    }
    for (const int64_t value : next.output(0).flat<int64_t>()) elements.push_back(value);
  }
  return elements;
}

}  // namespace thalweg
