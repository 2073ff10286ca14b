// SPDX-License-Identifier: Apache-2.0
// MappedWeights: says that restores of a session map large tensors of checkpoints instead of
// reading them, and keeps the files that are mapped. A session has one or none.
//
//   RETURN_IF_ERROR(resources.Create<MappedWeights>("", MappedWeights::kName, std::move(weights)));
//   const RefPtr<MappedWeights> mapped = MappedWeights::Find(resources);   // null: read
//
// Ownership: shares the files with the session, which checks them after each step.
// Threads: any.
// Errors: none.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "thalweg/base/mapped_file.h"
#include "thalweg/kernel/resource_manager.h"

namespace thalweg {

class MappedWeights : public Resource {
 public:
  // No operation makes resources of this type, so none has its name.
  static constexpr std::string_view kName = "weights";

  explicit MappedWeights(std::shared_ptr<MappedFiles> files) : files_(std::move(files)) {}
  MappedFiles& files() { return *files_; }
  std::string DebugString() const override { return "mapped weights"; }

  static RefPtr<MappedWeights> Find(const ResourceManager& resources) {
    Result<RefPtr<MappedWeights>> found = resources.Lookup<MappedWeights>("", kName);
    return found.ok() ? *std::move(found) : RefPtr<MappedWeights>();
  }

 private:
  const std::shared_ptr<MappedFiles> files_;
};

}  // namespace thalweg
