// SPDX-License-Identifier: Apache-2.0
// Fuzzer of ReadJpeg: the last byte of an input chooses the options, and is part of the file, too.
#include "thalweg/compute/codec/test_pictures.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace thalweg;
  using namespace thalweg::compute;
  constexpr int64_t kMost = int64_t{1} << 23;
  const std::string_view file(reinterpret_cast<const char*>(data), size);
  const int options = size == 0 ? 0 : data[size - 1];
  const bool crop = options % 2 == 1;
  const JpegReading how{.channels = options / 2 % 3 == 2 ? 3 : options / 2 % 3,
                        .ratio = 1 << options / 6 % 4,
                        .fancy_upscaling = options / 24 % 2 == 0,
                        .recover = options / 48 % 2 == 1,
                        .acceptable_fraction = 0.5F,
                        .crop = crop,
                        .top = options / 16,
                        .left = options / 8,
                        .rows = 3,
                        .columns = 5};
  TestPicture picture(kMost);
  if (ReadJpeg(file, how, picture.host()).ok()) picture.Check();
  const Result<PictureSize> shape = JpegShape(file);
  CHECK(shape.ok() || !shape.status().message().empty());
  CHECK(picture.other_bytes() == 0);
  return 0;
}
