// SPDX-License-Identifier: Apache-2.0
// For tests and fuzzers: a place for the pixels of one picture, in memory of a limited allocator.
//   TestPicture picture(int64_t{1} << 26);
//   if (ReadPng(file, 0, 8, picture.host()).ok()) picture.Check();
#pragma once

#include <cstring>

#include "thalweg/base/check.h"
#include "thalweg/compute/codec/pictures.h"
#include "thalweg/compute/work.h"

namespace thalweg::compute {

class TestPicture {
 public:
  explicit TestPicture(int64_t limit, int element_bytes = 1)
      : element_bytes_(element_bytes),
        allocator_(MakeCpuAllocator(limit)),
        work_(GetIsaTable(BestIsaLevel())),
        host_{.allocator = *allocator_, .work = work_, .room = [this](const PictureSize& size) {
                return Room(size);
              }} {}
  ~TestPicture() { Clear(); }

  const PictureHost& host() const { return host_; }
  const PictureSize& size() const { return size_; }
  const uint8_t* pixels() const { return static_cast<const uint8_t*>(pixels_); }
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
    return allocator_->Stats().bytes_in_use - (pixels_ == nullptr ? 0 : given_);
  }

 private:
  Result<void*> Room(const PictureSize& size) {
    Clear();
    size_ = size;
    bytes_ = static_cast<size_t>(size.frames * size.rows * size.columns * size.channels) *
             static_cast<size_t>(element_bytes_);
    const int64_t before = allocator_->Stats().bytes_in_use;
    pixels_ = allocator_->Allocate(bytes_);
    given_ = allocator_->Stats().bytes_in_use - before;
    if (pixels_ == nullptr) return AllocationError(*allocator_, bytes_);
    return pixels_;
  }
  void Clear() {
    if (pixels_ != nullptr) allocator_->Deallocate(pixels_, bytes_);
    pixels_ = nullptr;
  }

  const int element_bytes_;
  AllocatorPtr allocator_;
  SerialWork work_;
  PictureSize size_;
  void* pixels_ = nullptr;
  size_t bytes_ = 0;
  int64_t given_ = 0;
  PictureHost host_;
};

}  // namespace thalweg::compute
