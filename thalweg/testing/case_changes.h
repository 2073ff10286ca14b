// SPDX-License-Identifier: Apache-2.0
// CaseChanges: what the bytes of a fuzzer make of a graph that is valid: other numbers, shapes and
// types of what goes in, other attributes, edges from elsewhere, a longer or shorter list. One
// change leaves most of the graph as it was, so that a kernel gets as far as where the change
// matters.
//
//   CaseChanges changes(registry, kernels);
//   changes.Apply(choices, "Conv2D", *graph_def);  // without bytes nothing is changed
//
// Ownership: keeps the registries.
// Threads: any, on distinct messages.
// Errors: none; a message that cannot be changed so stays as it is.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "thalweg/graph/op_registry.h"
#include "thalweg/kernel/kernel_registry.h"
#include "thalweg/proto/message.h"
#include "thalweg/testing/trial_values.h"

namespace thalweg {

class CaseChanges {
 public:
  CaseChanges(std::shared_ptr<const OpRegistry> ops, std::shared_ptr<const KernelRegistry> kernels);

  // Changes what `op` does, or is given, more often than the rest. What the message says is then
  // anything but malformed.
  void Apply(Choices& choices, std::string_view op, Message& graph_def) const;

 private:
  void ChangeOnce(Choices& choices, std::string_view op, Message& graph_def) const;
  void ChangeAttr(Choices& choices, Message& node) const;
  void ChangeType(Choices& choices, Message& node, Message& graph_def) const;
  void ChangeListLength(Choices& choices, Message& node) const;

  const std::shared_ptr<const OpRegistry> ops_;
  const std::shared_ptr<const KernelRegistry> kernels_;
  std::multimap<std::string, const KernelEntry*, std::less<>> entries_;
};

}  // namespace thalweg
