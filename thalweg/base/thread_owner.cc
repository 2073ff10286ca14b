// SPDX-License-Identifier: Apache-2.0
#include "thalweg/base/thread_owner.h"

#include <pthread.h>

#include <atomic>

namespace thalweg {
namespace {

std::atomic<int64_t> num_forks{0};

}  // namespace

int64_t ThreadOwner::NumForks() {
  static const int registered =
      pthread_atfork(nullptr, nullptr, [] { num_forks.fetch_add(1, std::memory_order_relaxed); });
  static_cast<void>(registered);
  return num_forks.load(std::memory_order_relaxed);
}

}  // namespace thalweg
