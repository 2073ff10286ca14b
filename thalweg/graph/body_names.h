// SPDX-License-Identifier: Apache-2.0
// BodyNames: what the names in a function's body mean: "argument", "argument:1", "node:output",
// "node:output:1", and as in a GraphDef "node:1". Private to function_body.cc.
// Ownership: points at the registry, the library and the messages of the body, which outlive it.
// Threads: one at a time.
// Errors: InvalidArgument with the nearest names.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "thalweg/graph/function.h"
#include "thalweg/proto/message.h"

namespace thalweg {

// Values of one argument of a function or a node.
inline constexpr int64_t kMaxArgSize = 1 << 16;

class BodyNames {
 public:
  // Both outlive the object.
  BodyNames(const OpRegistry& registry, const FunctionLibrary& library)
      : registry_(registry), library_(library) {}

  // The values that an input stands for, as a GraphDef names them.
  Result<std::vector<std::string>> Resolve(std::string_view text) const;
  Result<std::string> ResolveControl(std::string_view name) const;

  std::unordered_map<std::string_view, Message*> nodes;
  // By argument of the signature, the nodes that stand for its values.
  std::unordered_map<std::string, std::vector<std::string>> args;

 private:
  Result<const OpDef*> FindOp(std::string_view op) const;
  // How many values an output of a node stands for.
  Result<int64_t> CountOf(const Message& node, const OpDef& def, const ArgDef& arg) const;
  // "output" or "output:1" of `node`, as outputs counted over all of them.
  Result<std::pair<int64_t, int64_t>> OutputsOf(const Message& node, std::string_view output) const;

  const OpRegistry& registry_;
  const FunctionLibrary& library_;
};

}  // namespace thalweg
