// SPDX-License-Identifier: Apache-2.0
#include "thalweg/tensor/heap_charge.h"

#include <algorithm>

#include "thalweg/tensor/find_charged.h"

namespace thalweg {

Status HeapCharge::Set(Allocator& allocator, size_t bytes) {
  if (bytes == bytes_) return OkStatus();
  if (allocator_ == nullptr) allocator_ = FindCharged(allocator);
  if (allocator_ == nullptr) return OkStatus();
  if (bytes < bytes_) {
    allocator_->Discharge(bytes_ - bytes);
  } else if (!allocator_->Charge(bytes - bytes_)) {
    return AllocationError(*allocator_, bytes - bytes_);
  }
  bytes_ = bytes;
  return OkStatus();
}

Status PlacesCharge::Grow(Allocator& allocator, size_t places, size_t bytes_of_each) {
  const size_t wanted = std::max(places, 2 * places_);
  size_t bytes = 0;
  if (__builtin_mul_overflow(wanted, bytes_of_each, &bytes)) {
    return ResourceExhausted(places, " places of ", bytes_of_each,
                             " bytes are more than the address space");
  }
  RETURN_IF_ERROR(charge_.Set(allocator, bytes));
  places_ = wanted;
  return OkStatus();
}

void PlacesCharge::Clear() {
  charge_.Clear();
  places_ = kFree;
}

}  // namespace thalweg
