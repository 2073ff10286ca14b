// SPDX-License-Identifier: Apache-2.0
#include "thalweg/session/plan_cache.h"

#include <algorithm>

#include "thalweg/passes/graph_copier.h"

namespace thalweg {
namespace {

void Mix(size_t& hash, size_t value) { hash = (hash ^ value) * 0x9e3779b97f4a7c15u; }

size_t Hash(const Signature& signature) {
  size_t hash = signature.feeds.size();
  for (const Output& feed : signature.feeds) Mix(hash, OutputHash()(feed));
  Mix(hash, signature.fetches.size());
  for (const Output& fetch : signature.fetches) Mix(hash, OutputHash()(fetch));
  for (const Node* target : signature.targets) Mix(hash, reinterpret_cast<size_t>(target) / 16);
  return hash;
}

size_t Hash(const NamedSignature& names) {
  const std::hash<std::string> text;
  size_t hash = names.feeds.size();
  for (const auto& [name, value] : names.feeds) Mix(hash, text(name));
  Mix(hash, names.fetches.size());
  for (const std::string& fetch : names.fetches) Mix(hash, text(fetch));
  for (const std::string& target : names.targets) Mix(hash, text(target));
  return hash;
}

bool Equal(const Signature& a, const Signature& b) {
  return a.feeds == b.feeds && a.fetches == b.fetches && a.targets == b.targets;
}

}  // namespace

std::shared_ptr<StepPlan> PlanCache::Find(const Signature& signature) {
  const size_t hash = Hash(signature);
  MutexLock lock(mutex_);
  const auto [begin, end] = by_signature_.equal_range(hash);
  for (auto it = begin; it != end; ++it) {
    if (!Equal(it->second.plan->signature, signature)) continue;
    it->second.last_used = ++tick_;
    return it->second.plan;
  }
  return nullptr;
}

std::shared_ptr<StepPlan> PlanCache::Find(const NamedSignature& names) {
  const size_t hash = Hash(names);
  MutexLock lock(mutex_);
  const auto [begin, end] = by_names_.equal_range(hash);
  for (auto it = begin; it != end; ++it) {
    const Names& known = it->second.names;
    const bool equal =
        std::equal(
            names.feeds.begin(), names.feeds.end(), known.feeds.begin(), known.feeds.end(),
            [](const Session::NamedTensor& a, const std::string& b) { return a.first == b; }) &&
        std::equal(names.fetches.begin(), names.fetches.end(), known.fetches.begin(),
                   known.fetches.end()) &&
        std::equal(names.targets.begin(), names.targets.end(), known.targets.begin(),
                   known.targets.end());
    if (!equal) continue;
    it->second.last_used = ++tick_;
    return it->second.plan;
  }
  return nullptr;
}

void PlanCache::Add(Entries& entries, size_t hash, Entry entry) {
  if (entries.size() >= capacity_) {
    entries.erase(std::min_element(
        entries.begin(), entries.end(),
        [](const auto& a, const auto& b) { return a.second.last_used < b.second.last_used; }));
  }
  entry.last_used = ++tick_;
  entries.emplace(hash, std::move(entry));
}

void PlanCache::Insert(std::shared_ptr<StepPlan> plan) {
  const size_t hash = Hash(plan->signature);
  MutexLock lock(mutex_);
  Add(by_signature_, hash, {.plan = std::move(plan)});
}

void PlanCache::Insert(const NamedSignature& names, std::shared_ptr<StepPlan> plan) {
  const size_t hash = Hash(names);
  Entry entry{.plan = std::move(plan)};
  for (const auto& [name, value] : names.feeds) entry.names.feeds.push_back(name);
  entry.names.fetches.assign(names.fetches.begin(), names.fetches.end());
  entry.names.targets.assign(names.targets.begin(), names.targets.end());
  MutexLock lock(mutex_);
  Add(by_names_, hash, std::move(entry));
}

void PlanCache::Clear() {
  Entries dropped_signatures;
  Entries dropped_names;  // destroyed without the lock: plans may own much
  MutexLock lock(mutex_);
  by_signature_.swap(dropped_signatures);
  by_names_.swap(dropped_names);
}

}  // namespace thalweg
