// SPDX-License-Identifier: Apache-2.0
// Fuzzer of kernels and shape functions: the first two bytes pick an operation, by a hash of its
// name, so that an input means the same when there are more operations; the rest says its types,
// attributes and inputs (testing/kernel_trial.h), or, where the last byte is odd, what becomes of
// the operation's valid case (testing/case_trial.h).
#include <cstdio>
#include <filesystem>
#include <map>
#include <span>

#include "thalweg/base/check.h"
#include "thalweg/base/crc32c.h"
#include "thalweg/testing/case_trial.h"
#include "thalweg/testing/kernel_trial.h"

extern "C" void __sanitizer_set_death_callback(void (*callback)());

namespace {

thalweg::KernelTrials& Trials() {
  static auto* trials = new thalweg::KernelTrials(int64_t{256} << 20);
  return *trials;
}

thalweg::CaseTrials& Cases() {
  static auto* cases = new thalweg::CaseTrials(THALWEG_OP_CASES, int64_t{256} << 20);
  return *cases;
}

// By the hash; where two names have the same, the second one is the next.
std::map<uint32_t, std::string> OpsByHash() {
  std::map<uint32_t, std::string> ops;
  for (const std::string& op : Trials().ops()) {
    uint32_t hash = thalweg::Crc32c(op) & 0xffff;
    while (!ops.emplace(hash, op).second) ++hash;
  }
  return ops;
}

// An input is a file: it is one that is tried again.
bool tries_again = false;

bool tries_case = false;  // and not a call of one kernel

void SayWhatWasTried() {
  const std::string text = tries_case ? Cases().last_trial() : Trials().last_trial();
  std::fprintf(stderr, "%s\n", text.c_str());
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv) {
  for (int i = 1; i < *argc; ++i) tries_again |= std::filesystem::is_regular_file((*argv)[i]);
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace thalweg;
  static const std::map<uint32_t, std::string> ops = OpsByHash();
  // The callback is libFuzzer's own, which keeps the input, as long as inputs are new.
  if (tries_again) __sanitizer_set_death_callback(SayWhatWasTried);
  if (size < 2) return 0;
  auto op = ops.lower_bound(uint32_t{data[0]} | uint32_t{data[1]} << 8);
  if (op == ops.end()) op = ops.begin();
  const std::span<const uint8_t> rest(data + 2, size - 2);
  tries_case = data[size - 1] % 2 == 1 && Cases().MayTryAnywhere(op->second);
  const std::string wrong =
      tries_case ? Cases().Try(op->second, rest) : Trials().Try(op->second, rest);
  if (!wrong.empty()) {
    SayWhatWasTried();
    std::fprintf(stderr, "%s\n", wrong.c_str());
  }
  CHECK(wrong.empty());
  return 0;
}
