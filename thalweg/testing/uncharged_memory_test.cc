// SPDX-License-Identifier: Apache-2.0
// What a kernel takes from malloc while it runs is charged to the memory limit: each operation's
// case with more data, every call under a meter. A new one is measured as soon as it has a
// case; those that are known to take more are in tests/op_cases/uncharged.txt, and must. One
// operation again: --op=UnicodeTranscode.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>
#include <vector>

#include "thalweg/tensor/heap_charge.h"
#include "thalweg/testing/case_reasons.h"
#include "thalweg/testing/case_scaling.h"
#include "thalweg/testing/case_trial.h"
#include "thalweg/testing/heap_meter.h"
#include "thalweg/testing/metered_kernels.h"
#include "thalweg/testing/registries.h"
#include "thalweg/testing/test_trials.h"

namespace thalweg {

using UnchargedMemoryFixture = TrialFixture<CaseTrials>;

namespace {

constexpr int64_t kData = int64_t{1} << 18;
// What a call may leave uncharged: a quarter of the data.
constexpr int64_t kMayBeUncharged = kData / 4;
constexpr int64_t kLimit = int64_t{256} << 20;
constexpr std::chrono::seconds kShort(1), kLong(30);
// The reason of those that their own case does not show, or not every time.
constexpr std::string_view kSometimes = "not in every run";
// It walks through thousands for each of many indices, and takes no memory for that.
constexpr std::string_view kSlow = "RandomIndexShuffle";

const KernelRegistry& Originals() {
  static KernelRegistry registry;
  static const bool filled = (RegisterAllCpuKernels(registry), true);
  static_cast<void>(filled);
  return registry;
}

std::shared_ptr<KernelRegistry> Metered() {
  auto metered = std::make_shared<KernelRegistry>();
  MeteredKernels::Wrap(Originals(), *metered);
  return metered;
}

}  // namespace

template <>
CaseTrials& UnchargedMemoryFixture::trials() {
  static CaseTrials trials(THALWEG_OP_CASES, Metered(), MakeMeteredDevices, kLimit);
  return trials;
}

namespace {

class UnchargedMemoryTest : public UnchargedMemoryFixture {
 protected:
  // What became of a case: a way of it ran to its end; a step was given up before that.
  struct Tried {
    bool ran = false;
    bool late = false;
  };
  // Runs the case with more data in every way. A step may wait for what never comes.
  static Tried Try(CaseTrials& trials, const std::string& op, std::chrono::seconds patience) {
    Tried tried;
    for (OwnedMessage& scaled : ScaledCases(trials.CaseOf(op), kData)) {
      MeteredKernels::Forget();
      const Status status = trials.RunGraph(std::move(scaled), patience);
      tried.ran |= status.ok();
      tried.late |= status.code() == Code::kDeadlineExceeded;
      for (const auto& [called, excess] : MeteredKernels::Excess()) {
        if (excess.bytes <= kMayBeUncharged) continue;
        HeapExcess& most = found_[called];
        if (excess.bytes > most.bytes) most = excess;
      }
    }
    return tried;
  }
  static inline std::map<std::string, HeapExcess> found_;
};

class UnchargedMemoryGroupTest : public UnchargedMemoryTest,
                                 public testing::WithParamInterface<int> {};

TEST_P(UnchargedMemoryGroupTest, IsAQuarterOfTheDataAtMost) {
  const std::map<std::string, std::string> known = ReasonsOf(THALWEG_OP_CASES, "uncharged.txt");
  const std::string only = Flag("op");
  const std::vector<std::string>& ops = trials().ops();
  int tried = 0, ran = 0;
  found_.clear();
  for (size_t i = static_cast<size_t>(GetParam()); i < ops.size(); i += kGroups) {
    const std::string& op = ops[i];
    if ((!only.empty() && only != op) || op == kSlow) continue;
    ++tried;
    const Tried first = Try(trials(), op, kShort);
    if (first.ran || first.late) ++ran;
    const auto found = known.find(op);
    const bool is_known = found != known.end() && found->second != kSometimes;
    if (is_known && first.late && !found_.contains(op)) Try(trials(), op, kLong);
    if (is_known && !found_.contains(op)) {
      ADD_FAILURE() << op << " charges what it takes: it is uncharged.txt's no longer";
    }
  }
  for (const auto& [op, excess] : found_) {
    if (known.contains(op)) continue;
    ADD_FAILURE() << op << " takes " << excess.bytes << " bytes that it does not charge, where its "
                  << "inputs have " << excess.of_inputs;
  }
  if (only.empty()) {
    EXPECT_GE(ran, tried / 2) << "too few cases run with more data";
  }
}

INSTANTIATE_TEST_SUITE_P(Groups, UnchargedMemoryGroupTest,
                         testing::Range(0, UnchargedMemoryFixture::kGroups));

// Keeps a copy of its input beside its output, and charges it or not.
template <bool kCharges>
Status Copies(Context& ctx) {
  const Tensor& x = ctx.input(0);
  HeapCharge charge;
  if (kCharges) RETURN_IF_ERROR(charge.Set(ctx.allocator(), x.bytes()));
  const auto* const bytes = static_cast<const uint8_t*>(x.raw_data());
  const std::vector<uint8_t> copy(bytes, bytes + x.bytes());
  ASSIGN_OR_RETURN(Tensor* const y, ctx.AllocateOutput(0, x.dtype(), x.shape()));
  std::copy(copy.begin(), copy.end(), static_cast<uint8_t*>(y->mutable_raw_data()));
  return OkStatus();
}

TEST_F(UnchargedMemoryTest, FindsAKernelThatDoesNotCharge) {
  for (const bool charges : {false, true}) {
    KernelRegistry planted;
    for (const KernelEntry* entry : Originals().Entries()) {
      if (entry->op != "Abs") static_cast<void>(planted.AddUserKernel(*entry));
    }
    if (charges) {
      planted.AddFunction<Copies<true>>("Abs", kCpu);
    } else {
      planted.AddFunction<Copies<false>>("Abs", kCpu);
    }
    auto metered = std::make_shared<KernelRegistry>();
    MeteredKernels::Wrap(planted, *metered);
    CaseTrials trials(THALWEG_OP_CASES, metered, MakeMeteredDevices, kLimit);
    found_.clear();
    EXPECT_TRUE(Try(trials, "Abs", kLong).ran);
    EXPECT_EQ(found_.contains("Abs"), !charges);
  }
  KernelRegistry again;
  MeteredKernels::Wrap(Originals(), again);
}

}  // namespace
}  // namespace thalweg
