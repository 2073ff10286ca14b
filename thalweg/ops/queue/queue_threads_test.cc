// SPDX-License-Identifier: Apache-2.0
// Many threads at one queue: nothing is lost, nothing comes twice, the order is kept, whatever is
// cancelled and whenever it is closed.
#include <atomic>
#include <map>
#include <random>
#include <thread>

#include "thalweg/ops/queue/tensor_queue.h"
#include "thalweg/ops/queue/test_queue_calls.h"
#include "thalweg/testing/waiting_call.h"

namespace thalweg {
namespace {

// What each thread has put in and taken out, in its order. A value is producer << 16 | number.
struct Account {
  std::vector<int32_t> put, taken;
};

class Crowd {
 public:
  Crowd(std::string kind, int64_t capacity) {
    TensorQueue::Spec spec{.kind = std::move(kind),
                           .name = "q",
                           .types = {DType::kInt32},
                           .shapes = {PartialShape(Shape())},
                           .capacity = capacity,
                           .seed = 3};
    queue_ = RefPtr<TensorQueue>::Adopt(std::make_unique<TensorQueue>(std::move(spec)).release());
  }

  // Half of the threads put in, half take out until the queue is closed and empty.
  void Run(int threads, int rounds, bool cancels) {
    accounts_.resize(static_cast<size_t>(threads));
    producers_ = threads / 2;
    std::vector<std::thread> running;
    for (int t = 0; t < threads; ++t) {
      running.emplace_back([this, t, rounds, cancels] {
        std::mt19937 random(static_cast<uint32_t>(t));
        if (t < static_cast<int>(accounts_.size()) / 2) {
          Produce(t, rounds, cancels, random);
        } else {
          Consume(t, cancels, random);
        }
      });
    }
    for (std::thread& thread : running) thread.join();
  }
  const std::vector<Account>& accounts() const { return accounts_; }
  int64_t left() const { return queue_->size(); }

 private:
  void Produce(int t, int rounds, bool cancels, std::mt19937& random) {
    Account& account = accounts_[static_cast<size_t>(t)];
    for (int i = 0; i < rounds; ++i) {
      const int32_t value = t << 16 | i;
      WaitingCall call({Tensor::Scalar(value)}, 1);
      queue_->Join(
          std::make_unique<TensorQueue::Enqueue>(call.context(), call.done(), 0, 1, false));
      if (cancels && random() % 4 == 0) call.Cancel();
      if (call.Await().ok()) account.put.push_back(value);
    }
    if (producers_.fetch_sub(1) != 1) return;
    WaitingCall close({}, 0);
    queue_->Join(std::make_unique<TensorQueue::Close>(close.context(), close.done()));
    EXPECT_TRUE(close.Await().ok());
  }

  void Consume(int t, bool cancels, std::mt19937& random) {
    Account& account = accounts_[static_cast<size_t>(t)];
    for (;;) {
      const int n = static_cast<int>(random() % 5) + 1;
      const bool batch = n > 1;
      WaitingCall call({Tensor()}, 0);
      queue_->Join(std::make_unique<TensorQueue::Dequeue>(call.context(), call.done(), n, batch,
                                                          random() % 2 == 0));
      if (cancels && random() % 4 == 0) call.Cancel();
      const Status status = call.Await();
      if (status.ok()) {
        const std::vector<int32_t> got = Ints(call.value(0));
        account.taken.insert(account.taken.end(), got.begin(), got.end());
      } else if (status.code() == Code::kOutOfRange && n == 1) {
        return;
      }
    }
  }

  RefPtr<TensorQueue> queue_;
  std::vector<Account> accounts_;
  std::atomic<int> producers_{0};
};

void ExpectAllOnce(const Crowd& crowd) {
  std::vector<int32_t> put, taken;
  for (const Account& account : crowd.accounts()) {
    put.insert(put.end(), account.put.begin(), account.put.end());
    taken.insert(taken.end(), account.taken.begin(), account.taken.end());
  }
  std::sort(put.begin(), put.end());
  std::sort(taken.begin(), taken.end());
  EXPECT_EQ(put, taken);
  EXPECT_EQ(crowd.left(), 0);
  EXPECT_FALSE(put.empty());
}

// Each consumer sees the values of each producer in the order in which they were put in.
void ExpectInOrder(const Crowd& crowd) {
  for (const Account& account : crowd.accounts()) {
    std::map<int32_t, int32_t> last;
    for (const int32_t value : account.taken) {
      const auto [found, is_first] = last.try_emplace(value >> 16, value);
      EXPECT_TRUE(is_first || found->second < value);
      found->second = value;
    }
  }
}

TEST(QueueThreadsTest, SixtyFourThreadsLoseNothingAndKeepTheOrder) {
  for (const int64_t capacity : {1, 3, 1000}) {
    Crowd crowd("FIFOQueue", capacity);
    crowd.Run(64, 100, true);
    ExpectAllOnce(crowd);
    ExpectInOrder(crowd);
  }
}

TEST(QueueThreadsTest, AShuffledQueueLosesNothing) {
  Crowd crowd("RandomShuffleQueue", 10);
  crowd.Run(64, 100, true);
  ExpectAllOnce(crowd);
}

TEST(QueueThreadsTest, WithoutCancelsEverythingArrives) {
  Crowd crowd("FIFOQueue", 2);
  crowd.Run(16, 200, false);
  ExpectAllOnce(crowd);
  size_t put = 0;
  for (const Account& account : crowd.accounts()) put += account.put.size();
  EXPECT_EQ(put, 8u * 200u);
}

}  // namespace
}  // namespace thalweg
