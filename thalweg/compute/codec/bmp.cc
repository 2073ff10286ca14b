// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "thalweg/compute/codec/pictures.h"

namespace thalweg::compute {
namespace {

constexpr size_t kHeader = 32;                       // up to the type of compression
constexpr int64_t kMostBmpBytes = int64_t{1} << 30;  // of pixels

int64_t LittleAt(std::string_view file, size_t at, size_t bytes) {
  uint32_t value = 0;
  for (size_t i = 0; i < bytes; ++i) {
    value |= static_cast<uint32_t>(static_cast<unsigned char>(file[at + i])) << (8 * i);
  }
  return static_cast<int32_t>(value);
}

struct Bmp {
  int64_t rows, columns, channels;  // those of the file
  int64_t row_bytes, start;
  bool from_top;
};

Result<Bmp> BmpHeader(std::string_view file) {
  if (file.size() < kHeader) {
    return InvalidArgument(
        "Incomplete bmp content, requires at least 32 bytes to find the header "
        "size, width, height, and bpp, got ",
        file.size(), " bytes");
  }
  Bmp bmp;
  bmp.start = LittleAt(file, 10, 4);
  bmp.columns = LittleAt(file, 18, 4);
  const int64_t height = LittleAt(file, 22, 4);
  const int64_t bits = LittleAt(file, 28, 2);
  bmp.rows = std::abs(height);
  bmp.from_top = height < 0;
  bmp.channels = bits / 8;
  if (bmp.start < 0) {
    return InvalidArgument("header size must not be negative, got ", bmp.start, " at byte 10");
  }
  if (bmp.columns <= 0) return InvalidArgument("Width must be positive, got ", bmp.columns);
  if (bmp.rows == 0) return InvalidArgument("Height must not be 0");
  if (bits % 8 != 0 || (bmp.channels != 1 && bmp.channels != 3 && bmp.channels != 4)) {
    return InvalidArgument("Number of channels inherent in the image must be 1, 3 or 4, was ",
                           bmp.channels, " (", bits, " bits a pixel)");
  }
  bmp.row_bytes = (bmp.columns * bmp.channels + 3) / 4 * 4;
  if (bmp.rows > kMostBmpBytes / bmp.row_bytes) {
    return InvalidArgument("Total possible pixel bytes must be less than 2^30, got ", bmp.rows,
                           " rows of ", bmp.row_bytes);
  }
  const auto size = static_cast<int64_t>(file.size());
  const int64_t expected = bmp.start + bmp.row_bytes * bmp.rows;
  if (size != expected) {
    return InvalidArgument(
        "Input size should match (header_size + row_size * abs_height) but they differ by ",
        size - expected, ": expected ", expected, " bytes, got ", size);
  }
  return bmp;
}

void BmpRow(const uint8_t* from, int64_t columns, int64_t has, int64_t wanted, uint8_t* to) {
  for (int64_t x = 0; x < columns; ++x, from += has, to += wanted) {
    if (has == 1) {
      std::fill_n(to, std::min<int64_t>(wanted, 3), from[0]);
    } else {  // blue comes first
      to[0] = from[2];
      to[1] = from[1];
      to[2] = from[0];
    }
    if (wanted == 4) to[3] = has == 4 ? from[3] : 255;
  }
}

}  // namespace

Status ReadBmp(std::string_view file, int channels, const PictureHost& host) {
  ASSIGN_OR_RETURN(const Bmp bmp, BmpHeader(file));
  const int64_t wanted = channels == 0 ? bmp.channels : channels;
  if (wanted == 1 && bmp.channels != 1) {
    return InvalidArgument("`channels` must be 0, 3 or 4 for BMP of ", bmp.channels,
                           " channels, but got 1");
  }
  ASSIGN_OR_RETURN(void* const place, host.room({1, bmp.rows, bmp.columns, wanted}));
  const auto* const from = reinterpret_cast<const uint8_t*>(file.data()) + bmp.start;
  for (int64_t y = 0; y < bmp.rows; ++y) {
    const int64_t row = bmp.from_top ? y : bmp.rows - 1 - y;
    BmpRow(from + row * bmp.row_bytes, bmp.columns, bmp.channels, wanted,
           static_cast<uint8_t*>(place) + y * bmp.columns * wanted);
  }
  return OkStatus();
}

}  // namespace thalweg::compute
