// SPDX-License-Identifier: Apache-2.0
// Pixels of 8 bits as a PNG file.
//
//   ASSIGN_OR_RETURN(const std::string file,
//                    EncodePng({.width = 2, .height = 1, .channels = 3}, pixels));
//
// The pixels are stored, not compressed: the file is as large as they are. Any reader of PNG takes
// it.
// Ownership: the file is the caller's.
// Threads: any.
// Errors: InvalidArgument for an image without pixels, of other than 1 (gray), 3 (RGB) or 4 (RGBA)
// channels, or of more than 1 GiB.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "thalweg/base/status.h"

namespace thalweg::compute {

struct PngSize {
  int64_t width = 0, height = 0, channels = 0;
};

// `pixels`: height x width x channels, row by row.
Result<std::string> EncodePng(const PngSize& size, std::span<const uint8_t> pixels);

}  // namespace thalweg::compute
