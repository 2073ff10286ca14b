// SPDX-License-Identifier: Apache-2.0
#include "thalweg/ops/image/picture_place.h"

#include <cstring>

namespace thalweg {
namespace {

size_t BytesOf(DType dtype) { return dtype == DType::kUint8 ? 1 : dtype == DType::kUint16 ? 2 : 4; }

// Elements that lie at the end of the memory move to its begin, one by one: none is overwritten
// before it was read.
template <class From, class To, class F>
void Spread(char* memory, int64_t n, const F& f) {
  const char* from = memory + static_cast<size_t>(n) * (sizeof(To) - sizeof(From));
  for (int64_t i = 0; i < n; ++i) {
    From value;
    std::memcpy(&value, from + static_cast<size_t>(i) * sizeof(From), sizeof value);
    const To made = f(value);
    std::memcpy(memory + static_cast<size_t>(i) * sizeof(To), &made, sizeof made);
  }
}

}  // namespace

PicturePlace::PicturePlace(Context& ctx, DType dtype, int bits, bool frames)
    : ctx_(ctx),
      dtype_(dtype),
      bits_(bits),
      frames_(frames),
      host_{.allocator = ctx.allocator(),
            .work = ctx.work(),
            .room = [this](const compute::PictureSize& size) { return Room(size); }} {}

Result<void*> PicturePlace::Room(const compute::PictureSize& size) {
  if (!frames_ && size.frames != 1) {
    return InvalidArgument(
        "Got ", size.frames,
        " frames, but animated gifs can only be decoded by tf.io.decode_gif or tf.io.decode_image");
  }
  Dims dims{size.rows, size.columns, size.channels};
  if (frames_) dims = Dims{size.frames, size.rows, size.columns, size.channels};
  ASSIGN_OR_RETURN(const Shape shape, Shape::Make(dims));
  ASSIGN_OR_RETURN(pixels_, ctx_.AllocateOutput(0, dtype_, shape));
  const size_t wider = BytesOf(dtype_) - static_cast<size_t>(bits_) / 8;
  return static_cast<char*>(pixels_->mutable_raw_data()) +
         wider * static_cast<size_t>(pixels_->num_elements());
}

void PicturePlace::Convert() {
  auto* const memory = static_cast<char*>(pixels_->mutable_raw_data());
  const int64_t n = pixels_->num_elements();
  if (dtype_ == DType::kUint16 && bits_ == 8) {
    Spread<uint8_t, uint16_t>(memory, n, [](uint8_t v) { return static_cast<uint16_t>(v << 8); });
  } else if (dtype_ == DType::kFloat && bits_ == 8) {
    Spread<uint8_t, float>(memory, n, [](uint8_t v) { return v * (1.0F / 255.0F); });
  } else if (dtype_ == DType::kFloat && bits_ == 16) {
    Spread<uint16_t, float>(memory, n, [](uint16_t v) { return v * (1.0F / 65535.0F); });
  }
}

}  // namespace thalweg
