// SPDX-License-Identifier: Apache-2.0
// Fuzzer of a task's two services: sequences of calls (testing/service_trial.h).
#include "thalweg/testing/service_trial.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static auto* const trials = new thalweg::ServiceTrials();
  trials->Try({data, size});
  return 0;
}
