// SPDX-License-Identifier: Apache-2.0
// The optimizers as a table: which operation updates a variable, with which arguments, slots and
// defaults. It is the only one: the C ABI shows it, and Python's optimizers read it there.
//
//   for (const OptimizerKind& row : OptimizerKinds()) name += row.kind;
//
// Ownership: static and never changed. All texts are literals, so `data()` of each ends with NUL.
// Threads: any.
// Errors: none.
#pragma once

#include <string_view>
#include <vector>

namespace thalweg {

struct HyperParameter {
  std::string_view name;
  double default_value;
};

struct SlotKind {
  std::string_view name;     // as get_slot names it
  std::string_view initial;  // "0", "1", or the hyper-parameter that it begins with
};

struct OptimizerKind {
  std::string_view kind;
  std::string_view name;  // of slot variables
  std::string_view op;    // after "Apply", "ResourceApply", "SparseApply", "ResourceSparseApply"
  // Arguments in order: "var", "grad" (in the sparse form followed by the indices), "m_slot" for
  // the slot m, "beta1_power" for the variable of that name, or a hyper-parameter's name.
  std::vector<std::string_view> arguments;
  std::vector<SlotKind> slots;
  std::vector<HyperParameter> numbers;
  bool has_nesterov = false;
};

const std::vector<OptimizerKind>& OptimizerKinds();

}  // namespace thalweg
