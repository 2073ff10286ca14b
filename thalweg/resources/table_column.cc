// SPDX-License-Identifier: Apache-2.0
#include "thalweg/resources/table_column.h"

#include <algorithm>
#include <cstring>
#include <span>

#include "thalweg/tensor/text_heap.h"

namespace thalweg {

void TableColumn::Set(int64_t to, const Tensor& tensor, int64_t from) {
  const auto row = static_cast<size_t>(to) * static_cast<size_t>(width_);
  const auto end = row + static_cast<size_t>(width_);
  if (dtype_ == DType::kString) {
    texts_.resize(std::max(texts_.size(), end));
    const std::span<std::string> texts(texts_.data() + row, static_cast<size_t>(width_));
    text_bytes_ -= TextHeapBytes(texts);
    std::copy_n(tensor.data<std::string>() + from * width_, width_, texts.data());
    text_bytes_ += TextHeapBytes(texts);
  } else if (dtype_ == DType::kVariant) {
    variants_.resize(std::max(variants_.size(), end));
    std::copy_n(tensor.data<Variant>() + from * width_, width_, variants_.data() + row);
  } else if (dtype_ == DType::kResource) {
    handles_.resize(std::max(handles_.size(), end));
    std::copy_n(tensor.data<ResourceHandle>() + from * width_, width_, handles_.data() + row);
  } else {
    const size_t bytes = RowBytes();
    plain_.resize(std::max(plain_.size(), (static_cast<size_t>(to) + 1) * bytes));
    if (bytes == 0) return;
    std::memcpy(plain_.data() + static_cast<size_t>(to) * bytes,
                static_cast<const char*>(tensor.raw_data()) + static_cast<size_t>(from) * bytes,
                bytes);
  }
}

void TableColumn::MoveLastTo(int64_t row) {
  const auto move = [row](auto& elements, size_t width) {
    if (width == 0) return;
    const size_t last = elements.size() - width, first = static_cast<size_t>(row) * width;
    if (first != last) {
      std::move(elements.begin() + static_cast<std::ptrdiff_t>(last), elements.end(),
                elements.begin() + static_cast<std::ptrdiff_t>(first));
    }
    elements.resize(last);
  };
  const auto width = static_cast<size_t>(width_);
  if (dtype_ == DType::kString) {
    text_bytes_ -= TextHeapBytes({texts_.data() + static_cast<size_t>(row) * width, width});
    move(texts_, width);
  } else if (dtype_ == DType::kVariant) {
    move(variants_, width);
  } else if (dtype_ == DType::kResource) {
    move(handles_, width);
  } else {
    move(plain_, RowBytes());
  }
}

bool TableColumn::Equals(int64_t row, const Tensor& tensor, int64_t from) const {
  if (dtype_ == DType::kString) {
    return std::equal(texts_.data() + row * width_, texts_.data() + (row + 1) * width_,
                      tensor.data<std::string>() + from * width_);
  }
  if (!IsPlain(dtype_)) return false;
  const size_t bytes = RowBytes();
  return bytes == 0 ||  // there may be no memory then
         std::memcmp(
             plain_.data() + static_cast<size_t>(row) * bytes,
             static_cast<const char*>(tensor.raw_data()) + static_cast<size_t>(from) * bytes,
             bytes) == 0;
}

void TableColumn::Clear() {
  plain_.clear();
  texts_.clear();
  text_bytes_ = 0;
  variants_.clear();
  handles_.clear();
}

void TableColumn::Get(int64_t row, Tensor& tensor, int64_t to) const {
  if (dtype_ == DType::kString) {
    std::copy_n(texts_.data() + row * width_, width_,
                tensor.mutable_data<std::string>() + to * width_);
  } else if (dtype_ == DType::kVariant) {
    std::copy_n(variants_.data() + row * width_, width_,
                tensor.mutable_data<Variant>() + to * width_);
  } else if (dtype_ == DType::kResource) {
    std::copy_n(handles_.data() + row * width_, width_,
                tensor.mutable_data<ResourceHandle>() + to * width_);
  } else if (const size_t bytes = RowBytes(); bytes > 0) {
    std::memcpy(static_cast<char*>(tensor.mutable_raw_data()) + static_cast<size_t>(to) * bytes,
                plain_.data() + static_cast<size_t>(row) * bytes, bytes);
  }
}

}  // namespace thalweg
