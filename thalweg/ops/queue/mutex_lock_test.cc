// SPDX-License-Identifier: Apache-2.0
#include "thalweg/ops/queue/test_queue_calls.h"
#include "thalweg/tensor/variant.h"

namespace thalweg {
namespace {

TEST(MutexLockTest, OneAtATimeInTheirOrder) {
  const QueueCalls mutex("MutexV2", {});
  auto first = mutex.Start("MutexLock", {}, {});
  ASSERT_TRUE(first->status().ok());
  const auto second = mutex.Start("MutexLock", {}, {}), third = mutex.Start("MutexLock", {}, {});
  EXPECT_FALSE(second->ended());
  Tensor copy = first->output(0);
  first.reset();
  EXPECT_FALSE(second->ended()) << "held as long as there is a copy";
  copy = Tensor();
  EXPECT_TRUE(second->ended());
  EXPECT_FALSE(third->ended());
}

TEST(MutexLockTest, ACancelledStepDoesNotGetTheLock) {
  const QueueCalls mutex("MutexV2", {});
  auto first = mutex.Start("MutexLock", {}, {});
  const auto second = mutex.Start("MutexLock", {}, {}), third = mutex.Start("MutexLock", {}, {});
  second->cancellation().Cancel();
  EXPECT_EQ(second->status().code(), Code::kCancelled);
  first.reset();
  EXPECT_TRUE(third->ended() && third->status().ok());
}

TEST(MutexLockTest, OnlyALockIsConsumed) {
  const QueueCalls mutex("MutexV2", {});
  const auto lock = mutex.Start("MutexLock", {}, {});
  KernelCall good("ConsumeMutexLock", {lock->output(0)});
  EXPECT_TRUE(good.Run().ok());
  KernelCall bad("ConsumeMutexLock", {Tensor::Scalar(Variant())});
  EXPECT_EQ(bad.Run().code(), Code::kInvalidArgument);
}

}  // namespace
}  // namespace thalweg
