// SPDX-License-Identifier: Apache-2.0
// Asynchronous updates of one variable and its slot from several threads, beside a reader: none
// waits for another without end, with or without use_locking.
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "thalweg/resources/variable.h"
#include "thalweg/testing/kernel_call.h"
#include "thalweg/testing/sanitized.h"
#include "thalweg/testing/test_values.h"

namespace thalweg {
namespace {

constexpr int64_t kElements = 20'000;  // so that one update is under way when the next one begins
constexpr int kUpdates = kSanitized ? 400 : 5000;

Tensor Filled(float value) { return Numbers(std::vector<float>(kElements, value)); }

RefPtr<Variable> VariableOf(const char* name, float value) {
  auto made = std::make_unique<Variable>(name, DType::kFloat, PartialShape{kElements});
  EXPECT_TRUE(made->Assign(Filled(value)).ok());
  return RefPtr<Variable>::Adopt(made.release());
}

Tensor Reference(const RefPtr<Variable>& variable) {
  return Tensor::Reference(RefPtr<Resource>::Share(variable.get()), DType::kFloat);
}

class ApplyThreadsTest : public testing::TestWithParam<bool> {
 protected:
  // What waits without end ends the program.
  void SetUp() override { alarm(kSanitized ? 300 : 60); }
  void TearDown() override { alarm(0); }
};

// An update whose variable was being read works on a copy, and puts it in place while it holds the
// slot; one that came after it holds the variable in place, and asks for the slot.
TEST_P(ApplyThreadsTest, UpdatesDoNotWaitForEachOther) {
  const RefPtr<Variable> var = VariableOf("var", 1), slot = VariableOf("accum", 1);
  std::vector<std::unique_ptr<KernelCall>> calls;
  for (int t = 0; t < 3; ++t) {
    calls.push_back(std::make_unique<KernelCall>(
        "ApplyAdagrad",
        std::vector<Tensor>{Reference(var), Reference(slot), Tensor::Scalar(0.01F), Filled(0.5F)},
        AttrMap{{"use_locking", GetParam()}}));
  }
  std::atomic<size_t> running = calls.size();
  std::vector<std::thread> threads;
  for (const auto& call : calls) {
    threads.emplace_back([&running, &call] {
      for (int i = 0; i < kUpdates; ++i) EXPECT_TRUE(call->Run().ok());
      --running;
    });
  }
  int64_t reads = 0;
  for (; running > 0; ++reads) {
    const Tensor pinned = *var->Read();
    std::this_thread::yield();
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_GT(reads, 0);
  EXPECT_LT(var->Read()->data<float>()[0], 1);
  EXPECT_GT(slot->Read()->data<float>()[0], 1);
  // Their values are of the allocators of the calls.
  for (const auto& variable : {var, slot}) EXPECT_TRUE(variable->Assign(Filled(0)).ok());
}

INSTANTIATE_TEST_SUITE_P(Locking, ApplyThreadsTest, testing::Bool());

}  // namespace
}  // namespace thalweg
