// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "thalweg/compute/codec/jpeg_component.h"
#include "thalweg/compute/codec/picture_limits.h"

namespace {

// A file may have several scans, a few bytes of each of which make libjpeg go through the picture.
constexpr int kMostScans = 500;

// What a jump must not lose lies here, outside of the functions that it leaves.
struct Reader {
  jpeg_decompress_struct info;
  JpegErrors errors;
  jpeg_source_mgr source;
  jpeg_progress_mgr progress;
  const ThalwegFile* file;
  const ThalwegJpegReading* how;
  const ThalwegHost* host;
  bool recover;
  uint8_t* line;  // of one row, where it does not go to its place directly
};

constexpr JOCTET kEnd[2] = {0xFF, JPEG_EOI};

Reader& Of(j_decompress_ptr info) { return *static_cast<Reader*>(info->client_data); }

void NoStart(j_decompress_ptr) {}

// The file is over. A recovered picture ends here; another one waits for bytes that do not come,
// which the caller sees.
boolean NoMore(j_decompress_ptr info) {
  if (!Of(info).recover) return FALSE;
  info->src->next_input_byte = kEnd;
  info->src->bytes_in_buffer = sizeof kEnd;
  return TRUE;
}

void Skip(j_decompress_ptr info, long count) {
  if (count <= 0) return;
  const size_t step = std::min(static_cast<size_t>(count), info->src->bytes_in_buffer);
  info->src->next_input_byte += step;
  info->src->bytes_in_buffer -= step;
  if (step < static_cast<size_t>(count) && Of(info).recover) NoMore(info);
}

void Watch(j_common_ptr info) {
  auto* const d = reinterpret_cast<j_decompress_ptr>(info);
  Reader& reader = Of(d);
  if (reader.host != nullptr && reader.host->cancelled(reader.host->self) != 0) {
    EndJpeg(info, kThalwegEnded);
  }
  if (d->input_scan_number > kMostScans) {
    std::snprintf(reader.errors.why, THALWEG_WHY_BYTES, "more than %d scans", kMostScans);
    EndJpeg(info, kThalwegBadFile);
  }
}

[[noreturn]] void Refuse(Reader& reader, const char* what, long long found, long long most) {
  std::snprintf(reader.errors.why, THALWEG_WHY_BYTES, what, found, most);
  EndJpeg(reinterpret_cast<j_common_ptr>(&reader.info), kThalwegBadFile);
}

// Everything up to the first scan.
void ReadHeader(Reader& reader) {
  j_decompress_ptr info = &reader.info;
  jpeg_create_decompress(info);
  info->client_data = &reader;
  reader.source.next_input_byte = reader.file->bytes;
  reader.source.bytes_in_buffer = reader.file->size;
  reader.source.init_source = NoStart;
  reader.source.fill_input_buffer = NoMore;
  reader.source.skip_input_data = Skip;
  reader.source.resync_to_restart = jpeg_resync_to_restart;
  reader.source.term_source = NoStart;
  info->src = &reader.source;
  reader.progress.progress_monitor = Watch;
  info->progress = &reader.progress;
  if (jpeg_read_header(info, TRUE) != JPEG_HEADER_OK) {
    Refuse(reader, "the file ends within its header", 0, 0);
  }
}

// A file of several scans is kept whole before the first row comes out.
void ChargeScans(Reader& reader) {
  j_decompress_ptr info = &reader.info;
  if (!jpeg_has_multiple_scans(info)) return;
  uint64_t bytes = 0;
  for (int i = 0; i < info->num_components; ++i) {
    const jpeg_component_info& part = info->comp_info[i];
    const auto high = static_cast<uint64_t>(part.v_samp_factor);
    const auto wide = static_cast<uint64_t>(part.h_samp_factor);
    bytes += (part.width_in_blocks + wide) * (part.height_in_blocks + high) * sizeof(JBLOCK);
  }
  if (reader.host->charge(reader.host->self, bytes) == 0) {
    EndJpeg(reinterpret_cast<j_common_ptr>(info), kThalwegEnded);
  }
}

void ChooseOutput(Reader& reader) {
  j_decompress_ptr info = &reader.info;
  const ThalwegJpegReading& how = *reader.how;
  const int channels = how.channels != 0 ? how.channels : std::min(info->num_components, 3);
  const bool four_inks = info->jpeg_color_space == JCS_CMYK || info->jpeg_color_space == JCS_YCCK;
  info->out_color_space = channels == 1 ? JCS_GRAYSCALE : four_inks ? JCS_CMYK : JCS_RGB;
  info->do_fancy_upsampling = how.fancy_upscaling != 0 ? TRUE : FALSE;
  info->scale_num = 1;
  info->scale_denom = static_cast<unsigned>(how.ratio);
  info->dct_method = how.fast_dct != 0 ? JDCT_IFAST : JDCT_ISLOW;
  jpeg_calc_output_dimensions(info);
  // The whole picture counts, also where a smaller one comes out: libjpeg goes through all of it.
  const auto pixels = static_cast<int64_t>(info->image_width) * info->image_height;
  if (pixels >= thalweg::kMostPixels) {
    Refuse(reader, "the file claims %lld pixels, more than %lld", pixels, thalweg::kMostPixels - 1);
  }
  if (how.crop != 0 && (how.top < 0 || how.left < 0 || how.rows <= 0 || how.columns <= 0 ||
                        how.top > static_cast<int64_t>(info->output_height) - how.rows ||
                        how.left > static_cast<int64_t>(info->output_width) - how.columns)) {
    Refuse(reader, "the crop window does not lie within %lld rows and %lld columns",
           info->output_height, info->output_width);
  }
}

void InksToColors(const uint8_t* inks, bool inverted, int64_t columns, uint8_t* rgb) {
  for (int64_t x = 0; x < columns; ++x, inks += 4, rgb += 3) {
    for (int c = 0; c < 3; ++c) {
      const int black = inverted ? inks[3] : 255 - inks[3];
      rgb[c] = static_cast<uint8_t>(black * (inverted ? inks[c] : 255 - inks[c]) / 255);
    }
  }
}

struct Part {
  int64_t top, left, rows, columns;
  int channels;
};

// Decoded columns may begin before those that are wanted: `before` many.
void ReadRows(Reader& reader, const Part& part, int64_t before, uint8_t* pixels) {
  j_decompress_ptr info = &reader.info;
  const int64_t width = part.columns * part.channels;
  const bool inks = info->out_color_space == JCS_CMYK;
  const bool direct = !inks && before == 0 && info->output_width == part.columns;
  if (!direct) {
    reader.line = static_cast<uint8_t*>(std::malloc(static_cast<size_t>(info->output_width) *
                                                    static_cast<size_t>(info->output_components)));
    if (reader.line == nullptr) Refuse(reader, "no memory for a row", 0, 0);
  }
  for (int64_t y = 0; y < part.rows; ++y) {
    uint8_t* const to = pixels + y * width;
    JSAMPROW row = direct ? to : reader.line;
    if (jpeg_read_scanlines(info, &row, 1) == 0) {
      const float there = static_cast<float>(y) / static_cast<float>(part.rows);
      if (!reader.recover || there < reader.how->acceptable_fraction) {
        Refuse(reader, "the file ends at row %lld of %lld", part.top + y, part.top + part.rows);
      }
      std::memset(to, 0, static_cast<size_t>((part.rows - y) * width));
      return;
    }
    if (direct) continue;
    const uint8_t* const from = reader.line + before * info->output_components;
    if (inks) {
      InksToColors(from, info->saw_Adobe_marker != 0, part.columns, to);
    } else {
      std::memcpy(to, from, static_cast<size_t>(width));
    }
  }
}

void Decode(Reader& reader) {
  ReadHeader(reader);
  ChooseOutput(reader);
  j_decompress_ptr info = &reader.info;
  const ThalwegJpegReading& how = *reader.how;
  Part part = {0, 0, info->output_height, info->output_width,
               info->out_color_space == JCS_GRAYSCALE ? 1 : 3};
  if (how.crop != 0) part = {how.top, how.left, how.rows, how.columns, part.channels};
  ChargeScans(reader);
  const ThalwegPictureSize size = {1, part.rows, part.columns, part.channels};
  auto* const pixels = static_cast<uint8_t*>(reader.host->room(reader.host->self, &size));
  if (pixels == nullptr) EndJpeg(reinterpret_cast<j_common_ptr>(info), kThalwegEnded);
  if (!jpeg_start_decompress(info)) Refuse(reader, "the file ends before its last scan", 0, 0);
  int64_t before = part.left;
  if (how.crop != 0) {
    // Whole blocks only: the first column becomes that of its block.
    auto first = static_cast<JDIMENSION>(part.left), count = static_cast<JDIMENSION>(part.columns);
    if (count < info->output_width) jpeg_crop_scanline(info, &first, &count);
    before = part.left - (count < info->output_width || first != 0 ? first : 0);
    if (part.top > 0) jpeg_skip_scanlines(info, static_cast<JDIMENSION>(part.top));
  }
  ReadRows(reader, part, before, pixels);
  // What comes behind the last row decides nothing, but the file must have its end.
  if (how.crop == 0 && !reader.recover && !jpeg_finish_decompress(info)) {
    Refuse(reader, "the file ends without its end marker", 0, 0);
  }
}

int DecodeOrJump(Reader& reader) {
  if (setjmp(reader.errors.back) != 0) return reader.errors.code;
  Decode(reader);
  return kThalwegDone;
}

int HeaderOrJump(Reader& reader, ThalwegPictureSize* size) {
  if (setjmp(reader.errors.back) != 0) return reader.errors.code;
  ReadHeader(reader);
  jpeg_calc_output_dimensions(&reader.info);
  *size = {1, reader.info.output_height, reader.info.output_width, reader.info.num_components};
  return kThalwegDone;
}

template <class F>
int WithReader(const ThalwegFile* file, char* why, const F& f) {
  Reader reader = {};
  reader.info.err = StartJpegErrors(reader.errors, why);
  reader.file = file;
  const int code = f(reader);
  jpeg_destroy_decompress(&reader.info);
  std::free(reader.line);
  return code;
}

}  // namespace

int ThalwegJpegShape(const ThalwegFile* file, ThalwegPictureSize* size, char* why) {
  return WithReader(file, why, [&](Reader& reader) { return HeaderOrJump(reader, size); });
}

int ThalwegReadJpeg(const ThalwegFile* file, const ThalwegJpegReading* how, const ThalwegHost* host,
                    char* why) {
  return WithReader(file, why, [&](Reader& reader) {
    reader.how = how;
    reader.host = host;
    reader.recover = how->recover != 0;
    return DecodeOrJump(reader);
  });
}
