// SPDX-License-Identifier: Apache-2.0
#include "thalweg/tensor/small_block.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <thread>
#include <vector>

#include "thalweg/base/mutex.h"

namespace thalweg {
namespace {

constexpr size_t kBytes = 128;

// Blocks go one way only, by the hundred, from the threads that make them to those that free them.
class Belt {
 public:
  void Put(std::vector<uint64_t*> blocks) EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    while (full_ && !stopped_) changed_.Wait(mutex_);
    blocks_ = std::move(blocks);
    full_ = true;
    changed_.NotifyAll();
  }
  // Empty: nothing comes any more.
  std::vector<uint64_t*> Take() EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    while (!full_ && !stopped_) changed_.Wait(mutex_);
    if (!full_) return {};
    full_ = false;
    changed_.NotifyAll();
    return std::move(blocks_);
  }
  void Stop() EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    stopped_ = true;
    changed_.NotifyAll();
  }

 private:
  Mutex mutex_;
  CondVar changed_;
  std::vector<uint64_t*> blocks_ GUARDED_BY(mutex_);
  bool full_ GUARDED_BY(mutex_) = false;
  bool stopped_ GUARDED_BY(mutex_) = false;
};

TEST(SmallBlockTest, NoBlockHasTwoOwnersWhenOthersFreeWhatSomeMake) {
  Belt belt;
  const auto make = [&](uint64_t thread) {
    for (uint64_t round = 0; round < 200; ++round) {
      std::vector<uint64_t*> blocks;
      for (uint64_t i = 0; i < 100; ++i) {
        auto* const block = static_cast<uint64_t*>(AllocateSmallBlock(kBytes));
        ASSERT_NE(block, nullptr);
        ASSERT_EQ(reinterpret_cast<uintptr_t>(block) % 64, 0u);
        block[0] = block[kBytes / 8 - 1] = thread << 32 | round << 8 | i;
        blocks.push_back(block);
      }
      belt.Put(std::move(blocks));
    }
  };
  const auto free = [&] {
    while (true) {
      const std::vector<uint64_t*> blocks = belt.Take();
      if (blocks.empty()) return;
      for (size_t i = 0; i < blocks.size(); ++i) {
        EXPECT_EQ(blocks[i][0] & 255, i);
        EXPECT_EQ(blocks[i][0] >> 8, blocks[0][0] >> 8);
        EXPECT_EQ(blocks[i][kBytes / 8 - 1], blocks[i][0]);
      }
      for (uint64_t* const block : blocks) FreeSmallBlock(block, kBytes);
    }
  };
  std::thread makers[] = {std::thread(make, 1), std::thread(make, 2)};
  std::thread freers[] = {std::thread(free), std::thread(free)};
  for (std::thread& maker : makers) maker.join();
  belt.Stop();
  for (std::thread& freer : freers) freer.join();
}

}  // namespace
}  // namespace thalweg
