// SPDX-License-Identifier: Apache-2.0
// KernelTrials: one operation with a CPU kernel, called with whatever the bytes of a fuzzer say:
// types of one of its kernels, attributes, inputs. The node goes through the graph's checks and
// shape functions, the kernel through the registry; any Status is fine.
//
//   KernelTrials trials(int64_t{256} << 20);
//   EXPECT_EQ(trials.Try("Conv2D", bytes), "");  // what is wrong with a result that is no error
//
// A crash, a sanitizer's report, a trial that does not end: the reader's business; last_trial()
// says what was tried. Operations that write files, talk to the standard streams, or are no kernels
// of their own (control flow) are left out.
// Ownership: owns its kernels; a trial's graph and tensors go with it.
// Threads: one.
// Errors: Try tells in words what is wrong; any Status of a kernel is fine.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "thalweg/graph/graph.h"
#include "thalweg/kernel/kernel_registry.h"
#include "thalweg/testing/trial_values.h"

namespace thalweg {

class KernelTrials {
 public:
  // `memory_limit`: of the tensors of one trial, in bytes.
  explicit KernelTrials(int64_t memory_limit);

  // Sorted.
  const std::vector<std::string>& ops() const { return ops_; }
  std::string Try(std::string_view op, std::span<const uint8_t> bytes);
  // Operation, attributes and inputs; written before the kernel is made.
  const std::string& last_trial() const { return last_trial_; }
  // How many trials got as far as a result.
  int64_t num_results() const { return num_results_; }

 private:
  struct Inputs {
    std::vector<Output> sources;
    std::vector<Tensor> values;
  };
  AttrMap ChooseAttrs(const OpDef& def, const KernelEntry& entry, Choices& choices) const;
  Tensor ChooseInput(const ArgDef& arg, DType dtype, const AttrMap& attrs, const Shape& base,
                     Choices& choices) const;
  Status AddInputs(const OpDef& def, const AttrMap& attrs, Graph& graph, Choices& choices,
                   Inputs* inputs) const;
  std::string Run(const Node& node, std::vector<Tensor> given, bool take);

  const int64_t memory_limit_;
  std::shared_ptr<const OpRegistry> registry_;
  KernelRegistry kernels_;
  std::vector<std::string> ops_;
  std::multimap<std::string, const KernelEntry*, std::less<>> entries_;
  std::string last_trial_;
  int64_t num_results_ = 0;
};

}  // namespace thalweg
