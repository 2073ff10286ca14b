// SPDX-License-Identifier: Apache-2.0
// HeapCharge: bytes that lie outside of an allocator's blocks, counted against its limit.
//
//   HeapCharge charge;                                    // given back when it goes
//   RETURN_IF_ERROR(charge.Set(ctx.allocator(), bytes));  // before the bytes are taken
//   RETURN_IF_ERROR(places_.MakeRoom(ctx.allocator(), elements_.size() + 1, sizeof(Tensor)));
//   elements_.push_back(tensor);
//
// Ownership: the allocator stays for what is charged to it.
// Threads: one at a time for each object.
// Errors: ResourceExhausted with the bytes asked for and the limit; then no more is charged than
// before.
#pragma once

#include <cstddef>

#include "thalweg/base/status.h"
#include "thalweg/tensor/allocator.h"

namespace thalweg {

// An allocator whose limit also counts bytes that lie outside of its blocks.
class ChargedAllocator : public Allocator {
 public:
  // False, and nothing is charged: the limit would be passed.
  virtual bool Charge(size_t bytes) = 0;
  virtual void Discharge(size_t bytes) = 0;
};

// What one holder of such bytes is charged with. A copy is charged with nothing.
class HeapCharge {
 public:
  HeapCharge() = default;
  HeapCharge(const HeapCharge&) {}
  HeapCharge& operator=(const HeapCharge&) = delete;
  ~HeapCharge() { Clear(); }
  size_t bytes() const { return bytes_; }
  // Makes `bytes` the charge, on the allocator of the first charge. Where that counts blocks only,
  // nothing is charged.
  Status Set(Allocator& allocator, size_t bytes);
  void Clear() {
    if (bytes_ != 0) allocator_->Discharge(bytes_);
    bytes_ = 0;
  }

 private:
  ChargedAllocator* allocator_ = nullptr;
  size_t bytes_ = 0;
};

// The places of a container that grows one by one. A few are free, so that small ones cost nothing;
// more are charged twice as many at a time, as the container's memory grows.
class PlacesCharge {
 public:
  PlacesCharge() = default;
  // The copy's places are those of the next MakeRoom.
  PlacesCharge(const PlacesCharge&) {}
  PlacesCharge& operator=(const PlacesCharge&) = delete;
  Status MakeRoom(Allocator& allocator, size_t places, size_t bytes_of_each) {
    return places <= places_ ? OkStatus() : Grow(allocator, places, bytes_of_each);
  }
  // The container was emptied.
  void Clear();

 private:
  static constexpr size_t kFree = 16;
  Status Grow(Allocator& allocator, size_t places, size_t bytes_of_each);

  HeapCharge charge_;
  size_t places_ = kFree;
};

}  // namespace thalweg
