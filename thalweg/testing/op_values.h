// SPDX-License-Identifier: Apache-2.0
// Values of op cases: what an input shall be (In), arrays that references compute with (Array<V>),
// and the way to tensors of any dtype and back.
//
//   In({2, 3})                        random numbers in [-2, 2]; integers for integer types
//   In({2, 3}).Range(0.5, 4)          others          In({4}, {1, 2, 2, 0})   these
//   In({5}).Distinct()                no two alike    In({9}).Away({0}, 0.1)  no kink within 0.1
//   In({2}, {0, 1}).As(DType::kInt32) this dtype whatever the schema's attributes say
//
// Ownership: values.
// Threads: any; no state.
// Errors: InvalidArgument for more or fewer values than the shape has, and for types without
// numbers; ResourceExhausted. Differences are told in words.
#pragma once

#include <complex>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "thalweg/base/status.h"
#include "thalweg/tensor/tensor.h"

namespace thalweg {

struct In {
  In(std::initializer_list<int64_t> dims) : shape(dims) {}  // NOLINT: cases are lists of these
  In(std::initializer_list<int64_t> dims, std::vector<double> v)
      : shape(dims), values(std::move(v)) {}
  In(Tensor t)
      : shape(t.shape()), dtype(t.dtype()), tensor(std::move(t)) {}  // NOLINT: cases list these too
  In& Range(double from, double to) {
    low = from;
    high = to;
    return *this;
  }
  In& Distinct() {
    distinct = true;
    return *this;
  }
  In& Away(std::vector<double> points, double distance) {
    kinks = std::move(points);
    kink_distance = distance;
    return *this;
  }
  In& As(DType type) {
    dtype = type;
    return *this;
  }

  Shape shape;
  std::vector<double> values;
  std::optional<DType> dtype;
  std::optional<Tensor> tensor;
  double low = -2, high = 2;
  bool distinct = false;
  std::vector<double> kinks;
  double kink_distance = 0;
};

template <class V>
struct Array {
  Shape shape;
  std::vector<V> values;

  Array() = default;
  explicit Array(Shape s)
      : shape(std::move(s)), values(static_cast<size_t>(shape.num_elements())) {}
  Array(Shape s, std::vector<V> v) : shape(std::move(s)), values(std::move(v)) {}
  int64_t size() const { return static_cast<int64_t>(values.size()); }
  V& operator[](int64_t i) { return values[static_cast<size_t>(i)]; }
  const V& operator[](int64_t i) const { return values[static_cast<size_t>(i)]; }
  // Element at the given coordinates; dimensions of size one stand for any coordinate.
  int64_t Offset(const std::vector<int64_t>& at) const;
  V& At(const std::vector<int64_t>& at) { return (*this)[Offset(at)]; }
  const V& At(const std::vector<int64_t>& at) const { return (*this)[Offset(at)]; }
};

// Calls f(coordinates) for every element of the shape, in order.
template <class F>
void ForEachIndex(const Shape& shape, F&& f) {
  std::vector<int64_t> at(static_cast<size_t>(shape.rank()), 0);
  for (int64_t n = shape.num_elements(); n > 0; --n) {
    f(static_cast<const std::vector<int64_t>&>(at));
    for (int d = shape.rank() - 1; d >= 0 && ++at[d] == shape.dim(d); --d) at[d] = 0;
  }
}

// The shape that two shapes broadcast to; they must.
Shape BroadcastShape(const Shape& a, const Shape& b);

// The tensor that an In describes, the same in every run.
Result<Tensor> MakeInput(const In& in, DType dtype, uint32_t seed, Allocator& allocator);
// V: double or std::complex<double>. CHECKs that the dtype is a number or bool.
template <class V>
Array<V> ToArray(const Tensor& tensor);
// Integers wrap around, as the kernels' do.
template <class V>
Result<Tensor> ToTensor(const Array<V>& array, DType dtype, Allocator& allocator);

// "" when the tensor has the reference's shape and values: |a - b| <= tolerance * (1 + |b|), NaN
// where NaN is, integers exactly. Otherwise what differs.
template <class V>
std::string Difference(const Tensor& tensor, const Array<V>& reference, double tolerance);
// "" when shape and every byte (or string) agree.
std::string BitDifference(const Tensor& a, const Tensor& b);
double DefaultTolerance(DType dtype);
bool IsAllZero(const Tensor& tensor);

}  // namespace thalweg
