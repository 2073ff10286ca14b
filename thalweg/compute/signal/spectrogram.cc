// SPDX-License-Identifier: Apache-2.0
#include "thalweg/compute/signal/spectrogram.h"

#include <cmath>
#include <numbers>
#include <vector>

#include "thalweg/compute/signal/fft.h"

namespace thalweg::compute {

Status Spectrogram(Work& work, const SpectrogramShape& shape, const float* sound, float* out) {
  const int64_t frames = shape.frames(), bins = shape.bins(), length = shape.length();
  if (frames == 0 || shape.channels == 0) return OkStatus();
  Scratch<double> window(work, shape.window);
  if (!window) return OutOfScratch();
  const double step = 2 * std::numbers::pi / static_cast<double>(shape.window);
  for (int64_t i = 0; i < shape.window; ++i) {
    window[i] = 0.5 - 0.5 * std::cos(step * static_cast<double>(i));
  }
  const Scratch<FftPlan::Number> tables(work, FftPlan::TableNumbers(length));
  if (!tables) return OutOfScratch();
  const FftPlan plan(work, length);
  return ForShards(work, shape.channels * frames, [&](int64_t shard) {
    const int64_t channel = shard / frames, frame = shard % frames;
    Scratch<FftPlan::Number> row(work, length), scratch(work, plan.scratch());
    if (!row || !scratch) return false;
    const float* const from = sound + frame * shape.stride * shape.channels + channel;
    for (int64_t i = 0; i < length; ++i) {
      row[i] = i < shape.window ? window[i] * static_cast<double>(from[i * shape.channels]) : 0.0;
    }
    plan.Run(row.get(), scratch.get(), /*inverse=*/false);
    float* const to = out + shard * bins;
    for (int64_t k = 0; k < bins; ++k) {
      const auto square = static_cast<float>(std::norm(row[k]));
      to[k] = shape.squared ? square : std::sqrt(square);
    }
    return true;
  });
}

}  // namespace thalweg::compute
