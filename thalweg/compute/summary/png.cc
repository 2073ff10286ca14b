// SPDX-License-Identifier: Apache-2.0
#include "thalweg/compute/summary/png.h"

#include <array>
#include <string_view>

#include "thalweg/compute/summary/stored_zlib.h"

namespace thalweg::compute {
namespace {

constexpr int64_t kMaxBytes = int64_t{1} << 30;

constexpr std::array<uint32_t, 256> kCrcTable = [] {
  std::array<uint32_t, 256> table{};
  for (uint32_t i = 0; i < 256; ++i) {
    uint32_t crc = i;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0xEDB88320U : 0);
    table[i] = crc;
  }
  return table;
}();

void AppendChunk(std::string& out, std::string_view type, std::string_view data) {
  AppendBig(out, static_cast<uint32_t>(data.size()));
  uint32_t crc = ~0U;
  for (const std::string_view part : {type, data}) {
    for (const char c : part) crc = kCrcTable[(crc ^ static_cast<uint8_t>(c)) & 0xFF] ^ (crc >> 8);
    out.append(part);
  }
  AppendBig(out, ~crc);
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
  AppendChunk(out, "IDAT", StoredZlib().Add(rows, true));
  AppendChunk(out, "IEND", "");
  return out;
}

}  // namespace thalweg::compute
