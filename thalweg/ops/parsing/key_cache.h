// SPDX-License-Identifier: Apache-2.0
// KeyCache: the table of the keys that a kernel gets as inputs. They are the same in every step as
// a rule, and then so is the table.
//   const std::shared_ptr<const FeatureKeys> keys =
//       cache.Of(n, [&](size_t i) { return names[i]; });
// Ownership: shares the last table with the calls that use it; KeyVectors points at the inputs.
// Threads: any.
// Errors: none.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "thalweg/base/mutex.h"
#include "thalweg/io/example_wire.h"
#include "thalweg/kernel/context.h"

namespace thalweg {

class KeyCache {
 public:
  // next(i): key i of n.
  template <class Next>
  std::shared_ptr<const FeatureKeys> Of(int n, const Next& next) EXCLUDES(mutex_) {
    std::shared_ptr<const FeatureKeys> keys;
    {
      MutexLock lock(mutex_);
      keys = keys_;
    }
    bool same = keys != nullptr && keys->size() == n;
    for (int i = 0; same && i < n; ++i) same = keys->key(i) == next(i);
    if (same) return keys;
    std::vector<std::string> made;
    for (int i = 0; i < n; ++i) made.push_back(next(i));
    keys = std::make_shared<const FeatureKeys>(std::move(made));
    MutexLock lock(mutex_);
    keys_ = keys;
    return keys;
  }

 private:
  Mutex mutex_;
  std::shared_ptr<const FeatureKeys> keys_ GUARDED_BY(mutex_);
};

// The keys of several inputs that are vectors, one after the other.
class KeyVectors {
 public:
  KeyVectors(Context& ctx, int first, int count) {
    for (int i = 0; i < count; ++i) {
      for (const std::string& key : ctx.input(first + i).flat<std::string>()) keys_.push_back(&key);
    }
  }
  int size() const { return static_cast<int>(keys_.size()); }
  const std::string& operator()(int i) const { return *keys_[static_cast<size_t>(i)]; }

 private:
  std::vector<const std::string*> keys_;
};

}  // namespace thalweg
