// SPDX-License-Identifier: Apache-2.0
#include "thalweg/data/kept_elements.h"

#include <algorithm>
#include <bit>

#include "thalweg/tensor/text_heap.h"
#include "thalweg/tensor/uncounted_bytes.h"

namespace thalweg {

namespace {

// What its strings hold outside of their tensors.
size_t TextBytes(const Element& element) {
  size_t bytes = 0;
  for (const Tensor& tensor : element) {
    if (tensor.dtype() == DType::kString) bytes += TextHeapBytes(tensor.flat<std::string>());
  }
  return bytes;
}

}  // namespace

// Up to steps, of which few keepers of many small elements need a whole one.
size_t SteppedCharge::Rounded(size_t bytes) {
  const size_t step = std::min(kStep, std::bit_ceil(bytes));
  return (bytes + step - 1) / step * step;
}

Status SteppedCharge::Add(Allocator& allocator, size_t bytes) {
  if (bytes_ + bytes > charge_.bytes()) {
    RETURN_IF_ERROR(charge_.Set(allocator, Rounded(bytes_ + bytes)));
    allocator_ = &allocator;
  }
  bytes_ += bytes;
  return OkStatus();
}

void SteppedCharge::Remove(size_t bytes) {
  bytes_ -= bytes;
  if (bytes_ == 0) {
    charge_.Clear();
  } else if (charge_.bytes() >= bytes_ + 2 * kStep) {
    // Less is always granted.
    charge_.Set(*allocator_, Rounded(bytes_)).IgnoreError();
  }
}

size_t KeptBytes(const Element& element) {
  // A block of the heap has a head of its own.
  size_t bytes = sizeof(Element) + sizeof(size_t) + 2 * sizeof(void*);
  for (const Tensor& tensor : element) bytes += sizeof(Tensor) + UncountedBytes(tensor);
  return bytes;
}

Status ChargeTexts(Allocator& allocator, const Element& element) {
  for (const Tensor& tensor : element) RETURN_IF_ERROR(ChargeTextHeap(allocator, tensor));
  return OkStatus();
}

size_t OwedCharge::Add(Allocator& allocator, const Element& element) {
  size_t bytes = KeptBytes(element);
  if (!ChargeTexts(allocator, element).ok()) bytes += TextBytes(element);
  owed_ += bytes;
  IsPaid(allocator);
  return bytes;
}

void OwedCharge::Remove(size_t bytes) {
  const size_t owed = std::min(owed_, bytes);
  owed_ -= owed;
  charge_.Remove(bytes - owed);
}

bool OwedCharge::IsPaid(Allocator& allocator) {
  if (owed_ > 0 && charge_.Add(allocator, owed_).ok()) owed_ = 0;
  return owed_ == 0;
}

Status KeptElements::Push(Allocator& allocator, Element element) {
  const size_t bytes = KeptBytes(element);
  RETURN_IF_ERROR(Charge(allocator, element, bytes));
  elements_.push_back({std::move(element), bytes});
  return OkStatus();
}

Status KeptElements::PushCopy(Allocator& allocator, const Element& element) {
  const size_t bytes = KeptBytes(element);
  RETURN_IF_ERROR(Charge(allocator, element, bytes));
  elements_.push_back({element, bytes});
  return OkStatus();
}

Status KeptElements::Charge(Allocator& allocator, const Element& element, size_t bytes) {
  Status charged = ChargeTexts(allocator, element);
  if (charged.ok()) charged = charge_.Add(allocator, bytes);
  return Explain(std::move(charged));
}

Status KeptElements::Explain(Status status) const {
  if (status.code() != Code::kResourceExhausted) return status;
  size_t bytes = charge_.bytes();
  for (const Kept& kept : elements_) {
    for (const Tensor& tensor : kept.element) bytes += tensor.bytes();
    bytes += TextBytes(kept.element);
  }
  return status.WithContext(StrCat("one element more for a ", stage_, " stage, which keeps ",
                                   elements_.size(), " elements of ", bytes, " bytes"));
}

Element KeptElements::Take(size_t i) {
  std::swap(elements_[i], elements_.front());
  Kept taken = std::move(elements_.front());
  elements_.pop_front();
  charge_.Remove(taken.bytes);
  return std::move(taken.element);
}

void KeptElements::Clear() {
  elements_.clear();
  charge_.Remove(charge_.bytes());
}

void KeptElements::Save(StateWriter& writer) const {
  writer.Add(static_cast<int64_t>(elements_.size()));
  for (const Kept& kept : elements_) writer.Add(kept.element);
}

Status KeptElements::Restore(Allocator& allocator, StateReader& reader,
                             const std::vector<DType>* types) {
  int64_t n = 0;
  RETURN_IF_ERROR(reader.ReadCount(&n));
  Clear();
  for (int64_t i = 0; i < n; ++i) {
    Element element;
    RETURN_IF_ERROR(types != nullptr ? reader.Read(&element, *types) : reader.Read(&element));
    RETURN_IF_ERROR(Push(allocator, std::move(element)));
  }
  return OkStatus();
}

}  // namespace thalweg
