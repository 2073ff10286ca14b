// SPDX-License-Identifier: Apache-2.0
#include "thalweg/ops/queue/element_store.h"

#include <algorithm>
#include <span>
#include <vector>

#include "thalweg/base/philox.h"

namespace thalweg {
namespace {

int64_t BytesOfTensors(std::span<const Tensor> tensors) {
  int64_t bytes = 0;
  for (const Tensor& tensor : tensors) {
    if (!tensor.empty()) bytes += static_cast<int64_t>(tensor.bytes());
  }
  return bytes;
}

// A ring that doubles when it is full.
class FifoStore final : public ElementStore {
 public:
  explicit FifoStore(size_t width) : width_(width), ring_(kFirstPlaces * width) {}

  int64_t size() const override { return static_cast<int64_t>(size_); }
  int64_t bytes() const override { return BytesOfTensors(ring_); }
  void Push(Tensor* element) override {
    if (size_ == places_) Grow();
    std::move(element, element + width_, At(size_++));
  }
  void Pop(Tensor* element) override {
    Tensor* const from = At(0);
    std::move(from, from + width_, element);
    begin_ = (begin_ + 1) & (places_ - 1);
    --size_;
  }
  void Return(Tensor* element) override {
    if (size_ == places_) Grow();
    begin_ = (begin_ - 1) & (places_ - 1);
    ++size_;
    std::move(element, element + width_, At(0));
  }

 private:
  static constexpr size_t kFirstPlaces = 16;

  Tensor* At(size_t i) { return &ring_[((begin_ + i) & (places_ - 1)) * width_]; }
  void Grow() {
    std::vector<Tensor> larger(ring_.size() * 2);
    for (size_t i = 0; i < size_; ++i) std::move(At(i), At(i) + width_, &larger[i * width_]);
    ring_ = std::move(larger);
    places_ *= 2;
    begin_ = 0;
  }

  const size_t width_;
  size_t places_ = kFirstPlaces;  // a power of two
  size_t begin_ = 0;
  size_t size_ = 0;
  std::vector<Tensor> ring_;
};

class ShuffledStore final : public ElementStore {
 public:
  ShuffledStore(size_t width, uint64_t seed, uint64_t seed2)
      : width_(width), philox_(seed, seed2) {}

  int64_t size() const override { return static_cast<int64_t>(elements_.size() / width_); }
  int64_t bytes() const override { return BytesOfTensors(elements_); }
  void Push(Tensor* element) override {
    elements_.insert(elements_.end(), std::move_iterator(element),
                     std::move_iterator(element + width_));
  }
  void Pop(Tensor* element) override {
    Tensor* const from =
        &elements_[NextBits() % static_cast<uint64_t>(elements_.size() / width_) * width_];
    std::move(from, from + width_, element);
    const auto last = elements_.end() - static_cast<std::ptrdiff_t>(width_);
    if (from != &*last) std::move(last, elements_.end(), from);
    elements_.erase(last, elements_.end());
  }
  void Return(Tensor* element) override { Push(element); }

 private:
  uint32_t NextBits() {
    if (used_ == block_.size()) {
      block_ = philox_.Next();
      used_ = 0;
    }
    return block_[used_++];
  }

  const size_t width_;
  Philox philox_;
  Philox::Block block_{};
  size_t used_ = 4;
  std::vector<Tensor> elements_;
};

// A heap of places; the tensors stay where they are.
class PriorityStore final : public ElementStore {
 public:
  explicit PriorityStore(size_t width) : width_(width) {}

  int64_t size() const override { return static_cast<int64_t>(heap_.size()); }
  int64_t bytes() const override { return BytesOfTensors(tensors_); }
  void Push(Tensor* element) override { Insert(element, next_number_++); }
  void Return(Tensor* element) override { Insert(element, --first_number_); }
  void Pop(Tensor* element) override {
    std::pop_heap(heap_.begin(), heap_.end(), ComesLater);
    Tensor* const from = &tensors_[heap_.back().place * width_];
    std::move(from, from + width_, element);
    free_.push_back(heap_.back().place);
    heap_.pop_back();
  }

 private:
  struct Item {
    int64_t priority;
    int64_t number;
    size_t place;
  };
  static bool ComesLater(const Item& a, const Item& b) {
    return a.priority != b.priority ? a.priority > b.priority : a.number > b.number;
  }
  void Insert(Tensor* element, int64_t number) {
    size_t place = heap_.size();
    if (free_.empty()) {
      tensors_.resize(tensors_.size() + width_);
    } else {
      place = free_.back();
      free_.pop_back();
    }
    const int64_t priority = element[0].scalar<int64_t>();
    std::move(element, element + width_, &tensors_[place * width_]);
    heap_.push_back({priority, number, place});
    std::push_heap(heap_.begin(), heap_.end(), ComesLater);
  }

  const size_t width_;
  int64_t next_number_ = 0;
  int64_t first_number_ = 0;
  std::vector<Item> heap_;
  std::vector<Tensor> tensors_;
  std::vector<size_t> free_;
};

}  // namespace

std::unique_ptr<ElementStore> MakeFifoStore(size_t width) {
  return std::make_unique<FifoStore>(width);
}
std::unique_ptr<ElementStore> MakeShuffledStore(size_t width, uint64_t seed, uint64_t seed2) {
  return std::make_unique<ShuffledStore>(width, seed, seed2);
}
std::unique_ptr<ElementStore> MakePriorityStore(size_t width) {
  return std::make_unique<PriorityStore>(width);
}

}  // namespace thalweg
