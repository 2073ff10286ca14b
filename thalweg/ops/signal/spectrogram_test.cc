// SPDX-License-Identifier: Apache-2.0
#include <bit>
#include <cmath>
#include <numbers>

#include "thalweg/testing/op_case.h"

namespace thalweg {
namespace {

// Term by term.
void SpectraReference(RefCall<double>& r) {
  const auto window = r.Attr<int64_t>("window_size"), stride = r.Attr<int64_t>("stride");
  const bool squared = r.Attr<bool>("magnitude_squared");
  const int64_t samples = r.in[0].shape.dim(0), channels = r.in[0].shape.dim(1);
  const auto length = static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(window)));
  const int64_t frames = samples < window ? 0 : 1 + (samples - window) / stride;
  Array<double> y(Shape{channels, frames, 1 + length / 2});
  ForEachIndex(y.shape, [&](const std::vector<int64_t>& at) {
    double re = 0, im = 0;
    for (int64_t i = 0; i < window; ++i) {
      const double turn = 2 * std::numbers::pi * static_cast<double>(i);
      const double fade = 0.5 - 0.5 * std::cos(turn / static_cast<double>(window));
      const double x = fade * r.in[0].At({at[1] * stride + i, at[0]});
      const double angle = turn * static_cast<double>(at[2]) / static_cast<double>(length);
      re += x * std::cos(angle);
      im -= x * std::sin(angle);
    }
    y.At(at) = squared ? re * re + im * im : std::hypot(re, im);
  });
  r.out = {y};
}

AttrMap Windows(int64_t window, int64_t stride, bool squared = false) {
  return {{"window_size", window}, {"stride", stride}, {"magnitude_squared", squared}};
}

TEST(SpectrogramTest, Cases) {
  OpCase("AudioSpectrogram")
      .Reference(SpectraReference)
      .Try({In({37, 2})}, Windows(16, 5))
      .Try({In({37, 1})}, Windows(11, 7, true))
      .Try({In({9, 3})}, Windows(9, 1))
      .Try({In({5, 2})}, Windows(6, 1))  // no window fits
      .Try({In({2, 1})}, Windows(2, 3))
      .Bad({In({5, 1})}, Windows(1, 1), Code::kInvalidArgument, "window size must be > 1, got 1")
      .Bad({In({5, 1})}, Windows(4, 0), Code::kInvalidArgument, "stride must be strictly positive")
      .Bad({In({5})}, Windows(4, 1), Code::kInvalidArgument, "")
      .Run();
}

double MelOf(double hertz) { return 1127 * std::log(1 + hertz / 700); }

// The first bin that counts is the one behind the lowest frequency, rounded by half a bin, which
// the cases agree with. Each band is a triangle over the mel scale, from the center before it to
// the one behind.
void MfccReference(RefCall<double>& r) {
  const double low = MelOf(r.Attr<float>("lower_frequency_limit"));
  const double high = MelOf(r.Attr<float>("upper_frequency_limit"));
  const auto bands = r.Attr<int64_t>("filterbank_channel_count");
  const auto coefficients = r.Attr<int64_t>("dct_coefficient_count");
  const int64_t bins = r.in[0].shape.dim(2);
  const double hertz = 0.5 * r.in[1][0] / static_cast<double>(bins - 1);
  const double step = (high - low) / static_cast<double>(bands + 1);
  Array<double> y(Shape{r.in[0].shape.dim(0), r.in[0].shape.dim(1), coefficients});
  ForEachIndex(y.shape, [&](const std::vector<int64_t>& at) {
    double sum = 0;
    for (int64_t j = 0; j < bands; ++j) {
      const double center = low + step * static_cast<double>(j + 1);
      double energy = 0;
      for (int64_t i = 0; i < bins; ++i) {
        const double away = std::abs(MelOf(hertz * static_cast<double>(i)) - center) / step;
        const double mel = MelOf(hertz * static_cast<double>(i));
        if (away >= 1 || mel < low || mel > high) continue;
        energy += (1 - away) * std::sqrt(r.in[0].At({at[0], at[1], i}));
      }
      sum += std::log(std::max(energy, 1e-12)) *
             std::cos(std::numbers::pi / static_cast<double>(bands) * static_cast<double>(at[2]) *
                      (static_cast<double>(j) + 0.5));
    }
    y.At(at) = sum * std::sqrt(2.0 / static_cast<double>(bands));
  });
  r.out = {y};
}

AttrMap Bands(float low, float high, int64_t bands, int64_t coefficients) {
  return {{"lower_frequency_limit", low},
          {"upper_frequency_limit", high},
          {"filterbank_channel_count", bands},
          {"dct_coefficient_count", coefficients}};
}

In Rate(int32_t rate) { return Tensor::Scalar(rate); }

TEST(MfccTest, Cases) {
  const In spectra = In({2, 3, 129}).Range(0.1, 4);
  OpCase("Mfcc")
      .Reference(MfccReference)
      .Try({spectra, Rate(8000)}, Bands(10, 3900, 12, 5))
      .Try({spectra, Rate(16000)}, Bands(280, 7000, 20, 20))
      .Try({In({0, 3, 129}), Rate(8000)}, Bands(10, 3900, 12, 5))
      .Bad({spectra, Rate(0)}, Bands(10, 3900, 12, 5), Code::kInvalidArgument,
           "the sample rate must be positive")
      .Bad({spectra, Rate(8000)}, Bands(10, 3900, 12, 13), Code::kInvalidArgument,
           "dct_coefficient_count 13 is more than the bands")
      .Bad({spectra, Rate(8000)}, Bands(500, 400, 12, 5), Code::kInvalidArgument,
           "must be larger than lower_frequency_limit")
      .Bad({In({2, 3, 1}), Rate(8000)}, Bands(10, 3900, 12, 5), Code::kInvalidArgument,
           "a spectrum has two bins or more")
      .Bad({In({2, 3}), Rate(8000)}, {}, Code::kInvalidArgument, "")
      .Run();
}

}  // namespace
}  // namespace thalweg
