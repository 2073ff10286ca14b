// SPDX-License-Identifier: Apache-2.0
// Every operation with a CPU kernel has a valid graph, which runs, and so do its gradients; and 20
// changes of it end in a Status or a result, never a crash. The same changes every time. One
// operation again, or other and more changes: --op=Conv2D --seeds=100:200.
#include "thalweg/testing/case_trial.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <set>

#include "thalweg/testing/case_reasons.h"
#include "thalweg/testing/test_trials.h"

namespace thalweg {

using CaseTrialFixture = TrialFixture<CaseTrials>;

template <>
CaseTrials& CaseTrialFixture::trials() {
  static CaseTrials trials(THALWEG_OP_CASES, /*memory_limit=*/int64_t{64} << 20);
  return trials;
}

namespace {

class CaseTrialTest : public CaseTrialFixture {};

TEST_F(CaseTrialTest, EveryOperationHasAValidCaseOrAReason) {
  const std::map<std::string, std::string> without = ReasonsOf(THALWEG_OP_CASES, "without.txt");
  int valid = 0;
  for (const std::string& op : trials().ops_with_kernel()) {
    const Status status = InTime([&] { return trials().RunValid(op); });
    if (status.ok()) ++valid;
    EXPECT_NE(status.ok(), without.contains(op))
        << op << ": " << (status.ok() ? "has a case and a reason for none" : status.ToString());
  }
  for (const auto& [op, why] : without) {
    EXPECT_TRUE(std::binary_search(trials().ops_with_kernel().begin(),
                                   trials().ops_with_kernel().end(), op))
        << "without.txt: no such operation: " << op;
  }
  std::printf("%d operations with a kernel: %d with a valid case, %zu with a reason\n",
              static_cast<int>(trials().ops_with_kernel().size()), valid, without.size());
}

// Loops that are gradients already, and an operation that is there to refuse.
const std::set<std::string_view> kRefuseGradients = {
    "PreventGradient", "_AddProduct",    "_EmptyLoopStack", "_EndProducts",
    "_PopLoopStack",   "_PushLoopStack", "_StartProducts"};

// kUnimplemented: of an operation that has none, or of a graph without numbers to derive.
TEST_F(CaseTrialTest, GradientsOfValidCasesRun) {
  int with_gradients = 0;
  for (const std::string& op : trials().ops()) {
    const Status status = InTime([&] { return trials().RunGradients(op); });
    if (status.ok()) ++with_gradients;
    if (status.code() == Code::kUnimplemented) continue;
    EXPECT_EQ(status.ok(), !kRefuseGradients.contains(op)) << op << ": " << status.ToString();
  }
  std::printf("%d of %zu with gradients\n", with_gradients, trials().ops().size());
  EXPECT_GT(with_gradients, 400);  // 411 when this was written
}

class CaseTrialGroupTest : public CaseTrialTest, public testing::WithParamInterface<int> {};

TEST_P(CaseTrialGroupTest, AStatusOrAResultNeverACrash) {
  TryGroup(GetParam(), 20, 256);
  std::printf("%lld results, %lld with gradients\n", static_cast<long long>(trials().num_results()),
              static_cast<long long>(trials().num_gradients()));
}

INSTANTIATE_TEST_SUITE_P(Groups, CaseTrialGroupTest, testing::Range(0, CaseTrialFixture::kGroups));

}  // namespace
}  // namespace thalweg
