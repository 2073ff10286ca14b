// SPDX-License-Identifier: Apache-2.0
// KeptElements: elements that a stage keeps, counted against the memory limit of its session: what
// their tensors are not charged with already.
//
//   KeptElements kept("Shuffle");
//   RETURN_IF_ERROR(kept.Push(poller.allocator(), std::move(element)));
//   kept.Take(3, out);
//
// Ownership: holds the elements; the charge goes with them.
// Threads: one at a time; any number where it is const.
// Errors: ResourceExhausted that names the stage and what it keeps; InvalidArgument for an element
// of another number of components. Then it keeps what it had.
#pragma once

#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "thalweg/data/stage.h"
#include "thalweg/data/state.h"
#include "thalweg/tensor/heap_charge.h"

namespace thalweg {

// Bytes that count against the limit, some at a time, so that most changes cost nothing.
class SteppedCharge {
 public:
  Status Add(Allocator& allocator, size_t bytes);
  void Remove(size_t bytes);
  size_t bytes() const { return bytes_; }

 private:
  static constexpr size_t kStep = size_t{16} << 10;
  static size_t Rounded(size_t bytes);

  HeapCharge charge_;
  Allocator* allocator_ = nullptr;  // once there is a charge
  size_t bytes_ = 0;
};

// Elements that go on also where there is no room for them: what could not be counted is owed, and
// counts as soon as there is room. Who holds them takes no more until then.
class OwedCharge {
 public:
  // Gives the bytes to remove when the element goes.
  size_t Add(Allocator& allocator, const Element& element);
  void Remove(size_t bytes);
  // Whether all of them count.
  bool IsPaid(Allocator& allocator);

 private:
  SteppedCharge charge_;
  size_t owed_ = 0;
};

class KeptElements {
 public:
  // `stage`: what a message calls who keeps them, "Shuffle".
  explicit KeptElements(std::string_view stage) : stage_(stage) {}

  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  std::span<const Tensor> operator[](size_t i) const { return {Place(i) + 1, stride_ - 1}; }
  // For who makes something of what it holds before it is cleared.
  std::span<Tensor> operator[](size_t i) { return {Place(i) + 1, stride_ - 1}; }

  // Leaves the room of `element` to who has made it.
  Status Push(Allocator& allocator, Element&& element);
  // The same of an element that others use, too.
  Status PushCopy(Allocator& allocator, const Element& element);
  // A status of what was to come next: says what is kept where there was no memory for it.
  Status Explain(Status status) const;
  // The i-th, whose place the first one takes.
  void Take(size_t i, Element* out);
  // Drops the first.
  void Pop();
  void Clear();

  void Save(StateWriter& writer) const;
  // `types`: of the components, where they are known.
  Status Restore(Allocator& allocator, StateReader& reader,
                 const std::vector<DType>* types = nullptr);

 private:
  // Room for one more of so many components, which follow the bytes that it is charged with.
  Result<Tensor*> Add(Allocator& allocator, const Element& element);
  Status Charge(Allocator& allocator, const Element& element, size_t bytes);
  void Grow();
  const Tensor* Place(size_t i) const { return &ring_[((begin_ + i) & (places_ - 1)) * stride_]; }
  Tensor* Place(size_t i) { return &ring_[((begin_ + i) & (places_ - 1)) * stride_]; }

  const std::string_view stage_;
  // A ring that doubles when it is full: a million small elements are one block, and who takes one
  // of them by chance waits for one line of memory.
  std::vector<Tensor> ring_;
  size_t stride_ = 1;  // tensors of an element: its bytes, its components
  size_t places_ = 0;  // a power of two
  size_t begin_ = 0;
  size_t size_ = 0;
  SteppedCharge charge_;
};

using KeptElementsPtr = std::shared_ptr<const KeptElements>;

// The bytes of an element that is kept which its tensors are not charged with, without strings.
size_t KeptBytes(const Element& element);
// Its strings are charged with their tensors.
Status ChargeTexts(Allocator& allocator, const Element& element);

}  // namespace thalweg
