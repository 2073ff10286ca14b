// SPDX-License-Identifier: Apache-2.0
// Images of numbers as bytes that show them.
// Ownership: image, color and bytes are the caller's.
// Threads: any; the caller's alone.
// Errors: Unimplemented for another type.
#pragma once

#include <cstdint>
#include <span>

#include "thalweg/base/status.h"
#include "thalweg/tensor/dtype.h"

namespace thalweg::compute {

// One image of `bytes.size()` elements. Floats are scaled so that the extremes of the pixels
// without infinities and NaNs fit: 0 .. largest to 0 .. 255, or about 128 when some are negative;
// other pixels get `bad_color`, whose size is the number of channels. Bytes stay as they are.
Status ImageBytes(DType dtype, const void* image, std::span<const uint8_t> bad_color,
                  std::span<uint8_t> bytes);

}  // namespace thalweg::compute
