// SPDX-License-Identifier: Apache-2.0
// Sound as spectra of windows that move along, each faded in and out (Hann's window).
// Ownership: operands are the caller's; nothing is kept.
// Threads: any, each with its own Work.
// Errors: those of work.h.
#pragma once

#include <bit>
#include <cstdint>

#include "thalweg/compute/work.h"

namespace thalweg::compute {

struct SpectrogramShape {
  int64_t samples = 0, channels = 0;
  int64_t window = 2, stride = 1;  // window > 1, stride > 0
  bool squared = false;

  int64_t frames() const { return samples < window ? 0 : 1 + (samples - window) / stride; }
  // Windows are filled up with zeros to a power of two.
  int64_t length() const {
    return static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(window)));
  }
  int64_t bins() const { return 1 + length() / 2; }
};

// `sound`: samples x channels; `out`: channels x frames x bins. Computed in double.
Status Spectrogram(Work& work, const SpectrogramShape& shape, const float* sound, float* out);

}  // namespace thalweg::compute
