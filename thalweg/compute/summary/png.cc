// SPDX-License-Identifier: Apache-2.0
#include "thalweg/compute/summary/png.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace thalweg::compute {
namespace {

constexpr int64_t kMaxBytes = int64_t{1} << 30;
constexpr size_t kMaxStored = 65535;  // what a stored block of deflate holds

constexpr std::array<uint32_t, 256> kCrcTable = [] {
  std::array<uint32_t, 256> table{};
  for (uint32_t i = 0; i < 256; ++i) {
    uint32_t crc = i;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0xEDB88320U : 0);
    table[i] = crc;
  }
  return table;
}();

void AppendBig(std::string& out, uint32_t value) {
  for (int shift = 24; shift >= 0; shift -= 8) out.push_back(static_cast<char>(value >> shift));
}

void AppendChunk(std::string& out, std::string_view type, std::string_view data) {
  AppendBig(out, static_cast<uint32_t>(data.size()));
  uint32_t crc = ~0U;
  for (const std::string_view part : {type, data}) {
    for (const char c : part) crc = kCrcTable[(crc ^ static_cast<uint8_t>(c)) & 0xFF] ^ (crc >> 8);
    out.append(part);
  }
  AppendBig(out, ~crc);
}

uint32_t Adler32(std::string_view data) {
  uint32_t a = 1, b = 0;
  for (const char c : data) {
    a = (a + static_cast<uint8_t>(c)) % 65521;
    b = (b + a) % 65521;
  }
  return b << 16 | a;
}

// The zlib stream of bytes in stored blocks.
std::string Stored(std::string_view data) {
  std::string out = "\x78\x01";
  size_t done = 0;
  do {
    const size_t count = std::min(kMaxStored, data.size() - done);
    out.push_back(done + count == data.size() ? 1 : 0);
    for (const size_t word : {count, ~count}) {
      out.push_back(static_cast<char>(word & 0xFF));
      out.push_back(static_cast<char>(word >> 8 & 0xFF));
    }
    out.append(data.substr(done, count));
    done += count;
  } while (done < data.size());
  AppendBig(out, Adler32(data));
  return out;
}

}  // namespace

Result<std::string> EncodePng(const PngSize& size, std::span<const uint8_t> pixels) {
  const char color = size.channels == 1 ? 0 : size.channels == 3 ? 2 : 6;
  if (size.channels != 1 && size.channels != 3 && size.channels != 4) {
    return InvalidArgument("PNG images have 1, 3 or 4 channels, got ", size.channels);
  }
  if (size.width <= 0 || size.height <= 0) {
    return InvalidArgument("PNG images have pixels, got ", size.width, " x ", size.height);
  }
  if (size.width > kMaxBytes / size.channels ||
      size.height > kMaxBytes / (size.width * size.channels + 1)) {
    return InvalidArgument("a PNG image of ", size.width, " x ", size.height, " is too large");
  }
  const auto row = static_cast<size_t>(size.width * size.channels);
  std::string rows;  // each after the number of its filter, none
  rows.reserve((row + 1) * static_cast<size_t>(size.height));
  for (size_t y = 0; y < static_cast<size_t>(size.height); ++y) {
    rows.push_back(0);
    rows.append(reinterpret_cast<const char*>(pixels.data() + y * row), row);
  }
  std::string header;
  AppendBig(header, static_cast<uint32_t>(size.width));
  AppendBig(header, static_cast<uint32_t>(size.height));
  header.append({8, color, 0, 0, 0});
  std::string out = "\x89PNG\r\n\x1a\n";
  AppendChunk(out, "IHDR", header);
  AppendChunk(out, "IDAT", Stored(rows));
  AppendChunk(out, "IEND", "");
  return out;
}

}  // namespace thalweg::compute
