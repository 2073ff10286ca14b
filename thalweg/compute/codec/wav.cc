// SPDX-License-Identifier: Apache-2.0
#include "thalweg/compute/codec/wav.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "thalweg/compute/interruptible.h"

namespace thalweg::compute {
namespace {

void AppendLittle(std::string& out, uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) out.push_back(static_cast<char>(value >> (8 * i) & 0xFF));
}

int16_t Sample(float x) {
  if (std::isnan(x)) return 0;
  return static_cast<int16_t>(std::lround(std::clamp(x * 32768.0F, -32768.0F, 32767.0F)));
}

constexpr size_t kSampleBytes = 2;
constexpr uint64_t kMostData = std::numeric_limits<int32_t>::max();

// The bytes of a file, one field after the other.
class Fields {
 public:
  explicit Fields(std::string_view file) : file_(file) {}
  size_t at() const { return at_; }
  size_t left() const { return file_.size() - at_; }
  char next() const { return file_[at_]; }
  void Skip(size_t bytes) { at_ += std::min(bytes, left()); }

  Result<std::string_view> Take(size_t bytes, std::string_view what) {
    if (bytes > left()) {
      return InvalidArgument("Data too short when trying to read ", what, " of a WAV file: ", bytes,
                             " bytes at byte ", at_, " of ", file_.size());
    }
    at_ += bytes;
    return file_.substr(at_ - bytes, bytes);
  }
  Status Expect(std::string_view text) {
    ASSIGN_OR_RETURN(const std::string_view found, Take(text.size(), "string"));
    if (found == text) return OkStatus();
    return InvalidArgument("Header mismatch: Expected ", text, " but found ", found, " at byte ",
                           at_ - text.size());
  }
  Result<uint32_t> Number(size_t bytes, std::string_view what) {
    ASSIGN_OR_RETURN(const std::string_view found, Take(bytes, what));
    uint32_t value = 0;
    for (size_t i = 0; i < bytes; ++i) {
      value |= static_cast<uint32_t>(static_cast<unsigned char>(found[i])) << (8 * i);
    }
    return value;
  }

 private:
  std::string_view file_;
  size_t at_ = 0;
};

// The chunk "fmt ".
Status ReadFormat(Fields& fields, WavSound& sound) {
  RETURN_IF_ERROR(fields.Expect("fmt "));
  ASSIGN_OR_RETURN(const uint32_t size, fields.Number(4, "the format's size"));
  if (size != 16 && size != 18) {
    return InvalidArgument("Bad format chunk size for WAV: Expected 16 or 18, but got ", size);
  }
  ASSIGN_OR_RETURN(const uint32_t format, fields.Number(2, "the audio format"));
  ASSIGN_OR_RETURN(const uint32_t channels, fields.Number(2, "the number of channels"));
  ASSIGN_OR_RETURN(sound.rate, fields.Number(4, "the sample rate"));
  ASSIGN_OR_RETURN(const uint32_t per_second, fields.Number(4, "the bytes per second"));
  ASSIGN_OR_RETURN(const uint32_t per_frame, fields.Number(2, "the bytes per sample"));
  ASSIGN_OR_RETURN(const uint32_t bits, fields.Number(2, "the bits per sample"));
  RETURN_IF_ERROR(fields.Take(size - 16, "the format").status());
  if (format != 1) {
    return InvalidArgument("Bad audio format for WAV: Expected 1 (PCM), but got ", format);
  }
  if (channels < 1) {
    return InvalidArgument("Bad number of channels for WAV: Expected at least 1, but got ",
                           channels);
  }
  if (bits != 8 * kSampleBytes) {
    return InvalidArgument("Can only read 16-bit WAV files, but received ", bits);
  }
  const uint32_t wanted = channels * kSampleBytes;
  if (per_frame != wanted) {
    return InvalidArgument("Bad bytes per sample in WAV header: Expected ", wanted, " but got ",
                           per_frame);
  }
  if (per_second != sound.rate * wanted) {
    return InvalidArgument("Bad bytes per second in WAV header: Expected ", sound.rate * wanted,
                           " but got ", per_second, " (sample_rate=", sound.rate,
                           ", bytes_per_sample=", wanted, ")");
  }
  sound.channels = channels;
  return OkStatus();
}

// What a chunk's own size leaves out; writers do not agree on whether it is there.
void SkipFiller(Fields& fields, uint32_t size) {
  if (size % 2 != 0 && fields.left() > 0 && fields.next() == 0) fields.Skip(1);
}

}  // namespace

Result<WavSound> ReadWav16(std::string_view file) {
  Fields fields(file);
  WavSound sound;
  RETURN_IF_ERROR(fields.Expect("RIFF"));
  RETURN_IF_ERROR(fields.Number(4, "the file's size").status());
  RETURN_IF_ERROR(fields.Expect("WAVE"));
  RETURN_IF_ERROR(ReadFormat(fields, sound));
  bool found = false;
  // What is shorter than the head of a chunk is no chunk.
  while (fields.left() >= 8) {
    ASSIGN_OR_RETURN(const std::string_view name, fields.Take(4, "a chunk's name"));
    ASSIGN_OR_RETURN(const uint32_t size, fields.Number(4, "a chunk's size"));
    if (name != "data") {
      fields.Skip(size);
      SkipFiller(fields, size);
      continue;
    }
    if (found) return InvalidArgument("More than one data chunk found in WAV");
    if (size > kMostData) {
      return InvalidArgument("WAV data chunk 'data' is too large: ", size,
                             " bytes, but the limit is ", kMostData);
    }
    const int64_t frame = sound.channels * static_cast<int64_t>(kSampleBytes);
    if (size % frame != 0) {
      return InvalidArgument("WAV data chunk of ", size, " bytes at byte ", fields.at(),
                             ": expected whole frames of ", frame, " bytes");
    }
    found = true;
    sound.frames = size / frame;
    ASSIGN_OR_RETURN(sound.samples, fields.Take(size, "samples"));
    SkipFiller(fields, size);
  }
  if (!found) return InvalidArgument("No data chunk found in WAV");
  return sound;
}

void WavSamples(const WavSound& sound, int64_t frames, int64_t channels, float* out) {
  const auto* const bytes = reinterpret_cast<const unsigned char*>(sound.samples.data());
  for (int64_t i = 0; i < frames; ++i) {
    LookAtBlocks(static_cast<size_t>(i));
    for (int64_t c = 0; c < channels; ++c, ++out) {
      *out = 0;
      if (i >= sound.frames) continue;
      // A channel too many is the last one again.
      const int64_t at = 2 * (i * sound.channels + std::min(c, sound.channels - 1));
      const auto sample = static_cast<int16_t>(bytes[at] | bytes[at + 1] << 8);
      *out = static_cast<float>(sample) / 32768.0F;
    }
  }
}

Result<std::string> EncodeWav16(std::span<const float> samples, int64_t channels, double rate) {
  if (channels <= 0 || channels > std::numeric_limits<uint16_t>::max()) {
    return InvalidArgument("sound must have between 1 and 65535 channels, got ", channels);
  }
  // Bytes a second, of 32 bits too, may be more than that: they are cut, as in TensorFlow.
  if (!(rate >= 1) || rate >= 4294967296.0) {
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
