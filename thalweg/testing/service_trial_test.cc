// SPDX-License-Identifier: Apache-2.0
// The fuzzer's first inputs, whole, cut short and with single bytes changed: calls end, in an
// answer or an error. What the fuzzer found stays among them (found_*).
#include "thalweg/testing/service_trial.h"

#include <gtest/gtest.h>

#include <vector>

#include "thalweg/base/philox.h"
#include "thalweg/testing/service_seeds.h"

namespace thalweg {
namespace {

TEST(ServiceTrialTest, RecordedCallsAreAnswered) {
  ServiceTrials trials;
  const auto seeds = ServiceSeeds();
  ASSERT_GE(seeds.size(), 10);
  for (const auto& seed : seeds) {
    const int64_t before = trials.num_answers();
    trials.Try(seed);
    EXPECT_GT(trials.num_answers(), before);
  }
}

TEST(ServiceTrialTest, CutAndChangedCallsEnd) {
  ServiceTrials trials;
  Philox random(1, 2);
  for (const auto& seed : ServiceSeeds()) {
    for (int i = 0; i < 20; ++i) {
      const auto word = random.Next();
      std::vector<uint8_t> changed = seed;
      changed[word[0] % changed.size()] = static_cast<uint8_t>(word[1]);
      if (i % 4 == 0) changed.resize(word[2] % changed.size());
      trials.Try(changed);
    }
  }
}

TEST(ServiceTrialTest, MethodsHaveBytesOfTheirOwn) {
  EXPECT_EQ(ServiceTrials::MethodByte("MasterService/RunStep"), 9);
  EXPECT_EQ(ServiceTrials::MethodByte("WorkerService/RunGraph"), 19);
  EXPECT_EQ(ServiceTrials::MethodByte("WorkerService/Dance"), 20);
}

}  // namespace
}  // namespace thalweg
