// SPDX-License-Identifier: Apache-2.0
// FunctionLibrary: the functions of a graph: each has a signature, so that a node may call it by
// its name as if it were an operation, and its body as it came, a serialized FunctionDef.
//
//   graph.library().Add(signature, bytes);
//   graph.library().FindOp("my_function") != nullptr;
//
// Ownership: entries live as long as the library and never move.
// Threads: any.
// Errors: InvalidArgument for a name that has another definition, or another gradient; null or
// empty for none.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "thalweg/base/status.h"
#include "thalweg/graph/op_registry.h"

namespace thalweg {

struct FunctionBody;

// Where the nodes of a function's body were made, by their names in its definition.
using NodeSites = std::map<std::string, std::string, std::less<>>;

class FunctionLibrary {
 public:
  FunctionLibrary() = default;
  FunctionLibrary(const FunctionLibrary&) = delete;
  FunctionLibrary& operator=(const FunctionLibrary&) = delete;

  // `definition` is a serialized FunctionDef. The same name with the same definition again is fine,
  // with another one InvalidArgument.
  Status Add(OpDef signature, std::string definition);
  // Null when there is no such function.
  const OpEntry* FindOp(std::string_view name) const;
  // Empty when there is no such function.
  std::string_view FindDefinition(std::string_view name) const;
  // The function `gradient` computes the gradient of `function`. Another one than before:
  // InvalidArgument.
  Status SetGradient(std::string_view function, std::string_view gradient);
  // Empty when none was set.
  std::string_view FindGradient(std::string_view function) const;
  // No part of the definition: equal functions may be made at several places, of which the first
  // counts. Nothing where there is no such function.
  void SetSites(std::string_view function, std::shared_ptr<const NodeSites> sites);
  // Null where nobody has said.
  std::shared_ptr<const NodeSites> FindSites(std::string_view function) const;
  // In the order in which they were added.
  std::vector<std::string> Names() const;
  // Functions that have a gradient of their own, sorted.
  std::vector<std::string> NamesWithGradient() const;
  // Further parts of a FunctionDefLibrary, kept as they came: a serialized one.
  void SetExtras(std::string bytes);
  std::string Extras() const;
  // Functions not found here are looked for there; the parent outlives this library.
  void SetParent(const FunctionLibrary* parent) { parent_ = parent; }
  const FunctionLibrary* parent() const { return parent_; }

  // Bodies made of functions of this library (function_body.h). Null when there is none yet.
  std::shared_ptr<const FunctionBody> FindBody(const std::string& key) const;
  void KeepBody(const std::string& key, std::shared_ptr<const FunctionBody> body) const;

 private:
  struct Function {
    OpEntry op;
    std::string definition;
    std::shared_ptr<const NodeSites> sites;
  };
  mutable std::mutex mutex_;
  std::map<std::string, std::unique_ptr<Function>, std::less<>> functions_;
  std::vector<const Function*> order_;
  std::map<std::string, std::string, std::less<>> gradients_;
  std::string extras_;
  const FunctionLibrary* parent_ = nullptr;
  mutable std::map<std::string, std::shared_ptr<const FunctionBody>> bodies_;
};

}  // namespace thalweg
