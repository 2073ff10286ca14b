// SPDX-License-Identifier: Apache-2.0
// Fuzzer of ReadWav16.
#include <vector>

#include "thalweg/base/check.h"
#include "thalweg/compute/codec/wav.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace thalweg;
  using namespace thalweg::compute;
  const auto sound = ReadWav16({reinterpret_cast<const char*>(data), size});
  if (!sound.ok()) {
    CHECK(!sound.status().message().empty());
    return 0;
  }
  CHECK(static_cast<size_t>(sound->frames * sound->channels) * 2 <= size);
  // One frame and one channel more than there are.
  std::vector<float> samples(static_cast<size_t>((sound->frames + 1) * (sound->channels + 1)));
  WavSamples(*sound, sound->frames + 1, sound->channels + 1, samples.data());
  for (const float x : samples) CHECK(x >= -1 && x < 1);
  return 0;
}
