// SPDX-License-Identifier: Apache-2.0
// Tensors of levels in tests.
#pragma once

#include <gtest/gtest.h>

#include <vector>

#include "thalweg/testing/op_case.h"

namespace thalweg {

inline Tensor Levels(DType dtype, const Shape& shape, std::vector<double> values) {
  return ToTensor(Array<double>(shape, std::move(values)), dtype, *MakeCpuAllocator()).value();
}
inline In End(float value) { return In(Tensor::Scalar(value)); }

// Elements of what the operation gives, or nothing (and a failure) when it fails.
inline std::vector<std::vector<double>> OutputsOf(std::string_view op,
                                                  const std::vector<Tensor>& inputs,
                                                  AttrMap attrs = {}) {
  const Result<std::vector<Tensor>> out = RunOp(op, inputs, std::move(attrs));
  EXPECT_TRUE(out.ok()) << out.status().ToString();
  std::vector<std::vector<double>> values;
  if (!out.ok()) return values;
  for (const Tensor& tensor : *out) values.push_back(ToArray<double>(tensor).values);
  return values;
}
inline std::vector<double> RunFirst(std::string_view op, const std::vector<Tensor>& inputs,
                                    AttrMap attrs = {}) {
  const auto all = OutputsOf(op, inputs, std::move(attrs));
  return all.empty() ? std::vector<double>(1) : all[0];
}
inline void ExpectNear(const std::vector<double>& got, const std::vector<double>& want,
                       double distance) {
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], want[i], distance) << "element " << i;
}

}  // namespace thalweg
