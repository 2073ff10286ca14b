// SPDX-License-Identifier: Apache-2.0
// How fuzzers of what ForgeBundle makes change their inputs.
#include <algorithm>

#include "thalweg/io/test_forged_bundle.h"

extern "C" size_t LLVMFuzzerMutate(uint8_t* bytes, size_t size, size_t limit);

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* input, size_t size, size_t limit,
                                          unsigned int seed) {
  std::minstd_rand random(seed);
  std::string changed(reinterpret_cast<const char*>(input), size);
  // Mistakes of a reader often want two numbers that fit each other.
  for (int i = seed % 4 == 0 ? 2 : 1; i > 0; --i) {
    changed = thalweg::ChangeForgedBundle(changed, random, LLVMFuzzerMutate);
  }
  size = std::min(changed.size(), limit);
  std::copy_n(changed.data(), size, input);
  return size;
}
