// SPDX-License-Identifier: Apache-2.0
// Every operation with a CPU kernel, 200 calls with random types, attributes, shapes and
// values: a Status or a result, never a crash. The same calls every time. One operation again, or
// other and more calls: --op=Conv2D --seeds=100:200.
#include "thalweg/testing/kernel_trial.h"

#include "thalweg/testing/test_trials.h"

namespace thalweg {

using KernelTrialFixture = TrialFixture<KernelTrials>;

template <>
KernelTrials& KernelTrialFixture::trials() {
  static KernelTrials trials(/*memory_limit=*/int64_t{32} << 20);
  return trials;
}

namespace {

class KernelTrialTest : public KernelTrialFixture, public testing::WithParamInterface<int> {};

TEST_P(KernelTrialTest, AStatusOrAResultNeverACrash) {
  const int64_t before = trials().num_results();
  TryGroup(GetParam(), 200, 512);
  EXPECT_TRUE(!Flag("op").empty() || trials().num_results() > before);
}

INSTANTIATE_TEST_SUITE_P(Groups, KernelTrialTest, testing::Range(0, KernelTrialFixture::kGroups));

}  // namespace
}  // namespace thalweg
