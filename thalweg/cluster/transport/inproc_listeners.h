// SPDX-License-Identifier: Apache-2.0
// InprocListeners: channels that tasks of this process offer to each other, by the token of the
// hello that says so. Tasks that share one find each other, as those of an Environment's
// registries.
//
//   listeners.Put(token, std::move(pair.second));
//   std::unique_ptr<Channel> channel = listeners.Take(token);      // the other task
//
// Ownership: keeps a channel until it is taken.
// Threads: every member from any.
// Errors: none; null for a token that is not there.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <utility>

#include "thalweg/base/mutex.h"
#include "thalweg/cluster/transport/channel.h"

namespace thalweg {

class InprocListeners {
 public:
  void Put(uint64_t token, std::unique_ptr<Channel> channel) EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    channels_[token] = std::move(channel);
  }
  // Null when it was taken, or never was.
  std::unique_ptr<Channel> Take(uint64_t token) EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    const auto found = channels_.find(token);
    if (found == channels_.end()) return nullptr;
    std::unique_ptr<Channel> channel = std::move(found->second);
    channels_.erase(found);
    return channel;
  }

 private:
  Mutex mutex_;
  std::map<uint64_t, std::unique_ptr<Channel>> channels_ GUARDED_BY(mutex_);
};

}  // namespace thalweg
