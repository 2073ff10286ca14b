// SPDX-License-Identifier: Apache-2.0
// PlanCache: compiled plans by signature, and by the names a caller used. Full, it forgets the
// least recently used. A node never changes and a name never moves to another node, so nothing here
// grows stale when the graph grows.
// Ownership: shares the plans; who runs one keeps it.
// Threads: all calls from any thread.
// Errors: none; null for a signature that is not there.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "thalweg/base/mutex.h"
#include "thalweg/session/session.h"
#include "thalweg/session/step_compiler.h"

namespace thalweg {

// A signature as text; borrowed.
struct NamedSignature {
  std::span<const Session::NamedTensor> feeds;  // the values do not matter
  std::span<const std::string> fetches;
  std::span<const std::string> targets;
};

class PlanCache {
 public:
  explicit PlanCache(int capacity) : capacity_(static_cast<size_t>(capacity)) {}

  // Null when absent.
  std::shared_ptr<StepPlan> Find(const Signature& signature) EXCLUDES(mutex_);
  std::shared_ptr<StepPlan> Find(const NamedSignature& names) EXCLUDES(mutex_);
  void Insert(std::shared_ptr<StepPlan> plan) EXCLUDES(mutex_);
  void Insert(const NamedSignature& names, std::shared_ptr<StepPlan> plan) EXCLUDES(mutex_);
  void Clear() EXCLUDES(mutex_);

 private:
  struct Names {
    std::vector<std::string> feeds, fetches, targets;
  };
  struct Entry {
    std::shared_ptr<StepPlan> plan;
    uint64_t last_used = 0;
    Names names;  // empty in by_signature_
  };
  using Entries = std::unordered_multimap<size_t, Entry>;

  void Add(Entries& entries, size_t hash, Entry entry) REQUIRES(mutex_);

  const size_t capacity_;
  Mutex mutex_;
  uint64_t tick_ GUARDED_BY(mutex_) = 0;
  Entries by_signature_ GUARDED_BY(mutex_);
  Entries by_names_ GUARDED_BY(mutex_);
};

}  // namespace thalweg
