// SPDX-License-Identifier: Apache-2.0
// Sound as a WAV file of 16 bits, and back.
//
//   ASSIGN_OR_RETURN(const WavSound sound, ReadWav16(file));
//   WavSamples(sound, sound.frames, sound.channels, out);     // frames x channels floats
//
// Ownership: `samples` points into the file; a file that is encoded is the caller's.
// Threads: any; no state.
// Errors: InvalidArgument with what was expected, what was found and where; what a header claims is
// compared with the bytes that are there before anybody takes memory for it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "thalweg/base/status.h"

namespace thalweg::compute {

struct WavSound {
  int64_t channels = 0, frames = 0;
  uint32_t rate = 0;
  std::string_view samples;  // in the file, little-endian
};
Result<WavSound> ReadWav16(std::string_view file);
// From -1 to 1. Frames beyond the sound are silent.
void WavSamples(const WavSound& sound, int64_t frames, int64_t channels, float* out);

// `samples`: frames x channels; 1 is the loudest, beyond it is cut. InvalidArgument for no channels
// or more than 65535, a rate that is not positive, and more than 2 GiB.
Result<std::string> EncodeWav16(std::span<const float> samples, int64_t channels, double rate);

}  // namespace thalweg::compute
