// SPDX-License-Identifier: Apache-2.0
// Fuzzer of kernels and shape functions: the first two bytes pick an operation, the rest its types,
// attributes and inputs (testing/trial_values.h).
#include <cstdio>
#include <span>

#include "thalweg/base/check.h"
#include "thalweg/testing/kernel_trial.h"

extern "C" void __sanitizer_set_death_callback(void (*callback)());

namespace {

thalweg::KernelTrials& Trials() {
  static auto* trials = new thalweg::KernelTrials(int64_t{256} << 20);
  return *trials;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace thalweg;
  if (size < 2) return 0;
  const size_t op = (size_t{data[0]} | size_t{data[1]} << 8) % Trials().ops().size();
  const std::string wrong = Trials().Try(Trials().ops()[op], {data + 2, size - 2});
  if (!wrong.empty())
    std::fprintf(stderr, "%s\n%s\n", Trials().last_trial().c_str(), wrong.c_str());
  CHECK(wrong.empty());
  return 0;
}
