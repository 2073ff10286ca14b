// SPDX-License-Identifier: Apache-2.0
// Pictures as files: JPEG, PNG, GIF, BMP. The first three need libthalweg_images.so beside the
// library (libjpeg-turbo, libpng, giflib), else Unimplemented.
//
//   PictureHost host{.allocator = ctx.allocator(), .work = ctx.work(), .room = ...};
//   RETURN_IF_ERROR(ReadPng(bytes, /*channels=*/3, /*bits=*/8, host));
//
// A reader asks host.room once it knows what the file claims, and puts the pixels there: rows from
// the top, channels side by side. room may refuse, and is asked again where an animation turns out
// to have fewer whole frames.
// Ownership: pixels are the host's, from `room`; a file that is written is the caller's.
// Threads: any.
// Errors: InvalidArgument with the format, what was expected and where; a picture of 2^29 pixels or
// more is refused before room is asked. Memory that a library takes by the size of a picture is
// charged to the allocator. After an error the pixels are undefined.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "thalweg/base/status.h"
#include "thalweg/compute/work.h"
#include "thalweg/tensor/allocator.h"

namespace thalweg::compute {

enum class PictureKind : uint8_t { kUnknown, kJpeg, kPng, kGif, kBmp, kWebp };
// By how the bytes begin.
PictureKind KindOfPicture(std::string_view file);

struct PictureSize {
  int64_t frames = 1, rows = 0, columns = 0, channels = 0;
};

struct PictureHost {
  Allocator& allocator;
  Work& work;
  std::function<Result<void*>(const PictureSize&)> room;
};

struct JpegReading {
  int channels = 0;  // 0: those of the file
  int ratio = 1;     // smaller by 1, 2, 4 or 8
  bool fancy_upscaling = true, fast_dct = true;
  bool recover = false;  // a truncated file, of which at least acceptable_fraction is there
  float acceptable_fraction = 1;
  bool crop = false;
  int64_t top = 0, left = 0, rows = 0, columns = 0;
};

struct JpegWriting {
  int quality = 95;
  bool progressive = false, optimize = false, downsample = true;
  bool centimeters = false;
  int x_density = 300, y_density = 300;
  std::string xmp;
};

Result<PictureSize> JpegShape(std::string_view file);
Status ReadJpeg(std::string_view file, const JpegReading& how, const PictureHost& host);
// Elements of 8 or 16 bits.
Status ReadPng(std::string_view file, int channels, int bits, const PictureHost& host);
// Three channels, and every frame on top of the one before; a damaged frame ends the animation.
Status ReadGif(std::string_view file, bool first_only, const PictureHost& host);
Status ReadBmp(std::string_view file, int channels, const PictureHost& host);

// `size`: of one frame with 1 or 3 channels. host.room is not asked.
Result<std::string> WriteJpeg(const uint8_t* pixels, const PictureSize& size,
                              const JpegWriting& how, const PictureHost& host);
// `size`: of one frame with 1 to 4 channels of 8 or 16 bits; compression from 0 to 9, or -1.
Result<std::string> WritePng(const void* pixels, const PictureSize& size, int bits, int compression,
                             const PictureHost& host);

}  // namespace thalweg::compute
