// SPDX-License-Identifier: Apache-2.0
// Kernels whose one call may take long or much: they stop when their step is cancelled, and what
// they need beyond their inputs comes from the Work, which may refuse it.
#include <gtest/gtest.h>

#include <complex>
#include <cstdlib>
#include <limits>
#include <vector>

#include "thalweg/compute/ctc/ctc.h"
#include "thalweg/compute/image/distorted_box.h"
#include "thalweg/compute/image/suppress.h"
#include "thalweg/compute/signal/fft.h"
#include "thalweg/compute/test_work.h"

namespace thalweg::compute {
namespace {

class CtcWorkTest : public ::testing::Test {
 protected:
  static constexpr int64_t kSteps = 40, kClasses = 5;

  Status Loss(Work& work) {
    std::vector<float> gradient(logits_.size());
    return CtcLoss(work, Logits(), {0, 1, 2, 3, 1}, true, gradient.data()).status();
  }
  Status Search(Work& work) { return CtcBeamSearch(work, Logits(), 30, 1, false).status(); }

 private:
  CtcLogits<float> Logits() const { return {logits_.data(), kSteps, kClasses, kClasses}; }
  const std::vector<float> logits_ = RandomValues(kSteps * kClasses);
};

TEST_F(CtcWorkTest, StopsWhenItIsCancelled) {
  TestWork work;
  EXPECT_TRUE(Loss(work).ok());
  EXPECT_TRUE(Search(work).ok());
  work.cancel = true;
  EXPECT_EQ(Loss(work).code(), Code::kCancelled);
  EXPECT_EQ(Search(work).code(), Code::kCancelled);
}

TEST_F(CtcWorkTest, AsksForWhatItNeeds) {
  TestWork work;
  work.refuse_scratch = true;
  EXPECT_EQ(Loss(work).code(), Code::kResourceExhausted);
  EXPECT_EQ(Search(work).code(), Code::kResourceExhausted);
}

TEST(SuppressWorkTest, StopsWhenItIsCancelled) {
  const std::vector<float> scores = RandomValues(50, 0.1, 1);
  const SuppressRule rule{.most = 50, .overlap = 0.5f};
  const auto apart = [](int64_t, int64_t) { return 0.0f; };
  TestWork work;
  const auto all = Suppress(work, 50, scores.data(), rule, apart);
  ASSERT_TRUE(all.ok());
  EXPECT_EQ(all->size(), 50u);
  work.cancel = true;
  EXPECT_EQ(Suppress(work, 50, scores.data(), rule, apart).status().code(), Code::kCancelled);
}

// A work that is cancelled while the kernel runs.
class CancelledLater final : public Work {
 public:
  explicit CancelledLater(int64_t last) : Work(GetIsaTable(BestIsaLevel())), last_(last) {}
  void ParallelFor(int64_t shards, ShardFn fn, void* context) override {
    for (int64_t shard = 0; shard < shards; ++shard) fn(context, shard);
  }
  void* AllocateScratch(size_t bytes) override { return std::malloc(bytes); }
  void FreeScratch(void* pointer, size_t) override { std::free(pointer); }
  bool cancelled() const override { return ++asked_ >= last_; }
  int64_t asked() const { return asked_; }

 private:
  const int64_t last_;
  mutable int64_t asked_ = 0;
};

void ExpectFftStops(const std::vector<int64_t>& length) {
  int64_t n = 1;
  for (const int64_t size : length) n *= size;
  const FftProblem problem{.input = length, .length = length};
  const std::vector<std::complex<float>> in(static_cast<size_t>(n));
  std::vector<std::complex<float>> out(in.size());
  CancelledLater patient(std::numeric_limits<int64_t>::max());
  ASSERT_TRUE(Fft(patient, problem, in.data(), out.data()).ok());
  EXPECT_GE(patient.asked(), 8);
  const int64_t half = patient.asked() / 2;
  CancelledLater work(half);
  EXPECT_EQ(Fft(work, problem, in.data(), out.data()).code(), Code::kCancelled);
  EXPECT_LE(work.asked(), half + 4);
}

TEST(FftWorkTest, StopsWithinATransform) {
  ExpectFftStops({int64_t{1} << 18});
  ExpectFftStops({(int64_t{1} << 17) - 1});  // a prime
  ExpectFftStops({64, 64, 64});
}

TEST(DistortedBoxWorkTest, StopsBetweenAttempts) {
  const std::vector<PixelBox> objects = {{0, 0, 1, 1}};
  const BoxWish wish{.least_covered = 2, .attempts = 1'000'000'000};  // never
  CancelledLater work(10);
  EXPECT_EQ(DrawBox(work, Philox(1, 2), wish, 100, 100, objects).status().code(), Code::kCancelled);
  EXPECT_EQ(work.asked(), 10);
}

}  // namespace
}  // namespace thalweg::compute
