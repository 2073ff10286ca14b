// SPDX-License-Identifier: Apache-2.0
// Dims: the dimension sizes of a shape; up to six inline, more on the heap. Rank is at most
// kMaxRank.
// Ownership: a value; data() points into it and lives until it changes.
// Threads: const members from any; changes by one at a time.
// Errors: none; std::bad_alloc beyond six. Whoever adds a dimension has checked the rank.
#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <span>

namespace thalweg {

inline constexpr int kMaxRank = 254;

class Dims {
 public:
  Dims() = default;
  explicit Dims(std::span<const int64_t> dims) {
    Assign(dims.data(), static_cast<int>(dims.size()));
  }
  Dims(std::initializer_list<int64_t> dims) { Assign(dims.begin(), static_cast<int>(dims.size())); }
  Dims(const Dims& other) { Assign(other.data(), other.size()); }
  Dims(Dims&& other) noexcept { Steal(other); }
  Dims& operator=(const Dims& other) {
    if (this != &other) Assign(other.data(), other.size());
    return *this;
  }
  Dims& operator=(Dims&& other) noexcept {
    if (this != &other) {
      Free();
      Steal(other);
    }
    return *this;
  }
  ~Dims() { Free(); }

  int size() const { return size_; }
  const int64_t* data() const { return capacity_ > kInline ? heap_ : inline_; }
  int64_t* data() { return capacity_ > kInline ? heap_ : inline_; }
  int64_t operator[](int i) const { return data()[i]; }
  int64_t& operator[](int i) { return data()[i]; }
  const int64_t* begin() const { return data(); }
  const int64_t* end() const { return data() + size_; }
  operator std::span<const int64_t>() const {
    return {data(), static_cast<size_t>(size_)};
  }  // NOLINT
  void push_back(int64_t dim) {
    Reserve(size_ + 1);
    data()[size_++] = dim;
  }
  // Dimensions from `size` on are dropped, new ones are `fill`.
  void resize(int size, int64_t fill = 0) {
    Reserve(size);
    for (int i = size_; i < size; ++i) data()[i] = fill;
    size_ = static_cast<int16_t>(size);
  }
  void erase(int i) {
    std::copy(data() + i + 1, data() + size_, data() + i);
    --size_;
  }
  void insert(int i, int64_t dim) {
    push_back(dim);
    std::rotate(data() + i, data() + size_ - 1, data() + size_);
  }
  friend bool operator==(const Dims& a, const Dims& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end());
  }

 private:
  static constexpr int kInline = 6;
  void Reserve(int size);
  void Assign(const int64_t* dims, int size) {
    Reserve(size);
    std::copy(dims, dims + size, data());
    size_ = static_cast<int16_t>(size);
  }
  void Steal(Dims& other) {
    size_ = other.size_;
    capacity_ = other.capacity_;
    if (capacity_ > kInline) {
      heap_ = other.heap_;
    } else {
      std::copy(other.inline_, other.inline_ + size_, inline_);
    }
    other.size_ = 0;
    other.capacity_ = kInline;
  }
  void Free();

  union {
    int64_t inline_[kInline];
    int64_t* heap_;
  };
  int16_t size_ = 0;
  int16_t capacity_ = kInline;
};

}  // namespace thalweg
