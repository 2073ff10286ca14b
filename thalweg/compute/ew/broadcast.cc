// SPDX-License-Identifier: Apache-2.0
#include "thalweg/compute/ew/broadcast.h"

#include <algorithm>
#include <string>

namespace thalweg::compute {
namespace {

std::string Text(std::span<const int64_t> dims) {
  std::string text = "[";
  for (size_t i = 0; i < dims.size(); ++i) {
    if (i > 0) text += ',';
    text += std::to_string(dims[i]);
  }
  text += ']';
  return text;
}

// The size of dimension `dim` counted from the right; 1 where the operand has none.
int64_t SizeFromRight(std::span<const int64_t> dims, int dim) {
  return dim < static_cast<int>(dims.size()) ? dims[dims.size() - 1 - static_cast<size_t>(dim)] : 1;
}

}  // namespace

Result<Broadcast> Broadcast::Make(std::initializer_list<std::span<const int64_t>> operands) {
  Broadcast b;
  int rank = 0;
  for (const auto& dims : operands) rank = std::max(rank, static_cast<int>(dims.size()));
  Dims reversed;
  b.elements_ = 1;
  for (int dim = 0; dim < rank; ++dim) {
    int64_t size = 1;
    for (const auto& dims : operands) {
      const int64_t own = SizeFromRight(dims, dim);
      if (own != 1 && size != 1 && own != size) {
        const auto* first = operands.begin();
        return InvalidArgument("Incompatible shapes: ", Text(first[0]), " vs. ",
                               Text(first[operands.size() - 1]));
      }
      if (own != 1) size = own;
    }
    reversed.push_back(size);
    if (__builtin_mul_overflow(b.elements_, size, &b.elements_)) {
      return InvalidArgument("the broadcast result has too many elements");
    }
  }
  b.output_dims_.resize(rank);
  for (int dim = 0; dim < rank; ++dim) b.output_dims_[rank - 1 - dim] = reversed[dim];

  // From the right: a dimension joins the one before it when every operand goes on where that one
  // ended.
  const int count = b.operands_ = static_cast<int>(operands.size());
  int64_t seen[kMaxOperands] = {1, 1, 1};
  Dims sizes, strides[kMaxOperands];
  for (int dim = 0; dim < rank; ++dim) {
    const int64_t size = reversed[dim];
    if (size == 1) continue;
    int64_t stride[kMaxOperands] = {};
    bool joins = sizes.size() > 0;
    for (int k = 0; k < count; ++k) {
      const int64_t own = SizeFromRight(operands.begin()[k], dim);
      stride[k] = own == 1 ? 0 : seen[k];
      seen[k] *= own;
      const int last = sizes.size() - 1;
      if (joins) joins = stride[k] == strides[k][last] * sizes[last];
    }
    if (joins) {
      sizes[sizes.size() - 1] *= size;
      continue;
    }
    sizes.push_back(size);
    for (int k = 0; k < count; ++k) strides[k].push_back(stride[k]);
  }
  if (sizes.size() == 0) {
    sizes.push_back(1);
    for (int k = 0; k < count; ++k) strides[k].push_back(1);
  }
  const int merged = sizes.size();
  b.sizes_.resize(merged);
  for (int dim = 0; dim < merged; ++dim) b.sizes_[merged - 1 - dim] = sizes[dim];
  for (int k = 0; k < count; ++k) {
    b.strides_[k].resize(merged);
    for (int dim = 0; dim < merged; ++dim) b.strides_[k][merged - 1 - dim] = strides[k][dim];
    b.dense_[k] = seen[k] == b.elements_;
  }
  return b;
}

Broadcast Broadcast::Dense(int64_t n, int operands) {
  Broadcast b;
  b.output_dims_.push_back(n);
  b.elements_ = n;
  b.operands_ = operands;
  b.sizes_.push_back(n);
  for (int k = 0; k < operands; ++k) {
    b.strides_[k].push_back(1);
    b.dense_[k] = true;
  }
  return b;
}

RowCursor::RowCursor(const Broadcast& broadcast, int64_t row) : broadcast_(broadcast) {
  const int outer = broadcast.rank() - 1;
  place_.resize(outer);
  if (broadcast.elements() == 0) return;  // no row to be at
  for (int dim = outer - 1; dim >= 0; --dim) {
    place_[dim] = row % broadcast.size(dim);
    row /= broadcast.size(dim);
    for (int k = 0; k < broadcast.operands(); ++k)
      offset_[k] += place_[dim] * broadcast.stride(k, dim);
  }
}

void RowCursor::Next() {
  for (int dim = place_.size() - 1; dim >= 0; --dim) {
    const bool carry = ++place_[dim] == broadcast_.size(dim);
    for (int k = 0; k < broadcast_.operands(); ++k) {
      const int64_t stride = broadcast_.stride(k, dim);
      offset_[k] += carry ? stride * (1 - broadcast_.size(dim)) : stride;
    }
    if (!carry) return;
    place_[dim] = 0;
  }
}

}  // namespace thalweg::compute
