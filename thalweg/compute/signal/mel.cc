// SPDX-License-Identifier: Apache-2.0
#include "thalweg/compute/signal/mel.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace thalweg::compute {
namespace {

constexpr double kFloor = 1e-12;  // of what logarithms are taken
constexpr int64_t kRowsPerShard = 16;

double Mel(double hertz) { return 1127.0 * std::log1p(hertz / 700.0); }

Status CheckMel(const MelOptions& o) {
  const auto wrong = [&](const auto&... why) {
    return InvalidArgument("Mfcc initialization failed for channel count ", o.bins,
                           ", sample rate ", o.rate, " and filterbank_channel_count ", o.bands,
                           ": ", why...);
  };
  if (o.bins < 2) return wrong("a spectrum has two bins or more");
  if (!(o.rate > 0)) return wrong("the sample rate must be positive");
  if (o.bands <= 0) return wrong("the number of bands must be positive");
  if (o.coefficients < 1) return wrong("dct_coefficient_count must be positive");
  if (o.coefficients > o.bands) {
    return wrong("dct_coefficient_count ", o.coefficients, " is more than the bands");
  }
  if (o.bands > kMostBands) return wrong("more than ", kMostBands, " bands");
  if (!(o.lowest >= 0)) return wrong("lower_frequency_limit must not be negative");
  if (!(o.highest > o.lowest)) {
    return wrong("upper_frequency_limit must be larger than lower_frequency_limit");
  }
  return OkStatus();
}

}  // namespace

Result<Mfcc> Mfcc::Make(const MelOptions& options) {
  RETURN_IF_ERROR(CheckMel(options));
  Mfcc made;
  made.options_ = options;
  const double low = Mel(options.lowest), span = Mel(options.highest) - low;
  const auto center = [&](int64_t band) {
    return low + span / static_cast<double>(options.bands + 1) * static_cast<double>(band + 1);
  };
  const double hertz = 0.5 * options.rate / static_cast<double>(options.bins - 1);
  // Bins beyond the spectrum are only known to be beyond it.
  const auto bin = [&](double at) {
    return static_cast<int64_t>(std::min(at, static_cast<double>(options.bins)));
  };
  made.first_ = bin(1.5 + options.lowest / hertz);
  made.last_ = bin(options.highest / hertz);
  made.band_.assign(static_cast<size_t>(options.bins), -2);
  made.weight_.assign(static_cast<size_t>(options.bins), 0.0);
  int64_t next = 0;
  for (int64_t i = made.first_; i <= std::min(made.last_, options.bins - 1); ++i) {
    const double mel = Mel(static_cast<double>(i) * hertz);
    while (next < options.bands && center(next) < mel) ++next;
    const double left = next == 0 ? low : center(next - 1);
    made.band_[static_cast<size_t>(i)] = next - 1;
    made.weight_[static_cast<size_t>(i)] = (center(next) - mel) / (center(next) - left);
  }
  const auto n = static_cast<double>(options.bands);
  made.transform_.reserve(static_cast<size_t>(options.coefficients * options.bands));
  for (int64_t i = 0; i < options.coefficients; ++i) {
    for (int64_t j = 0; j < options.bands; ++j) {
      made.transform_.push_back(
          std::sqrt(2 / n) *
          std::cos(std::numbers::pi / n * static_cast<double>(i) * (static_cast<double>(j) + 0.5)));
    }
  }
  return made;
}

void Mfcc::Row(const float* spectrum, double* bands, float* out) const {
  std::fill_n(bands, options_.bands, 0.0);
  for (int64_t i = first_; i <= last_; ++i) {
    const double value = std::sqrt(static_cast<double>(spectrum[i]));
    const double leaving = value * weight_[static_cast<size_t>(i)];
    const int64_t band = band_[static_cast<size_t>(i)];
    if (band >= 0) bands[band] += leaving;
    if (band + 1 < options_.bands) bands[band + 1] += value - leaving;
  }
  for (int64_t j = 0; j < options_.bands; ++j) {
    bands[j] = std::log(bands[j] < kFloor ? kFloor : bands[j]);
  }
  const double* weight = transform_.data();
  for (int64_t i = 0; i < options_.coefficients; ++i) {
    double sum = 0;
    for (int64_t j = 0; j < options_.bands; ++j) sum += *weight++ * bands[j];
    out[i] = static_cast<float>(sum);
  }
}

Status Mfcc::Run(Work& work, int64_t rows, const float* spectra, float* out) const {
  if (last_ >= options_.bins) {
    std::fill_n(out, rows * options_.coefficients, 0.0F);
    return OkStatus();
  }
  return ForShards(work, (rows + kRowsPerShard - 1) / kRowsPerShard, [&](int64_t shard) {
    Scratch<double> bands(work, options_.bands);
    if (!bands) return false;
    const int64_t end = std::min(rows, (shard + 1) * kRowsPerShard);
    for (int64_t row = shard * kRowsPerShard; row < end; ++row) {
      Row(spectra + row * options_.bins, bands.get(), out + row * options_.coefficients);
    }
    return true;
  });
}

}  // namespace thalweg::compute
