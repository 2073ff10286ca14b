// SPDX-License-Identifier: Apache-2.0
// KeptElements: elements that a stage keeps, counted against the memory limit of its session: what
// their tensors are not charged with already.
//
//   KeptElements kept("Shuffle");
//   RETURN_IF_ERROR(kept.Push(poller.allocator(), std::move(element)));
//   *out = kept.Take(3);
//
// Ownership: holds the elements; the charge goes with them.
// Threads: one at a time; any number where it is const.
// Errors: ResourceExhausted that names the stage and what it keeps; then it keeps what it had.
#pragma once

#include <deque>
#include <string_view>
#include <utility>

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

  size_t size() const { return elements_.size(); }
  bool empty() const { return elements_.empty(); }
  const Element& operator[](size_t i) const { return elements_[i].element; }
  // For who makes something of what it holds before it is cleared.
  Element& operator[](size_t i) { return elements_[i].element; }
  const Element& back() const { return elements_.back().element; }

  Status Push(Allocator& allocator, Element element);
  // The same of an element that others use, too.
  Status PushCopy(Allocator& allocator, const Element& element);
  // A status of what was to come next: says what is kept where there was no memory for it.
  Status Explain(Status status) const;
  // The i-th, whose place the first one takes.
  Element Take(size_t i);
  Element Pop() { return Take(0); }
  void Clear();

  void Save(StateWriter& writer) const;
  // `types`: of the components, where they are known.
  Status Restore(Allocator& allocator, StateReader& reader,
                 const std::vector<DType>* types = nullptr);

 private:
  struct Kept {
    Element element;
    size_t bytes;
  };
  Status Charge(Allocator& allocator, const Element& element, size_t bytes);

  const std::string_view stage_;
  std::deque<Kept> elements_;
  SteppedCharge charge_;
};

using KeptElementsPtr = std::shared_ptr<const KeptElements>;

// Of one element that is kept: what its tensors are not charged with, but for strings.
size_t KeptBytes(const Element& element);
// Its strings are charged with their tensors.
Status ChargeTexts(Allocator& allocator, const Element& element);

}  // namespace thalweg
