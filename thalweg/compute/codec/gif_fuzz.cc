// SPDX-License-Identifier: Apache-2.0
// Fuzzer of ReadGif: the last byte of an input chooses the options, and is part of the file, too.
#include "thalweg/compute/codec/test_pictures.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace thalweg;
  using namespace thalweg::compute;
  constexpr int64_t kMost = int64_t{1} << 23;
  const std::string_view file(reinterpret_cast<const char*>(data), size);
  const int options = size == 0 ? 0 : data[size - 1];
  TestPicture picture(kMost);
  if (ReadGif(file, options % 2 == 1, picture.host()).ok()) picture.Check();
  CHECK(picture.other_bytes() == 0);
  return 0;
}
