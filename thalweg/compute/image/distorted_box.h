// SPDX-License-Identifier: Apache-2.0
// A random crop of an image that shows enough of an object.
//
//   ASSIGN_OR_RETURN(PixelBox crop, DrawBox(work, stream, wish, rows, columns, objects));
//
// Up to `attempts` boxes of random shape, size and place are drawn; the first that covers
// `least_covered` of one of the objects is it, the whole image when none does. The numbers, and so
// the box, are TensorFlow's. Sizes are below 2^31. Serial.
// Ownership: a value; stream, wish and objects are the caller's.
// Threads: any; the caller's alone.
// Errors: Cancelled between attempts.
#pragma once

#include <cstdint>
#include <span>

#include "thalweg/base/philox.h"
#include "thalweg/base/status.h"
#include "thalweg/compute/work.h"

namespace thalweg::compute {

// Rows [top, bottom), columns [left, right).
struct PixelBox {
  int64_t top = 0, left = 0, bottom = 0, right = 0;
  int64_t rows() const { return bottom - top; }
  int64_t columns() const { return right - left; }
};

struct BoxWish {
  float least_covered = 0.1f;
  float min_aspect = 0.75f, max_aspect = 1.33f;  // columns to rows
  float min_area = 0.05f, max_area = 1;          // of the image
  int64_t attempts = 100;
};

// One block of `stream` an attempt is enough to be reserved.
Result<PixelBox> DrawBox(Work& work, const Philox& stream, const BoxWish& wish, int64_t rows,
                         int64_t columns, std::span<const PixelBox> objects);

}  // namespace thalweg::compute
