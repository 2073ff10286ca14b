// SPDX-License-Identifier: Apache-2.0
#include "thalweg/compute/codec/png_component.h"

#include <png.h>

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "thalweg/compute/codec/picture_limits.h"

namespace {

// What a jump must not lose lies here, outside of the functions that it leaves.
struct Png {
  png_structp png;
  png_infop info;
  const ThalwegFile* file;
  size_t at;
  int64_t row;
  const ThalwegHost* host;
  int code;
  char* why;
};

[[noreturn]] void End(Png& p, int code) {
  p.code = code;
  png_longjmp(p.png, 1);
}

[[noreturn]] void Fail(png_structp png, png_const_charp text) {
  Png& p = *static_cast<Png*>(png_get_error_ptr(png));
  if (p.file == nullptr) {
    std::snprintf(p.why, THALWEG_WHY_BYTES, "%.120s", text);
  } else {
    std::snprintf(p.why, THALWEG_WHY_BYTES, "%.120s, at byte %zu of %zu, row %lld", text, p.at,
                  p.file->size, static_cast<long long>(p.row));
  }
  End(p, kThalwegBadFile);
}

void Ignore(png_structp, png_const_charp) {}

void Fetch(png_structp png, png_bytep to, png_size_t count) {
  Png& p = *static_cast<Png*>(png_get_io_ptr(png));
  if (count > p.file->size - p.at) {
    p.at = p.file->size;
    png_error(png, "the file ends too early");
  }
  std::memcpy(to, p.file->bytes + p.at, count);
  p.at += count;
}

// Texts and color profiles are not looked at: they may be compressed, and say nothing of pixels.
void SkipTexts(png_structp png) {
  constexpr png_byte kNames[] = "tEXt\0zTXt\0iTXt\0iCCP\0sPLT\0eXIf\0hIST\0tIME";
  png_set_keep_unknown_chunks(png, PNG_HANDLE_CHUNK_NEVER, kNames, 8);
}

void CheckSize(Png& p, int64_t rows, int64_t columns) {
  if (rows < thalweg::kMostSide && columns < thalweg::kMostSide &&
      rows * columns < thalweg::kMostPixels) {
    return;
  }
  std::snprintf(
      p.why, THALWEG_WHY_BYTES,
      "the file claims %lld rows of %lld pixels: sides must be less than %lld, and pixels "
      "less than %lld",
      static_cast<long long>(rows), static_cast<long long>(columns),
      static_cast<long long>(thalweg::kMostSide), static_cast<long long>(thalweg::kMostPixels));
  End(p, kThalwegBadFile);
}

// The number of channels that come out.
int64_t Transform(Png& p, const ThalwegPngReading& how) {
  png_structp png = p.png;
  const int color = png_get_color_type(png, p.info), depth = png_get_bit_depth(png, p.info);
  const bool palette = color == PNG_COLOR_TYPE_PALETTE;
  const bool alpha = (color & PNG_COLOR_MASK_ALPHA) != 0;
  const bool transparent = png_get_valid(png, p.info, PNG_INFO_tRNS) != 0;
  const int channels = how.channels != 0 ? how.channels
                       : palette         ? (transparent ? 4 : 3)
                                         : png_get_channels(png, p.info);
  if (depth > 8 && how.bits == 8) png_set_strip_16(png);
  const bool wants_alpha = channels % 2 == 0;
  if (alpha && !wants_alpha) png_set_strip_alpha(png);
  if (palette) {
    png_set_palette_to_rgb(png);
  } else if (depth < 8) {
    png_set_expand_gray_1_2_4_to_8(png);
  }
  if (wants_alpha && !alpha) {
    if (transparent) {
      png_set_tRNS_to_alpha(png);
    } else {
      png_set_add_alpha(png, (1U << depth) - 1, PNG_FILLER_AFTER);
    }
  } else if (transparent && !wants_alpha) {
    png_set_strip_alpha(png);
  }
  const bool gray = !palette && (color & PNG_COLOR_MASK_COLOR) == 0;
  if (channels >= 3 && gray) png_set_gray_to_rgb(png);
  if (channels < 3 && !gray) png_set_rgb_to_gray(png, 1, 0.299, 0.587);
  const uint16_t one = 1;
  if (*reinterpret_cast<const uint8_t*>(&one) == 1 && how.bits == 16) png_set_swap(png);
  return channels;
}

// Bytes become 16 bits in place: 255 is 65535.
void Widen(uint8_t* row, int64_t count) {
  for (int64_t i = count - 1; i >= 0; --i) row[2 * i] = row[2 * i + 1] = row[i];
}

void Decode(Png& p, const ThalwegPngReading& how) {
  png_structp png = p.png;
  png_set_read_fn(png, &p, Fetch);
  png_set_user_limits(png, 0x7fffffff, 0x7fffffff);  // CheckSize says which
  SkipTexts(png);
  png_read_info(png, p.info);
  const int64_t rows = png_get_image_height(png, p.info);
  const int64_t columns = png_get_image_width(png, p.info);
  CheckSize(p, rows, columns);
  // libpng's own rows: up to three, of up to four numbers of 16 bits a pixel.
  if (p.host->charge(p.host->self, static_cast<uint64_t>(columns) * 24) == 0) End(p, kThalwegEnded);
  const bool widen = how.bits == 16 && png_get_bit_depth(png, p.info) <= 8;
  const ThalwegPictureSize size = {1, rows, columns, Transform(p, how)};
  const int passes = png_set_interlace_handling(png);
  png_read_update_info(png, p.info);
  const int64_t bytes = columns * size.channels * (how.bits / 8);
  if (static_cast<int64_t>(png_get_rowbytes(png, p.info)) != (widen ? bytes / 2 : bytes)) {
    png_error(png, "rows of another length than expected");
  }
  auto* const pixels = static_cast<uint8_t*>(p.host->room(p.host->self, &size));
  if (pixels == nullptr) End(p, kThalwegEnded);
  for (int pass = 0; pass < passes; ++pass) {
    for (p.row = 0; p.row < rows; ++p.row) {
      if (p.row % 64 == 0 && p.host->cancelled(p.host->self) != 0) End(p, kThalwegEnded);
      png_read_row(png, pixels + p.row * bytes, nullptr);
    }
  }
  for (int64_t y = 0; widen && y < rows; ++y) Widen(pixels + y * bytes, columns * size.channels);
  png_read_end(png, nullptr);
}

int DecodeOrJump(Png& p, const ThalwegPngReading& how) {
  if (setjmp(png_jmpbuf(p.png)) != 0) return p.code;
  Decode(p, how);
  return kThalwegDone;
}

void Append(png_structp png, png_bytep bytes, png_size_t size) {
  Png& p = *static_cast<Png*>(png_get_io_ptr(png));
  if (p.host->append(p.host->self, bytes, size) == 0) End(p, kThalwegEnded);
}

void Encode(Png& p, const void* pixels, const ThalwegPngWriting& how) {
  png_structp png = p.png;
  constexpr int kColors[] = {PNG_COLOR_TYPE_GRAY, PNG_COLOR_TYPE_GRAY_ALPHA, PNG_COLOR_TYPE_RGB,
                             PNG_COLOR_TYPE_RGB_ALPHA};
  png_set_write_fn(png, &p, Append, nullptr);
  png_set_user_limits(png, 0x7fffffff, 0x7fffffff);
  if (how.compression != -1) png_set_compression_level(png, how.compression);
  png_set_compression_mem_level(png, 9);  // zlib's largest
  png_set_IHDR(png, p.info, static_cast<png_uint_32>(how.columns),
               static_cast<png_uint_32>(how.rows), how.bits, kColors[how.channels - 1],
               PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  png_write_info(png, p.info);
  const uint16_t one = 1;
  if (*reinterpret_cast<const uint8_t*>(&one) == 1 && how.bits == 16) png_set_swap(png);
  const int64_t bytes = how.columns * how.channels * (how.bits / 8);
  const auto* row = static_cast<const uint8_t*>(pixels);
  for (int64_t y = 0; y < how.rows; ++y, row += bytes) {
    if (y % 64 == 0 && p.host->cancelled(p.host->self) != 0) End(p, kThalwegEnded);
    png_write_row(png, row);
  }
  png_write_end(png, nullptr);
}

int EncodeOrJump(Png& p, const void* pixels, const ThalwegPngWriting& how) {
  if (setjmp(png_jmpbuf(p.png)) != 0) return p.code;
  Encode(p, pixels, how);
  return kThalwegDone;
}

}  // namespace

int ThalwegReadPng(const ThalwegFile* file, const ThalwegPngReading* how, const ThalwegHost* host,
                   char* why) {
  Png p = {};
  p.file = file;
  p.host = host;
  p.why = why;
  p.png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &p, Fail, Ignore);
  if (p.png == nullptr) return kThalwegEnded;
  p.info = png_create_info_struct(p.png);
  const int code = p.info == nullptr ? kThalwegEnded : DecodeOrJump(p, *how);
  png_destroy_read_struct(&p.png, &p.info, nullptr);
  return code;
}

int ThalwegWritePng(const void* pixels, const ThalwegPngWriting* how, const ThalwegHost* host,
                    char* why) {
  Png p = {};
  p.host = host;
  p.why = why;
  p.png = png_create_write_struct(PNG_LIBPNG_VER_STRING, &p, Fail, Ignore);
  if (p.png == nullptr) return kThalwegEnded;
  p.info = png_create_info_struct(p.png);
  const int code = p.info == nullptr ? kThalwegEnded : EncodeOrJump(p, pixels, *how);
  png_destroy_write_struct(&p.png, &p.info);
  return code;
}
