// SPDX-License-Identifier: Apache-2.0
// Eight threads, each a member of many instances in an order of its own: sums have the bits of the
// ranks' order, and whatever is cancelled, nobody waits for ever.
#include <gtest/gtest.h>

#include <random>
#include <thread>

#include "thalweg/resources/collective_instance.h"
#include "thalweg/testing/waiting_call.h"

namespace thalweg {
namespace {

constexpr size_t kMembers = 8;
constexpr size_t kInstances = 200;
constexpr int64_t kElements = 33;

using Instances = std::vector<RefPtr<CollectiveInstance>>;

Instances MakeInstances() {
  Instances instances;
  for (size_t i = 0; i < kInstances; ++i) {
    instances.push_back(RefPtr<CollectiveInstance>::Adopt(
        std::make_unique<CollectiveInstance>(std::to_string(i)).release()));
  }
  return instances;
}

Tensor ValueOf(size_t member, size_t instance) {
  std::mt19937 random(static_cast<uint32_t>(instance * kMembers + member));
  std::uniform_real_distribution<float> any(-1e4f, 1e4f);
  std::vector<float> values;
  for (int64_t i = 0; i < kElements; ++i) values.push_back(any(random));
  return Tensor::Of<float>(values, Shape{kElements});
}

// Joins one instance after the other, in groups of calls that wait at once; `each` gets the call's
// end.
template <class Before, class Each>
void RunMembers(const Instances& instances, Before before, Each each) {
  std::vector<std::thread> threads;
  for (size_t m = 0; m < kMembers; ++m) {
    threads.emplace_back([&, m] {
      std::vector<std::unique_ptr<WaitingCall>> calls;
      for (size_t i = 0; i < kInstances; ++i) {
        calls.push_back(std::make_unique<WaitingCall>(std::vector<Tensor>(1), 0));
      }
      std::vector<size_t> order(kInstances);
      for (size_t i = 0; i < kInstances; ++i) order[i] = i;
      std::shuffle(order.begin(), order.end(), std::mt19937(static_cast<uint32_t>(m)));
      for (const size_t i : order) {
        CollectiveCall call;
        call.keys = {kMembers, 1, static_cast<int64_t>(i)};
        call.dtype = DType::kFloat;
        call.shape = Shape{kElements};
        call.value = ValueOf(m, i);
        call.device = *DeviceName::Parse("/job:a/replica:0/task:0/device:CPU:" + std::to_string(m));
        instances[i]->WaiterQueues::Join(std::make_unique<CollectiveInstance::Member>(
            calls[i]->context(), calls[i]->done(), std::move(call)));
        before(m, i, *calls[i]);
      }
      for (size_t i = 0; i < kInstances; ++i) each(i, calls[i]->Await(), calls[i]->value(0));
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(CollectiveThreadsTest, BitsAreThoseOfTheRanksOrder) {
  RunMembers(
      MakeInstances(), [](size_t, size_t, WaitingCall&) {},
      [](size_t i, const Status& status, const Tensor& result) {
        ASSERT_TRUE(status.ok()) << status.ToString();
        std::vector<float> sum(kElements);
        for (size_t m = 0; m < kMembers; ++m) {
          const Tensor value = ValueOf(m, i);
          for (size_t e = 0; e < kElements; ++e) {
            sum[e] = m == 0 ? value.flat<float>()[e] : sum[e] + value.flat<float>()[e];
          }
        }
        const auto got = result.flat<float>();
        EXPECT_EQ(std::vector<float>(got.begin(), got.end()), sum);
      });
}

TEST(CollectiveThreadsTest, AMemberThatIsCancelledFreesAll) {
  RunMembers(
      MakeInstances(),
      [](size_t m, size_t i, WaitingCall& call) {
        if (m == i % kMembers) call.Cancel();
      },
      [](size_t, const Status& status, const Tensor&) {
        EXPECT_TRUE(status.ok() || status.code() == Code::kCancelled) << status.ToString();
      });
}

}  // namespace
}  // namespace thalweg
