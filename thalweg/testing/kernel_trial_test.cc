// SPDX-License-Identifier: Apache-2.0
// Every operation with a CPU kernel, 200 calls with random types, attributes, shapes and
// values: a Status or a result, never a crash. The same calls every time. One operation again, or
// other and more calls: --op=Conv2D --seeds=100:200.
#include "thalweg/testing/kernel_trial.h"

#include <set>

#include "thalweg/testing/registries.h"
#include "thalweg/testing/test_trials.h"
#include "thalweg/testing/writing_operations.h"

namespace thalweg {

using KernelTrialFixture = TrialFixture<KernelTrials>;

template <>
KernelTrials& KernelTrialFixture::trials() {
  static KernelTrials trials(/*memory_limit=*/int64_t{32} << 20);
  return trials;
}

namespace {

class KernelTrialOpsTest : public KernelTrialFixture {};

TEST_F(KernelTrialOpsTest, OnlyOperationsThatWriteAreLeftOut) {
  std::set<std::string> with_kernel, tried(trials().ops().begin(), trials().ops().end());
  KernelRegistry kernels;
  RegisterAllCpuKernels(kernels);
  for (const KernelEntry* entry : kernels.Entries()) {
    if (entry->device_type == kCpu) with_kernel.insert(entry->op);
  }
  for (const std::string_view op : kWritingOperations) {
    EXPECT_EQ(with_kernel.erase(std::string(op)), 1u) << "no such operation: " << op;
  }
  EXPECT_EQ(tried, with_kernel);
}

class KernelTrialTest : public KernelTrialFixture, public testing::WithParamInterface<int> {};

TEST_P(KernelTrialTest, AStatusOrAResultNeverACrash) { TryGroup(GetParam(), 200, 512); }

INSTANTIATE_TEST_SUITE_P(Groups, KernelTrialTest, testing::Range(0, KernelTrialFixture::kGroups));

}  // namespace
}  // namespace thalweg
