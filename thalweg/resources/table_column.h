// SPDX-License-Identifier: Apache-2.0
// TableColumn: the keys or the values of a lookup table.
//
//   TableColumn column(DType::kString, 1);
//   column.Set(0, tensor, 3);            // row 0 of the column is row 3 of the tensor
//   column.Get(0, out, 7);               // and becomes row 7 of another
//
// Ownership: elements are copied.
// Threads: one at a time, the table locks.
// Errors: none; types and sizes were checked by the table.
#pragma once

#include <string>
#include <vector>

#include "thalweg/tensor/resource.h"
#include "thalweg/tensor/tensor.h"
#include "thalweg/tensor/variant.h"

namespace thalweg {

// Elements of one type in rows of equal length: the keys or the values of a table.
class TableColumn {
 public:
  TableColumn(DType dtype, int64_t width) : dtype_(dtype), width_(width) {}
  int64_t width() const { return width_; }
  // The bytes of one row, without what its texts hold elsewhere.
  size_t RowBytes() const { return static_cast<size_t>(width_) * DTypeStride(dtype_); }
  // What all texts hold.
  size_t TextBytes() const { return text_bytes_; }
  // Copies row `from` of the tensor into row `to`, which may be one more than there are.
  void Set(int64_t to, const Tensor& tensor, int64_t from);
  void MoveLastTo(int64_t row);
  // Whether row `row` has the elements of row `from` of the tensor.
  bool Equals(int64_t row, const Tensor& tensor, int64_t from) const;
  void Clear();
  // Copies row `row` into row `to` of a tensor; all rows.
  void Get(int64_t row, Tensor& tensor, int64_t to) const;

 private:
  const DType dtype_;
  const int64_t width_;
  std::vector<char> plain_;
  std::vector<std::string> texts_;
  size_t text_bytes_ = 0;
  std::vector<Variant> variants_;
  std::vector<ResourceHandle> handles_;
};

}  // namespace thalweg
