// SPDX-License-Identifier: Apache-2.0
// Mel-frequency cepstral coefficients: the energy of a spectrum in bands as wide as the ear hears
// them, as logarithms, and of these a cosine transform.
// Ownership: owns its tables; spectra and coefficients are the caller's.
// Threads: Run from any, each with its own Work.
// Errors: Make: InvalidArgument for options that give no bands; Run: those of work.h.
#pragma once

#include <cstdint>
#include <vector>

#include "thalweg/compute/work.h"

namespace thalweg::compute {

// More than anybody hears.
inline constexpr int64_t kMostBands = 1 << 14;

struct MelOptions {
  int64_t bins = 0;  // of a spectrum of squared magnitudes, from 0 to half the rate
  double rate = 0, lowest = 0, highest = 0;
  int64_t bands = 0, coefficients = 0;
};

class Mfcc {
 public:
  // InvalidArgument for options that give no bands. Takes 16 bytes for each bin, and 8 for each
  // coefficient and band.
  static Result<Mfcc> Make(const MelOptions& options);
  // `spectra`: rows x bins; `out`: rows x coefficients. All zeros where the highest frequency lies
  // beyond the spectrum.
  Status Run(Work& work, int64_t rows, const float* spectra, float* out) const;

 private:
  void Row(const float* spectrum, double* bands, float* out) const;

  MelOptions options_;
  int64_t first_ = 0, last_ = 0;   // bins that count
  std::vector<int64_t> band_;      // of each bin: the one that it leaves
  std::vector<double> weight_;     // its share of that; the next one has the rest
  std::vector<double> transform_;  // coefficients x bands
};

}  // namespace thalweg::compute
