// SPDX-License-Identifier: Apache-2.0
// How two checkpoints, of either format, differ: tensors that one lacks, other types and shapes,
// other values.
//
//   ASSIGN_OR_RETURN(CheckpointDifference difference,
//                    CompareCheckpoints(fs, "/models/model-7", "/models/model-8", {.rtol = 1e-6}));
//   if (!difference.same()) Use(DifferenceJson(difference));
//
// NaN equals NaN, and zeros of either sign are equal. Integers are compared exactly, whatever the
// tolerances. Memory: two tensors at a time.
// Ownership: the difference is the caller's and holds no tensors.
// Threads: any.
// Errors: those of CheckpointReader, with the path; Unimplemented for values that cannot be
// compared.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "thalweg/base/file_system.h"
#include "thalweg/base/status.h"
#include "thalweg/files/progress.h"
#include "thalweg/io/checkpoint_reader.h"

namespace thalweg {

struct CompareOptions {
  // Floating-point elements a and b are taken for equal where |a - b| <= atol + rtol * |b|.
  double atol = 0;
  double rtol = 0;
  ProgressFn progress;
};

struct ValueDifference {
  CheckpointReader::Entry tensor;
  uint64_t differing = 0;         // elements
  std::optional<double> max_abs;  // |a - b|, of real and complex numbers; infinite where only one
                                  // is a number
  std::optional<double> max_rel;  // |a - b| / max(|a|, |b|)
  std::vector<int64_t> first;     // indices of the first element that differs
  std::string first_a, first_b;   // what it is, as JSON
};

struct CheckpointDifference {
  bool same() const { return only_a.empty() && only_b.empty() && kinds.empty() && values.empty(); }
  std::vector<CheckpointReader::Entry> only_a, only_b;
  std::vector<std::pair<CheckpointReader::Entry, CheckpointReader::Entry>> kinds;
  std::vector<ValueDifference> values;
  uint64_t equal = 0;  // tensors
};

Result<CheckpointDifference> CompareCheckpoints(FileSystem& fs, const std::string& a,
                                                const std::string& b,
                                                const CompareOptions& options = {});
std::string DifferenceJson(const CheckpointDifference& difference);

// Both have one type and shape; nothing where they are equal. Variants are compared by what a
// checkpoint has of them.
Result<std::optional<ValueDifference>> CompareTensors(const Tensor& a, const Tensor& b,
                                                      const CompareOptions& options);

}  // namespace thalweg
