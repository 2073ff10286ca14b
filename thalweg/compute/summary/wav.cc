// SPDX-License-Identifier: Apache-2.0
#include "thalweg/compute/summary/wav.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace thalweg::compute {
namespace {

void AppendLittle(std::string& out, uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) out.push_back(static_cast<char>(value >> (8 * i) & 0xFF));
}

int16_t Sample(float x) {
  if (std::isnan(x)) return 0;
  return static_cast<int16_t>(std::lround(std::clamp(x * 32768.0F, -32768.0F, 32767.0F)));
}

}  // namespace

Result<std::string> EncodeWav16(std::span<const float> samples, int64_t channels, float rate) {
  if (channels <= 0 || channels > std::numeric_limits<uint16_t>::max()) {
    return InvalidArgument("sound must have between 1 and 65535 channels, got ", channels);
  }
  // The second number of the header is bytes a second, of 32 bits too.
  if (!(rate >= 1) || rate * 2.0 * static_cast<double>(channels) >= 4294967296.0) {
    return InvalidArgument("sample_rate must be positive and fit a WAV file, got ", rate);
  }
  if (samples.size() > (size_t{1} << 30)) {
    return InvalidArgument("too many samples for a WAV file: ", samples.size());
  }
  const auto hertz = static_cast<uint64_t>(rate);
  const auto width = static_cast<uint64_t>(channels) * 2;
  std::string out = "RIFF";
  AppendLittle(out, 36 + samples.size() * 2, 4);
  out.append("WAVEfmt ");
  AppendLittle(out, 16, 4);
  AppendLittle(out, 1, 2);  // plain samples
  AppendLittle(out, static_cast<uint64_t>(channels), 2);
  AppendLittle(out, hertz, 4);
  AppendLittle(out, hertz * width, 4);
  AppendLittle(out, width, 2);
  AppendLittle(out, 16, 2);
  out.append("data");
  AppendLittle(out, samples.size() * 2, 4);
  out.reserve(out.size() + samples.size() * 2);
  for (const float x : samples) AppendLittle(out, static_cast<uint16_t>(Sample(x)), 2);
  return out;
}

}  // namespace thalweg::compute
