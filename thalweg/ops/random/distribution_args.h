// SPDX-License-Identifier: Apache-2.0
// Parameters of distributions: numbers of any type, shapes that must fit that of the output.
// Ownership: a NumberOutput points at its tensor, which outlives it.
// Threads: any, on distinct elements.
// Errors: InvalidArgument for shapes that do not end in the parameter's or do not broadcast.
#pragma once

#include <initializer_list>
#include <limits>
#include <type_traits>
#include <vector>

#include "thalweg/compute/arithmetic.h"
#include "thalweg/graph/shape_inference.h"
#include "thalweg/kernel/kernel_registry.h"

namespace thalweg {

template <class T>
double ToDouble(T x) {
  return static_cast<double>(compute::ValueOf(x));
}
template <class T>
T FromDouble(double x) {
  return compute::ElementOf<T>(x);
}

// Element i of a half, float, double, int32 or int64 tensor.
inline double NumberAt(const Tensor& tensor, int64_t i) {
  switch (tensor.dtype()) {
    case DType::kHalf:
      return ToDouble(tensor.data<Half>()[i]);
    case DType::kFloat:
      return tensor.data<float>()[i];
    case DType::kDouble:
      return tensor.data<double>()[i];
    case DType::kInt32:
      return tensor.data<int32_t>()[i];
    default:
      return static_cast<double>(tensor.data<int64_t>()[i]);
  }
}

// The largest whole number that the type of an output holds.
template <class T>
double LargestOf() {
  if constexpr (std::is_integral_v<T>) return static_cast<double>(std::numeric_limits<T>::max());
  if constexpr (std::is_same_v<T, Half>) return 65504;
  return std::numeric_limits<double>::max();
}

// NaN becomes 0 in an integer type.
template <class T>
T FromCount(double count) {
  if constexpr (std::is_integral_v<T>) {
    if (!(count == count)) return T(0);
    return count >= LargestOf<T>() ? std::numeric_limits<T>::max() : static_cast<T>(count);
  } else {
    return FromDouble<T>(count);
  }
}

// Elements of an output that is half, float, double, int32 or int64, from numbers.
struct NumberOutput {
  explicit NumberOutput(Tensor& out) : dtype(out.dtype()), data(out.mutable_raw_data()) {}
  // As FromCount says.
  void Put(int64_t i, double number) const {
    switch (dtype) {
      case DType::kHalf:
        return PutAs<Half>(i, number);
      case DType::kFloat:
        return PutAs<float>(i, number);
      case DType::kDouble:
        return PutAs<double>(i, number);
      case DType::kInt32:
        return PutAs<int32_t>(i, number);
      default:
        return PutAs<int64_t>(i, number);
    }
  }
  // The largest whole number that the type holds.
  double largest() const {
    switch (dtype) {
      case DType::kHalf:
        return LargestOf<Half>();
      case DType::kInt32:
        return LargestOf<int32_t>();
      case DType::kInt64:
        return LargestOf<int64_t>();
      default:
        return LargestOf<double>();
    }
  }

  const DType dtype;
  void* const data;

 private:
  template <class T>
  void PutAs(int64_t i, double number) const {
    static_cast<T*>(data)[i] = FromCount<T>(number);
  }
};

inline Status CheckEndsIn(const Shape& shape, const Shape& parameter, std::string_view name) {
  const int skip = shape.rank() - parameter.rank();
  bool fits = skip >= 0;
  for (int d = 0; fits && d < parameter.rank(); ++d) {
    fits = parameter.dim(d) == shape.dim(d + skip);
  }
  if (fits) return OkStatus();
  return InvalidArgument("Shape passed in must end with broadcasted shape of ", name, ": ",
                         shape.ToString(), " does not end in ", parameter.ToString());
}

// Tensors of parameters that broadcast together to the last dimensions of an output.
class ParameterRows {
 public:
  static Result<ParameterRows> Of(const Shape& out, std::initializer_list<Shape> shapes) {
    PartialShape both{};
    bool first = true;
    for (const Shape& shape : shapes) {
      if (first) {
        both = PartialShape(shape);
      } else {
        ASSIGN_OR_RETURN(both, BroadcastShapes(both, PartialShape(shape)));
      }
      first = false;
    }
    ParameterRows made;
    ASSIGN_OR_RETURN(made.shape_, Shape::Make(both.dims()));
    RETURN_IF_ERROR(CheckEndsIn(out, made.shape_, "the parameters"));
    made.parameters_ = shapes;
    return made;
  }
  int64_t count() const { return shape_.num_elements(); }
  // The element of parameter tensor `which` that belongs to row i.
  int64_t Index(size_t which, int64_t i) const {
    const Shape& in = parameters_[which];
    const int skip = shape_.rank() - in.rank();
    int64_t index = 0, stride = 1;
    for (int d = in.rank() - 1; d >= 0; --d) {
      const int64_t dim = shape_.dim(d + skip);
      if (in.dim(d) != 1) index += i % dim * stride;
      stride *= in.dim(d);
      i /= dim;
    }
    return index;
  }

 private:
  Shape shape_;
  std::vector<Shape> parameters_;
};

}  // namespace thalweg
