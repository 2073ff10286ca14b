// SPDX-License-Identifier: Apache-2.0
#include "thalweg/compute/image/resample.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "thalweg/compute/arithmetic.h"

namespace thalweg::compute {
namespace {

constexpr int64_t kMostTaps = int64_t{1} << 27;  // two gigabytes of places and weights
constexpr int64_t kGrain = 16384;                // elements of a shard
constexpr float kSmallestSum = 1000.0f * std::numeric_limits<float>::min();

Status TooMany(int64_t in, int64_t out) {
  return ResourceExhausted("resampling ", in, " pixels to ", out, " takes more than ", kMostTaps,
                           " weights");
}

float ScaleOf(int64_t in, int64_t out, bool align_corners) {
  return align_corners && out > 1 ? static_cast<float>(in - 1) / static_cast<float>(out - 1)
                                  : static_cast<float>(in) / static_cast<float>(out);
}

// Divides the weights of the last element by their sum.
void Normalize(Taps& taps) {
  float sum = 0;
  const auto begin = static_cast<size_t>(taps.first.back());
  for (size_t k = begin; k < taps.weight.size(); ++k) sum += taps.weight[k];
  if (std::abs(sum) < kSmallestSum) return;
  const float inverse = 1.0f / sum;
  for (size_t k = begin; k < taps.weight.size(); ++k) taps.weight[k] *= inverse;
}

void Close(Taps& taps) { taps.first.push_back(static_cast<int64_t>(taps.from.size())); }

void Add(Taps& taps, int64_t from, float weight) {
  taps.from.push_back(from);
  taps.weight.push_back(weight);
}

// The cubic convolution kernel with parameter a, at distance x.
float Cubic(float a, float x) {
  x = std::abs(x);
  if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  if (x < 2) return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a;
  return 0;
}

// The family of Mitchell and Netravali.
float Mitchell(float x) {
  constexpr float kB = 1.0f / 3, kC = 1.0f / 3;
  if (x < 1) return ((12 - 9 * kB - 6 * kC) * x - 18 + 12 * kB + 6 * kC) * x * x / 6 + 1 - kB / 3;
  if (x >= 2) return 0;
  return (((-kB - 6 * kC) * x + 6 * kB + 30 * kC) * x - 12 * kB - 48 * kC) * x / 6 + 4 * kB / 3 +
         4 * kC;
}

float Lanczos(float radius, float x) {
  if (x > radius) return 0;
  if (x <= 1e-3f) return 1;
  const float angle = std::numbers::pi_v<float> * x;
  return radius * std::sin(angle) * std::sin(angle / radius) / (angle * angle);
}

float Gaussian(float x) { return x >= 1.5f ? 0 : std::exp(-2 * x * x); }

float Box(float x) {
  if (x == 0.5f) return 0.5f;
  return x < 0.5f ? 1 : 0;
}

struct Curve {
  std::string_view name;
  float radius;
  float (*at)(float x);
};
constexpr Curve kCurves[] = {
    {"lanczos1", 1, [](float x) { return Lanczos(1, x); }},
    {"lanczos3", 3, [](float x) { return Lanczos(3, x); }},
    {"lanczos5", 5, [](float x) { return Lanczos(5, x); }},
    {"gaussian", 1.5f, Gaussian},
    {"box", 1, Box},
    {"triangle", 1, [](float x) { return x < 1 ? 1 - x : 0.0f; }},
    {"keyscubic", 2, [](float x) { return Cubic(-0.5f, x); }},
    {"mitchellcubic", 2, Mitchell},
};

const Curve* FindCurve(std::string_view name) {
  const auto* found = std::find_if(std::begin(kCurves), std::end(kCurves),
                                   [&](const auto& c) { return c.name == name; });
  return found == std::end(kCurves) ? nullptr : found;
}

template <class T, class Out>
Status Apply(Work& work, int64_t batch, int64_t channels, const Taps& rows, const Taps& columns,
             const T* input, Out* output) {
  const int64_t in_line = columns.in * channels, out_line = columns.out() * channels;
  const int64_t lines = batch * rows.out();
  const int64_t grain = std::max<int64_t>(1, kGrain / std::max(in_line, out_line));
  return ForShards(work, (lines + grain - 1) / grain, [&](int64_t shard) {
    Scratch<float> sums(work, in_line), pixel(work, channels);
    if (!sums || !pixel) return false;
    for (int64_t l = shard * grain; l < std::min(lines, (shard + 1) * grain); ++l) {
      const int64_t image = l / rows.out(), row = l % rows.out();
      std::fill_n(sums.get(), in_line, 0.0f);
      for (int64_t k = rows.first[row]; k < rows.first[row + 1]; ++k) {
        const T* const from = input + (image * rows.in + rows.from[k]) * in_line;
        const float weight = rows.weight[k];
        for (int64_t i = 0; i < in_line; ++i) {
          sums[i] += weight * static_cast<float>(ValueOf(from[i]));
        }
      }
      Out* to = output + l * out_line;
      for (int64_t column = 0; column < columns.out(); ++column) {
        std::fill_n(pixel.get(), channels, 0.0f);
        for (int64_t k = columns.first[column]; k < columns.first[column + 1]; ++k) {
          const float* const from = sums.get() + columns.from[k] * channels;
          for (int64_t c = 0; c < channels; ++c) pixel[c] += columns.weight[k] * from[c];
        }
        for (int64_t c = 0; c < channels; ++c) *to++ = ElementOf<Out>(pixel[c]);
      }
    }
    return true;
  });
}

}  // namespace

Taps Taps::Transposed() const {
  Taps t;
  t.in = out();
  t.first.assign(static_cast<size_t>(in) + 1, 0);
  for (const int64_t place : from) ++t.first[static_cast<size_t>(place) + 1];
  for (size_t i = 1; i < t.first.size(); ++i) t.first[i] += t.first[i - 1];
  t.from.resize(from.size());
  t.weight.resize(from.size());
  std::vector<int64_t> next = t.first;
  for (int64_t i = 0; i < out(); ++i) {
    for (int64_t k = first[i]; k < first[i + 1]; ++k) {
      const int64_t to = next[from[k]]++;
      t.from[to] = i;
      t.weight[to] = weight[k];
    }
  }
  return t;
}

Result<Taps> AreaTaps(int64_t in, int64_t out, bool align_corners) {
  const float scale = ScaleOf(in, out, align_corners);
  // Each place but the last of an element is seen by at most two.
  if (in > kMostTaps / 4 || out > kMostTaps / 4) return TooMany(in, out);
  Taps taps;
  taps.in = in;
  for (int64_t i = 0; i < out; ++i) {
    const float begin = static_cast<float>(i) * scale, end = static_cast<float>(i + 1) * scale;
    const auto last = static_cast<int64_t>(std::ceil(end));
    for (auto k = static_cast<int64_t>(std::floor(begin)); k < last; ++k) {
      const auto low = static_cast<float>(k), high = static_cast<float>(k + 1);
      const float right = high > end ? end : high;
      const float part = low < begin ? (high > end ? scale : high - begin) : right - low;
      Add(taps, std::clamp<int64_t>(k, 0, in - 1), part / scale);
    }
    Close(taps);
  }
  return taps;
}

Result<Taps> CubicTaps(int64_t in, int64_t out, bool align_corners, bool half_pixel_centers) {
  if (in > kMostTaps || out > kMostTaps / 4) return TooMany(in, out);
  constexpr float kSteps = 1024;  // places between two pixels that TensorFlow tells apart
  const float scale = ScaleOf(in, out, align_corners);
  const float a = half_pixel_centers ? -0.5f : -0.75f;
  Taps taps;
  taps.in = in;
  for (int64_t i = 0; i < out; ++i) {
    const auto x = static_cast<float>(i);
    const float place = half_pixel_centers ? (x + 0.5f) * scale - 0.5f : x * scale;
    const float low = std::floor(place);
    const float between = std::nearbyint((place - low) * kSteps) / kSteps;
    for (int k = -1; k <= 2; ++k) {
      const auto from = static_cast<int64_t>(low) + k;
      const float weight = Cubic(a, static_cast<float>(k) - between);
      const int64_t inside = std::clamp<int64_t>(from, 0, in - 1);
      if (!half_pixel_centers || inside == from) Add(taps, inside, weight);
    }
    if (half_pixel_centers) Normalize(taps);
    Close(taps);
  }
  return taps;
}

bool IsResampleKernel(std::string_view kernel) { return FindCurve(kernel) != nullptr; }

Result<Taps> KernelTaps(int64_t in, int64_t out, const Placement& placement) {
  const Curve* const curve = FindCurve(placement.kernel);
  if (curve == nullptr) return InvalidArgument("Unrecognized kernel type: ", placement.kernel);
  const float inverse = 1.0f / placement.scale;
  const float wide = placement.antialias ? std::max(inverse, 1.0f) : 1.0f;
  const double span = std::min(static_cast<double>(in), 2.0 * curve->radius * wide + 2);
  if (in > kMostTaps || span * static_cast<double>(out) > static_cast<double>(kMostTaps)) {
    return TooMany(in, out);
  }
  Taps taps;
  taps.in = in;
  const auto most = static_cast<float>(in - 1);
  for (int64_t i = 0; i < out; ++i) {
    const float center = (static_cast<float>(i) + 0.5f) * inverse - inverse * placement.translation;
    if (center >= 0 && center <= static_cast<float>(in)) {
      const float reach = curve->radius * wide;
      const auto begin =
          static_cast<int64_t>(std::clamp(std::ceil(center - reach - 0.5f), 0.0f, most));
      const auto end =
          static_cast<int64_t>(std::clamp(std::floor(center + reach - 0.5f), 0.0f, most));
      for (int64_t k = begin; k <= end; ++k) {
        const float distance = static_cast<float>(k) + 0.5f - center;
        Add(taps, k, curve->at(std::abs(distance / wide)));
      }
      Normalize(taps);
    }
    Close(taps);
  }
  return taps;
}

Status Resample(Work& work, DType dtype, int64_t batch, int64_t channels, const Taps& rows,
                const Taps& columns, const void* input, float* output) {
  return WithType<RealTypes>(dtype, "resampling", [&]<class T>() {
    return Apply(work, batch, channels, rows, columns, static_cast<const T*>(input), output);
  });
}

Status ResampleGrad(Work& work, DType dtype, int64_t batch, int64_t channels, const Taps& rows,
                    const Taps& columns, const float* output_grad, void* input_grad) {
  const Taps back_rows = rows.Transposed(), back_columns = columns.Transposed();
  return WithType<FloatTypes>(dtype, "the gradient of resampling", [&]<class T>() {
    return Apply(work, batch, channels, back_rows, back_columns, output_grad,
                 static_cast<T*>(input_grad));
  });
}

}  // namespace thalweg::compute
