// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "thalweg/compute/codec/jpeg_component.h"

jpeg_error_mgr* StartJpegErrors(JpegErrors& errors, char* why) {
  jpeg_std_error(&errors.pub);
  errors.code = kThalwegBadFile;
  errors.why = why;
  errors.pub.error_exit = [](j_common_ptr info) {
    auto* const found = reinterpret_cast<JpegErrors*>(info->err);
    char text[JMSG_LENGTH_MAX];
    info->err->format_message(info, text);
    std::snprintf(found->why, THALWEG_WHY_BYTES, "%.190s", text);
    EndJpeg(info, kThalwegBadFile);
  };
  // Warnings are counted and said to nobody.
  errors.pub.emit_message = [](j_common_ptr info, int level) {
    if (level < 0) ++info->err->num_warnings;
  };
  errors.pub.output_message = [](j_common_ptr) {};
  return &errors.pub;
}

void EndJpeg(j_common_ptr info, int code) {
  auto* const errors = reinterpret_cast<JpegErrors*>(info->err);
  errors->code = code;
  std::longjmp(errors->back, 1);
}

namespace {

constexpr size_t kPiece = 1 << 14;
constexpr char kXmpName[] = "http://ns.adobe.com/xap/1.0/";  // with the 0 behind it

struct Writer {
  jpeg_compress_struct info;
  JpegErrors errors;
  jpeg_destination_mgr destination;
  const uint8_t* pixels;
  const ThalwegJpegWriting* how;
  const ThalwegHost* host;
  uint8_t* marker;
  JOCTET piece[kPiece];
};

Writer& Of(j_compress_ptr info) { return *static_cast<Writer*>(info->client_data); }

void Give(j_compress_ptr info, size_t size) {
  Writer& writer = Of(info);
  if (writer.host->append(writer.host->self, writer.piece, size) == 0) {
    EndJpeg(reinterpret_cast<j_common_ptr>(info), kThalwegEnded);
  }
  writer.destination.next_output_byte = writer.piece;
  writer.destination.free_in_buffer = kPiece;
}

void Start(j_compress_ptr info) {
  Of(info).destination.next_output_byte = Of(info).piece;
  Of(info).destination.free_in_buffer = kPiece;
}
boolean Full(j_compress_ptr info) {
  Give(info, kPiece);
  return TRUE;
}
void End(j_compress_ptr info) { Give(info, kPiece - Of(info).destination.free_in_buffer); }

void SetOptions(Writer& writer) {
  j_compress_ptr info = &writer.info;
  const ThalwegJpegWriting& how = *writer.how;
  info->image_width = static_cast<JDIMENSION>(how.columns);
  info->image_height = static_cast<JDIMENSION>(how.rows);
  info->input_components = how.channels;
  info->in_color_space = how.channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
  jpeg_set_defaults(info);
  if (how.optimize != 0) info->optimize_coding = TRUE;
  info->density_unit = static_cast<UINT8>(how.density_unit);
  info->X_density = static_cast<UINT16>(how.x_density);
  info->Y_density = static_cast<UINT16>(how.y_density);
  jpeg_set_quality(info, how.quality, TRUE);
  if (how.progressive != 0) jpeg_simple_progression(info);
  if (how.downsample == 0) {
    for (int i = 0; i < info->num_components; ++i) {
      info->comp_info[i].h_samp_factor = info->comp_info[i].v_samp_factor = 1;
    }
  }
}

// The rows of a picture in several scans, or with tables of its own, are kept until the last.
void ChargeRows(Writer& writer) {
  const ThalwegJpegWriting& how = *writer.how;
  if (how.progressive == 0 && how.optimize == 0) return;
  const auto pixels =
      static_cast<uint64_t>(how.rows + 16) * static_cast<uint64_t>(how.columns + 16);
  if (writer.host->charge(writer.host->self,
                          pixels * static_cast<uint64_t>(how.channels) * sizeof(JCOEF)) == 0) {
    EndJpeg(reinterpret_cast<j_common_ptr>(&writer.info), kThalwegEnded);
  }
}

void WriteXmp(Writer& writer) {
  const ThalwegJpegWriting& how = *writer.how;
  if (how.xmp_size == 0) return;
  const size_t size = sizeof kXmpName + how.xmp_size;
  writer.marker = static_cast<uint8_t*>(std::malloc(size));
  if (writer.marker == nullptr)
    EndJpeg(reinterpret_cast<j_common_ptr>(&writer.info), kThalwegEnded);
  std::memcpy(writer.marker, kXmpName, sizeof kXmpName);
  std::memcpy(writer.marker + sizeof kXmpName, how.xmp, how.xmp_size);
  jpeg_write_marker(&writer.info, JPEG_APP0 + 1, writer.marker, static_cast<unsigned>(size));
}

void Encode(Writer& writer) {
  j_compress_ptr info = &writer.info;
  jpeg_create_compress(info);
  info->client_data = &writer;
  writer.destination.init_destination = Start;
  writer.destination.empty_output_buffer = Full;
  writer.destination.term_destination = End;
  info->dest = &writer.destination;
  SetOptions(writer);
  ChargeRows(writer);
  jpeg_start_compress(info, TRUE);
  WriteXmp(writer);
  const int64_t width = writer.how->columns * writer.how->channels;
  while (info->next_scanline < info->image_height) {
    if (writer.host->cancelled(writer.host->self) != 0) {
      EndJpeg(reinterpret_cast<j_common_ptr>(info), kThalwegEnded);
    }
    // libjpeg reads rows through pointers that are not const.
    auto* row = const_cast<JSAMPROW>(writer.pixels + width * info->next_scanline);
    jpeg_write_scanlines(info, &row, 1);
  }
  jpeg_finish_compress(info);
}

int EncodeOrJump(Writer& writer) {
  if (setjmp(writer.errors.back) != 0) return writer.errors.code;
  Encode(writer);
  return kThalwegDone;
}

}  // namespace

int ThalwegWriteJpeg(const uint8_t* pixels, const ThalwegJpegWriting* how, const ThalwegHost* host,
                     char* why) {
  auto* const writer = static_cast<Writer*>(std::calloc(1, sizeof(Writer)));
  if (writer == nullptr) return kThalwegEnded;
  writer->info.err = StartJpegErrors(writer->errors, why);
  writer->pixels = pixels;
  writer->how = how;
  writer->host = host;
  const int code = EncodeOrJump(*writer);
  jpeg_destroy_compress(&writer->info);
  std::free(writer->marker);
  std::free(writer);
  return code;
}
