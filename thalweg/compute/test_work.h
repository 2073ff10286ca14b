// SPDX-License-Identifier: Apache-2.0
// Help for the tests of compute/: every instruction set level, one and several threads, scratch
// that can be refused.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <random>
#include <thread>
#include <vector>

#include "thalweg/compute/arithmetic.h"
#include "thalweg/compute/work.h"
#include "thalweg/tensor/half.h"

namespace thalweg::compute {

// The levels that this CPU can run.
inline std::vector<IsaLevel> TestLevels() {
  std::vector<IsaLevel> levels;
  for (int i = 0; i <= static_cast<int>(BestIsaLevel()); ++i)
    levels.push_back(static_cast<IsaLevel>(i));
  return levels;
}

// Runs shards backwards on `threads` threads; counts scratch and can refuse it.
class TestWork final : public Work {
 public:
  explicit TestWork(IsaLevel level = BestIsaLevel(), int threads = 1)
      : Work(GetIsaTable(level)), threads_(threads) {}
  ~TestWork() override { EXPECT_EQ(scratch_bytes, 0u) << "scratch was not given back"; }

  void ParallelFor(int64_t shards, ShardFn fn, void* context) override {
    std::atomic<int64_t> next{shards};
    const auto run = [&] {
      for (int64_t shard = --next; shard >= 0; shard = --next) fn(context, shard);
    };
    std::vector<std::thread> others;
    for (int i = 1; i < threads_; ++i) others.emplace_back(run);
    run();
    for (std::thread& other : others) other.join();
  }
  void* AllocateScratch(size_t bytes) override {
    if (refuse_scratch || bytes > (size_t{1} << 40)) return nullptr;
    scratch_bytes += bytes;
    return std::aligned_alloc(64, (bytes + 63) / 64 * 64);
  }
  void FreeScratch(void* pointer, size_t bytes) override {
    scratch_bytes -= bytes;
    std::free(pointer);
  }
  bool cancelled() const override { return cancel; }

  std::atomic<size_t> scratch_bytes{0};
  std::atomic<bool> refuse_scratch{false};
  std::atomic<bool> cancel{false};

 private:
  int threads_;
};

template <class T>
double ToDouble(T value) {
  return static_cast<double>(ValueOf(value));
}
template <class T>
T FromDouble(double value) {
  return ElementOf<T>(value);
}

template <class T>
std::vector<Value<T>> Widened(const std::vector<T>& elements) {
  std::vector<Value<T>> values;
  for (T element : elements) values.push_back(ValueOf(element));
  return values;
}

// n values in [low, high], the same in every run.
template <class T = float>
std::vector<T> RandomValues(int64_t n, double low = -1, double high = 1, uint32_t seed = 1) {
  std::mt19937 engine(seed);
  std::uniform_real_distribution<double> distribution(low, high);
  std::vector<T> values(static_cast<size_t>(n));
  for (T& value : values) value = FromDouble<T>(distribution(engine));
  return values;
}

}  // namespace thalweg::compute
