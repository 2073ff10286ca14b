// SPDX-License-Identifier: Apache-2.0
// CheckGradient: the registered gradient function of an operation against differences of its
// values. The inner workings of OpCase.
// Ownership: the text is the caller's; all else is used during the call.
// Threads: the test's.
// Errors: told in words; "" where both agree.
#pragma once

#include <string>
#include <vector>

#include "thalweg/testing/op_case_node.h"

namespace thalweg {

struct GradientCheck {
  std::vector<int> inputs;   // empty: all of floating type
  std::vector<int> outputs;  // empty: all of floating type
  double step = 1e-5;
  double tolerance = 1e-5;
};

// "" when both agree, else what differs. The gradient graph is built with the shapes known and with
// unknown ranks.
std::string CheckGradient(const KernelRegistry& kernels, TestMachine& machine, const CaseNode& node,
                          const std::vector<CaseInput>& inputs, const GradientCheck& check);

}  // namespace thalweg
