// SPDX-License-Identifier: Apache-2.0
// The table of functions between this library and libthalweg_images.so, the component that holds
// libjpeg-turbo, libpng and giflib. Plain C on purpose. Private to compute/codec.
//
//   const ThalwegImagesApi* api = thalweg_images(THALWEG_IMAGES_VERSION);   // by dlsym
//
// A reader asks the host for the place of its pixels once it knows what the file claims, and writes
// them there; memory that a library takes by the size of a picture is charged first.
// Ownership: file, pixels and `why` are the host's; nothing of a call is kept.
// Threads: any; no function keeps anything between calls. Nothing is written to stderr.
// Errors: kThalwegBadFile with `why`, a text that ends with 0; kThalwegEnded when the host refused.
#pragma once

#include <cstddef>
#include <cstdint>

extern "C" {

#define THALWEG_IMAGES_VERSION 1
#define THALWEG_WHY_BYTES 200

enum ThalwegImagesCode { kThalwegDone = 0, kThalwegBadFile = 1, kThalwegEnded = 2 };

struct ThalwegPictureSize {
  int64_t frames, rows, columns, channels;
};

struct ThalwegHost {
  void* self;
  // Where the pixels go; null ends the call.
  void* (*room)(void* self, const struct ThalwegPictureSize* size);
  // 0 ends the call.
  int (*charge)(void* self, uint64_t bytes);
  // A piece of the file that is written; 0 ends the call.
  int (*append)(void* self, const void* bytes, size_t size);
  int (*cancelled)(void* self);
};

struct ThalwegFile {
  const uint8_t* bytes;
  size_t size;
};

struct ThalwegJpegReading {
  int channels;  // 0: those of the file
  int ratio;     // 1, 2, 4, 8
  int fancy_upscaling, fast_dct;
  int recover;  // what is missing at the end is black
  float acceptable_fraction;
  int crop;
  int64_t top, left, rows, columns;  // with crop
};

struct ThalwegJpegWriting {
  int64_t rows, columns;
  int channels;  // 1 or 3
  int quality;
  int progressive, optimize, downsample;
  int density_unit, x_density, y_density;
  const char* xmp;
  size_t xmp_size;
};

struct ThalwegPngReading {
  int channels;  // 0: those of the file
  int bits;      // 8 or 16
};

struct ThalwegPngWriting {
  int64_t rows, columns;
  int channels, bits;
  int compression;  // -1: zlib's own
};

struct ThalwegImagesApi {
  int (*jpeg_shape)(const struct ThalwegFile* file, struct ThalwegPictureSize* size, char* why);
  int (*read_jpeg)(const struct ThalwegFile* file, const struct ThalwegJpegReading* how,
                   const struct ThalwegHost* host, char* why);
  int (*write_jpeg)(const uint8_t* pixels, const struct ThalwegJpegWriting* how,
                    const struct ThalwegHost* host, char* why);
  int (*read_png)(const struct ThalwegFile* file, const struct ThalwegPngReading* how,
                  const struct ThalwegHost* host, char* why);
  int (*write_png)(const void* pixels, const struct ThalwegPngWriting* how,
                   const struct ThalwegHost* host, char* why);
  // One frame only where `first_only`.
  int (*read_gif)(const struct ThalwegFile* file, int first_only, const struct ThalwegHost* host,
                  char* why);
};

// Null for a version that the component does not know.
typedef const struct ThalwegImagesApi* (*ThalwegImagesEntry)(int version);
}
