// SPDX-License-Identifier: Apache-2.0
#include "thalweg/data/kept_elements.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "thalweg/tensor/text_heap.h"
#include "thalweg/tensor/uncounted_bytes.h"

namespace thalweg {

namespace {

// What its strings hold outside of their tensors.
size_t TextBytes(std::span<const Tensor> element) {
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

namespace {

constexpr size_t kFirstPlaces = 16;
// Tensors in a ring that stays when it is emptied.
constexpr size_t kMostIdle = 4096;

size_t UncountedOf(std::span<const Tensor> element) {
  size_t bytes = 0;
  for (const Tensor& tensor : element) bytes += UncountedBytes(tensor);
  return bytes;
}

// A ring has up to two places for an element.
size_t RingBytes(size_t stride) { return 2 * stride * sizeof(Tensor); }

}  // namespace

size_t KeptBytes(const Element& element) {
  // A block of the heap has a head of its own.
  constexpr size_t kAround = sizeof(Element) + sizeof(size_t) + 2 * sizeof(void*);
  return kAround + element.size() * sizeof(Tensor) + UncountedOf(element);
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

Status KeptElements::Push(Allocator& allocator, Element&& element) {
  ASSIGN_OR_RETURN(Tensor * components, Add(allocator, element));
  std::move(element.begin(), element.end(), components);
  element.clear();
  return OkStatus();
}

Status KeptElements::PushCopy(Allocator& allocator, const Element& element) {
  ASSIGN_OR_RETURN(Tensor * components, Add(allocator, element));
  std::copy(element.begin(), element.end(), components);
  return OkStatus();
}

Result<Tensor*> KeptElements::Add(Allocator& allocator, const Element& element) {
  const size_t stride = element.size() + 1;
  if (stride != stride_) {
    if (size_ > 0) {
      return InvalidArgument("an element of ", element.size(), " components follows those of ",
                             stride_ - 1, ": it is none of the types that its dataset says");
    }
    ring_.clear();
    places_ = 0;
    stride_ = stride;
  }
  const size_t bytes = RingBytes(stride) + UncountedOf(element);
  RETURN_IF_ERROR(Charge(allocator, element, bytes));
  if (size_ == places_) Grow();
  Tensor* const place = Place(size_++);
  place[0] = Tensor::Scalar(static_cast<int64_t>(bytes));
  return place + 1;
}

void KeptElements::Grow() {
  const size_t places = std::max(2 * places_, kFirstPlaces);
  std::vector<Tensor> larger(places * stride_);
  for (size_t i = 0; i < size_; ++i) {
    std::move(Place(i), Place(i) + stride_, &larger[i * stride_]);
  }
  ring_ = std::move(larger);
  places_ = places;
  begin_ = 0;
}

Status KeptElements::Charge(Allocator& allocator, const Element& element, size_t bytes) {
  Status charged = ChargeTexts(allocator, element);
  if (charged.ok()) charged = charge_.Add(allocator, bytes);
  return Explain(std::move(charged));
}

Status KeptElements::Explain(Status status) const {
  if (status.code() != Code::kResourceExhausted) return status;
  size_t bytes = charge_.bytes();
  for (size_t i = 0; i < size_; ++i) {
    for (const Tensor& tensor : (*this)[i]) bytes += tensor.bytes();
    bytes += TextBytes((*this)[i]);
  }
  return status.WithContext(StrCat("one element more for a ", stage_, " stage, which keeps ", size_,
                                   " elements of ", bytes, " bytes"));
}

void KeptElements::Take(size_t i, Element* out) {
  Tensor* const chosen = Place(i);
  const auto bytes = static_cast<size_t>(chosen[0].scalar<int64_t>());
  out->resize(stride_ - 1);
  std::move(chosen + 1, chosen + stride_, out->begin());
  if (i > 0) std::move(Place(0), Place(0) + stride_, chosen);
  begin_ = (begin_ + 1) & (places_ - 1);
  --size_;
  charge_.Remove(bytes);
}

void KeptElements::Pop() {
  Element dropped;
  Take(0, &dropped);
}

void KeptElements::Clear() {
  if (ring_.size() > kMostIdle) {
    ring_ = {};
    places_ = 0;
  } else {
    for (Tensor& tensor : ring_) tensor = Tensor();
  }
  begin_ = size_ = 0;
  charge_.Remove(charge_.bytes());
}

void KeptElements::Save(StateWriter& writer) const {
  writer.Add(static_cast<int64_t>(size_));
  for (size_t i = 0; i < size_; ++i) writer.Add((*this)[i]);
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
