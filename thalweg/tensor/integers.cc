// SPDX-License-Identifier: Apache-2.0
#include "thalweg/tensor/integers.h"

#include "thalweg/tensor/axis.h"

namespace thalweg {
namespace {

using IndexTypes = Types<int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t>;

template <class F>
bool WithIndexType(DType dtype, F&& f) {
  bool found = false;
  ForEachType<IndexTypes>([&]<class T>() {
    if (kDTypeOf<T> != dtype) return;
    found = true;
    f.template operator()<T>();
  });
  return found;
}

Status ExpectIntegers(const Tensor& tensor, int rank, std::string_view what) {
  const bool held = !tensor.empty() && !tensor.is_reference();
  if (held && tensor.rank() == rank && IsIndexType(tensor.dtype())) return OkStatus();
  return InvalidArgument(what, " must be a ", rank == 0 ? "scalar" : "vector", " of integers, got ",
                         held ? StrCat(tensor.dtype(), tensor.shape()) : "no value");
}

}  // namespace

bool IsIndexType(DType dtype) {
  return WithIndexType(dtype, []<class T>() {});
}

int64_t IntAt(const Tensor& tensor, int64_t i) {
  int64_t value = 0;
  WithIndexType(tensor.dtype(), [&]<class T>() { value = tensor.data<T>()[i]; });
  return value;
}

Result<int64_t> IntScalar(const Tensor& tensor, std::string_view what) {
  RETURN_IF_ERROR(ExpectIntegers(tensor, 0, what));
  return IntAt(tensor, 0);
}

Result<Dims> IntVector(const Tensor& tensor, std::string_view what) {
  RETURN_IF_ERROR(ExpectIntegers(tensor, 1, what));
  const int64_t n = tensor.num_elements();
  if (n > kMaxRank) {
    return InvalidArgument(what, " has ", n, " elements, but a tensor has at most ", kMaxRank,
                           " dimensions");
  }
  Dims dims;
  dims.resize(static_cast<int>(n));
  for (int i = 0; i < dims.size(); ++i) dims[i] = IntAt(tensor, i);
  return dims;
}

Result<Shape> ShapeOf(const Tensor& tensor, std::string_view what) {
  if (tensor.rank() != 1) {
    return InvalidArgument(what, " must be a vector of {int32,int64}, got shape ", tensor.shape());
  }
  ASSIGN_OR_RETURN(const Dims dims, IntVector(tensor, what));
  Result<Shape> shape = Shape::Make(dims);
  if (!shape.ok()) {
    return Status(shape.status().code(), StrCat(shape.status().message(), "; ", what, " is wrong"));
  }
  return shape;
}

Result<int> NormalizeAxis(int64_t axis, int rank, std::string_view what) {
  const std::optional<int> found = AxisFromFront(axis, rank);
  if (found.has_value()) return *found;
  return InvalidArgument("Expected ", what, " in the range [", -rank, ", ", rank, "), but got ",
                         axis, ": the tensor has ", rank, " dimensions");
}

std::string IndexText(const Shape& shape, int64_t flat) {
  Dims index(shape.dims());
  for (int i = shape.rank() - 1; i >= 0; --i) {
    index[i] = flat % shape.dim(i);
    flat /= shape.dim(i);
  }
  return shape.IsScalar() ? std::string() : Shape(index).ToString();
}

Result<Tensor> CheckedIndices(Allocator& allocator, const Tensor& indices, int64_t limit,
                              std::string_view what) {
  if (!IsIndexType(indices.dtype())) {
    return InvalidArgument(what, " must be integers, got ", indices.dtype());
  }
  const int64_t n = indices.num_elements();
  Tensor checked = indices;
  if (indices.dtype() != DType::kInt64) {
    ASSIGN_OR_RETURN(checked, Tensor::Allocate(allocator, DType::kInt64, indices.shape()));
    int64_t* out = checked.mutable_data<int64_t>();
    WithIndexType(indices.dtype(), [&]<class T>() { std::copy_n(indices.data<T>(), n, out); });
  }
  const int64_t* values = checked.data<int64_t>();
  for (int64_t i = 0; i < n; ++i) {
    if (values[i] < 0 || values[i] >= limit) {
      return InvalidArgument(what, IndexText(indices.shape(), i), " = ", values[i],
                             " is not in [0, ", limit, ")");
    }
  }
  return checked;
}

}  // namespace thalweg
