// SPDX-License-Identifier: Apache-2.0
// Shape: the fully known shape of a tensor. PartialShape: what inference knows of one: nothing, its
// rank, or some dimensions (-1 = unknown).
//   ASSIGN_OR_RETURN(Shape s, Shape::Make(dims));      // from a user: checked
//   Shape t{2, 3};                                     // from our own code: trusted
//   PartialShape p{-1, 10};
//   bool fits = p.Admits(t);                           // false
//
// Ownership: values; dims() points into them.
// Threads: const members from any; changes by one at a time.
// Errors: InvalidArgument of Make and MergeWith, which names the dimension or both shapes.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>

#include "thalweg/base/status.h"
#include "thalweg/tensor/dims.h"

namespace thalweg {

class Shape {
 public:
  Shape() = default;  // a scalar
  // Our own code only: dimensions are not negative and their product fits.
  Shape(std::initializer_list<int64_t> dims) : dims_(dims) {}
  explicit Shape(Dims dims) : dims_(std::move(dims)) {}
  // Refuses negative dimensions, rank above kMaxRank and products that do not fit into int64.
  static Result<Shape> Make(std::span<const int64_t> dims);

  int rank() const { return dims_.size(); }
  int64_t dim(int i) const { return dims_[i]; }
  const Dims& dims() const { return dims_; }
  int64_t num_elements() const {
    int64_t n = 1;
    for (int64_t d : dims_) n *= d;
    return n;
  }
  bool IsScalar() const { return rank() == 0; }
  // "[2,3]", "[]" for a scalar.
  std::string ToString() const;
  friend bool operator==(const Shape& a, const Shape& b) { return a.dims_ == b.dims_; }

 private:
  Dims dims_;
};

class PartialShape {
 public:
  static constexpr int64_t kUnknownDim = -1;
  PartialShape() = default;  // unknown rank
  PartialShape(std::initializer_list<int64_t> dims) : dims_(dims), known_rank_(true) {}
  explicit PartialShape(Dims dims) : dims_(std::move(dims)), known_rank_(true) {}
  PartialShape(const Shape& shape)
      : dims_(shape.dims()), known_rank_(true) {}  // NOLINT: a Shape is one
  // Refuses dimensions below -1 and too high a rank.
  static Result<PartialShape> Make(std::span<const int64_t> dims);
  static PartialShape Unknown() { return PartialShape(); }
  static PartialShape OfRank(int rank);

  bool known_rank() const { return known_rank_; }
  // -1 when unknown.
  int rank() const { return known_rank_ ? dims_.size() : -1; }
  // Only when known_rank(); -1 for an unknown dimension.
  int64_t dim(int i) const { return dims_[i]; }
  const Dims& dims() const { return dims_; }
  void set_dim(int i, int64_t size) { dims_[i] = size; }
  bool IsFullyDefined() const;
  // Only when fully defined.
  Shape ToShape() const { return Shape(dims_); }
  // -1 when not fully defined.
  int64_t num_elements() const;
  // True when a tensor of this shape would agree with what is known.
  bool Admits(const Shape& shape) const;
  bool IsCompatibleWith(const PartialShape& other) const;
  // What both know together; InvalidArgument when they contradict.
  Result<PartialShape> MergeWith(const PartialShape& other) const;
  // The first dimensions, the rest, both after each other; unknown where an operand's rank is.
  PartialShape Concatenate(const PartialShape& other) const;
  // "<unknown>", "[?,10]".
  std::string ToString() const;
  friend bool operator==(const PartialShape& a, const PartialShape& b) {
    return a.known_rank_ == b.known_rank_ && a.dims_ == b.dims_;
  }

 private:
  Dims dims_;
  bool known_rank_ = false;
};

}  // namespace thalweg
