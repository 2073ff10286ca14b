// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "thalweg/testing/kernel_call.h"

namespace thalweg {
namespace {

const std::vector<DType> kOneFloat = {DType::kFloat};

AttrMap Calls(FunctionRef call) {
  return {{"Tin", kOneFloat}, {"Tout", kOneFloat}, {"call", std::move(call)}};
}

// Runs of whole steps: python/tests/test_recursion.py.
TEST(RuntimeCallTest, NobodyCallsWithoutASession) {
  KernelCall call("_RuntimeCall", {Tensor::Scalar(1.0f)}, Calls({"f", {}}));
  const Status status = call.Run();
  EXPECT_EQ(status.code(), Code::kFailedPrecondition) << status.ToString();
}

}  // namespace
}  // namespace thalweg
