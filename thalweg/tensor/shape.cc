// SPDX-License-Identifier: Apache-2.0
#include "thalweg/tensor/shape.h"

namespace thalweg {
namespace {

std::string DimsText(const Dims& dims) {
  std::string out = "[";
  for (int i = 0; i < dims.size(); ++i) {
    if (i > 0) out.push_back(',');
    if (dims[i] < 0) {
      out.push_back('?');
    } else {
      AppendPart(out, dims[i]);
    }
  }
  out.push_back(']');
  return out;
}

}  // namespace

void Dims::Reserve(int size) {
  if (size <= capacity_) return;
  const int capacity = std::max(size, 2 * capacity_);
  auto* grown = new int64_t[capacity];
  std::copy(begin(), end(), grown);
  Free();
  heap_ = grown;
  capacity_ = static_cast<int16_t>(capacity);
}

void Dims::Free() {
  if (capacity_ > kInline) delete[] heap_;
  capacity_ = kInline;
}

Result<Shape> Shape::Make(std::span<const int64_t> dims) {
  if (dims.size() > kMaxRank) {
    return InvalidArgument("a tensor has at most ", kMaxRank, " dimensions, got ", dims.size());
  }
  int64_t product =
      1;  // of all dimensions, zeros left out: views of an empty tensor multiply these too
  for (int64_t d : dims) {
    if (d < 0) return InvalidArgument("Dimension ", d, " must be >= 0");
    if (d > 0 && __builtin_mul_overflow(product, d, &product)) {
      return InvalidArgument("shape ", DimsText(Dims(dims)),
                             " has more elements than a 64-bit number holds");
    }
  }
  return Shape(Dims(dims));
}

std::string Shape::ToString() const { return DimsText(dims_); }

Result<PartialShape> PartialShape::Make(std::span<const int64_t> dims) {
  if (dims.size() > kMaxRank) {
    return InvalidArgument("a tensor has at most ", kMaxRank, " dimensions, got ", dims.size());
  }
  int64_t product = 1;
  for (int64_t d : dims) {
    if (d < kUnknownDim) {
      return InvalidArgument("a dimension is a size or -1 for unknown, got ", d, " in shape ",
                             DimsText(Dims(dims)));
    }
    if (d > 0 && __builtin_mul_overflow(product, d, &product)) {
      return InvalidArgument("shape ", DimsText(Dims(dims)),
                             " has more elements than a 64-bit number holds");
    }
  }
  return PartialShape(Dims(dims));
}

PartialShape PartialShape::OfRank(int rank) {
  Dims dims;
  dims.resize(rank, kUnknownDim);
  return PartialShape(std::move(dims));
}

bool PartialShape::IsFullyDefined() const {
  return known_rank_ && std::all_of(dims_.begin(), dims_.end(), [](int64_t d) { return d >= 0; });
}

int64_t PartialShape::num_elements() const {
  if (!IsFullyDefined()) return -1;
  // No tensor has more elements than a number of 64 bits holds: as good as unknown.
  const Result<Shape> shape = Shape::Make(dims_);
  return shape.ok() ? shape->num_elements() : -1;
}

bool PartialShape::Admits(const Shape& shape) const {
  return IsCompatibleWith(PartialShape(shape));
}

bool PartialShape::IsCompatibleWith(const PartialShape& other) const {
  if (!known_rank_ || !other.known_rank_) return true;
  if (rank() != other.rank()) return false;
  for (int i = 0; i < rank(); ++i) {
    if (dims_[i] >= 0 && other.dims_[i] >= 0 && dims_[i] != other.dims_[i]) return false;
  }
  return true;
}

Result<PartialShape> PartialShape::MergeWith(const PartialShape& other) const {
  if (!IsCompatibleWith(other)) {
    if (rank() != other.rank()) {
      return InvalidArgument("Shapes must be equal rank, but are ", rank(), " and ", other.rank(),
                             "; shapes ", *this, " and ", other);
    }
    int d = 0;
    while (dims_[d] == other.dims_[d] || dims_[d] < 0 || other.dims_[d] < 0) ++d;
    return InvalidArgument("Dimension ", d, " in both shapes must be equal, but are ", dims_[d],
                           " and ", other.dims_[d], ". Shapes are ", *this, " and ", other, ".");
  }
  if (!known_rank_) return other;
  PartialShape merged = *this;
  if (other.known_rank_) {
    for (int i = 0; i < rank(); ++i) {
      if (merged.dims_[i] < 0) merged.dims_[i] = other.dims_[i];
    }
  }
  return merged;
}

PartialShape PartialShape::Concatenate(const PartialShape& other) const {
  if (!known_rank_ || !other.known_rank_ || rank() + other.rank() > kMaxRank) return Unknown();
  PartialShape joined = *this;
  for (int64_t d : other.dims_) joined.dims_.push_back(d);
  return joined;
}

std::string PartialShape::ToString() const { return known_rank_ ? DimsText(dims_) : "<unknown>"; }

}  // namespace thalweg
