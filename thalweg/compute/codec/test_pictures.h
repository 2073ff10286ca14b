// SPDX-License-Identifier: Apache-2.0
// For tests and fuzzers: a place for the pixels of one picture, in memory of a limited allocator.
//   TestPicture picture(int64_t{1} << 26);
//   if (ReadPng(file, 0, 8, picture.host()).ok()) picture.Check();
#pragma once

#include <cstring>
#include <memory>

#include "thalweg/base/check.h"
#include "thalweg/compute/codec/pictures.h"
#include "thalweg/compute/work.h"
#include "thalweg/tensor/heap_charge.h"

namespace thalweg::compute {

class TestPicture {
 public:
  explicit TestPicture(int64_t limit, int element_bytes = 1)
      : element_bytes_(element_bytes),
        allocator_(MakeCpuAllocator(limit)),
        work_(kNoLoops),
        host_{.allocator = *allocator_, .work = work_, .room = [this](const PictureSize& size) {
                return Room(size);
              }} {}
  const PictureHost& host() const { return host_; }
  const PictureSize& size() const { return size_; }
  const uint8_t* pixels() const { return pixels_.get(); }
  size_t bytes() const { return bytes_; }
  // Every pixel was written: reading all of them is what memory checkers look at.
  void Check() const {
    CHECK(pixels_ != nullptr && size_.frames > 0 && size_.rows > 0 && size_.columns > 0);
    size_t sum = 0;
    for (size_t i = 0; i < bytes_; ++i) sum += pixels()[i];
    CHECK(sum <= bytes_ * 255);
  }
  // What is taken beside the pixels.
  int64_t other_bytes() const {
    return allocator_->Stats().bytes_in_use - static_cast<int64_t>(charge_.bytes());
  }

 private:
  Result<void*> Room(const PictureSize& size) {
    pixels_ = nullptr;
    charge_.Clear();
    size_ = size;
    bytes_ = static_cast<size_t>(size.frames * size.rows * size.columns * size.channels) *
             static_cast<size_t>(element_bytes_);
    RETURN_IF_ERROR(charge_.Set(*allocator_, bytes_));
    pixels_.reset(new uint8_t[bytes_]);
    return pixels_.get();
  }

  static constexpr IsaTable kNoLoops{};  // none is used, and fuzzers need not link them

  const int element_bytes_;
  AllocatorPtr allocator_;
  SerialWork work_;
  PictureSize size_;
  // Not of the allocator, in whose blocks memory checkers do not see what is written too far.
  std::unique_ptr<uint8_t[]> pixels_;
  HeapCharge charge_;
  size_t bytes_ = 0;
  PictureHost host_;
};

}  // namespace thalweg::compute
