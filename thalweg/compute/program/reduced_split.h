// SPDX-License-Identifier: Apache-2.0
// How a ReducedProgram is cut. Private to compute/ew.
// Ownership: the ReducedProgram owns it.
// Threads: one makes it; then reading from any.
// Errors: none.
#pragma once

#include "thalweg/compute/program/reduced_program.h"

namespace thalweg::compute {

struct ReducedProgram::Step {
  std::unique_ptr<EwProgram> program;  // null: a reduction
  std::vector<int> instructions;       // those of the program, or the reduction
  std::vector<int> inputs, outputs;    // values
};

struct ReducedProgram::Split {
  std::vector<bool> rows;  // what it was made for
  std::vector<Step> steps;
};

}  // namespace thalweg::compute
