// SPDX-License-Identifier: Apache-2.0
#include "thalweg/testing/op_values.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "thalweg/testing/tolerance.h"

namespace thalweg {
namespace {

using Complex = std::complex<double>;
using LevelTypes = Types<Qint8, Quint8, Qint16, Quint16, Qint32>;
using ArrayTypes = decltype(JoinTypes(PodTypes{}, LevelTypes{}));

// Calls f.template operator()<T>() for the C++ type of a number, bool or quantized dtype; false for
// others.
template <class F>
bool ForType(DType dtype, F&& f) {
  bool found = false;
  ForEachType<ArrayTypes>([&]<class T> {
    if (kDTypeOf<T> == dtype) {
      f.template operator()<T>();
      found = true;
    }
  });
  return found;
}

template <class T>
Complex Widen(T value) {
  if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, Bfloat16>) {
    return static_cast<double>(static_cast<float>(value));
  } else if constexpr (std::is_arithmetic_v<T>) {
    return static_cast<double>(value);
  } else if constexpr (requires { value.value; }) {
    return static_cast<double>(value.value);
  } else {
    return Complex(value.real(), value.imag());
  }
}

template <class T>
T Wrapped(double value) {
  if (!std::isfinite(value)) return T{};
  if (std::abs(value) < 9e18) return static_cast<T>(static_cast<int64_t>(value));
  const double range = std::ldexp(1.0, 64);
  double rest = std::fmod(std::trunc(value), range);
  if (rest < 0) rest += range;
  return static_cast<T>(static_cast<uint64_t>(rest));
}

template <class T>
T Narrow(Complex value) {
  if constexpr (std::is_same_v<T, bool>) {
    return value.real() != 0;
  } else if constexpr (std::is_integral_v<T>) {
    return Wrapped<T>(value.real());
  } else if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, Bfloat16>) {
    return T(static_cast<float>(value.real()));
  } else if constexpr (std::is_floating_point_v<T>) {
    return static_cast<T>(value.real());
  } else if constexpr (requires(T t) { t.value; }) {
    return T{Wrapped<decltype(T::value)>(value.real())};
  } else {
    using R = typename T::value_type;
    return T(static_cast<R>(value.real()), static_cast<R>(value.imag()));
  }
}

template <class V>
V Take(Complex value) {
  if constexpr (std::is_same_v<V, double>) {
    return value.real();
  } else {
    return value;
  }
}

bool NearKink(const In& in, double value) {
  return std::any_of(in.kinks.begin(), in.kinks.end(),
                     [&](double k) { return std::abs(value - k) < in.kink_distance; });
}

std::vector<Complex> RandomNumbers(const In& in, DType dtype, uint32_t seed) {
  std::mt19937 engine(seed);
  const bool whole = IsInteger(dtype) || IsQuantized(dtype) || dtype == DType::kBool;
  const bool is_unsigned = (whole && !IsQuantized(dtype) && !IsSigned(dtype)) ||
                           dtype == DType::kQuint8 || dtype == DType::kQuint16;
  const double low = is_unsigned ? std::max(0.0, in.low) : in.low;
  const double high = dtype == DType::kBool ? 1 : in.high;
  std::uniform_real_distribution<double> real(low, high);
  const auto from = static_cast<int64_t>(std::ceil(low));
  const auto to = std::max(from, static_cast<int64_t>(std::floor(high)));
  std::uniform_int_distribution<int64_t> integer(from, to);
  std::vector<Complex> values(static_cast<size_t>(in.shape.num_elements()));
  for (Complex& value : values) {
    do {
      value = whole ? static_cast<double>(integer(engine)) : real(engine);
    } while (!whole && NearKink(in, value.real()));
    if (IsComplex(dtype)) value = Complex(value.real(), real(engine));
  }
  return values;
}

// low ... high in equal steps, shuffled: no two alike even in half precision, if there are not too
// many.
std::vector<Complex> DistinctNumbers(const In& in, DType dtype, uint32_t seed) {
  const int64_t n = in.shape.num_elements();
  std::vector<Complex> values(static_cast<size_t>(n));
  for (int64_t i = 0; i < n; ++i) {
    values[i] = IsFloating(dtype) ? in.low + (in.high - in.low) * (static_cast<double>(i) + 0.5) / n
                                  : static_cast<double>(i);
  }
  std::mt19937 engine(seed);
  std::shuffle(values.begin(), values.end(), engine);
  return values;
}

}  // namespace

template <class V>
int64_t Array<V>::Offset(const std::vector<int64_t>& at) const {
  int64_t offset = 0;
  const int skip = static_cast<int>(at.size()) - shape.rank();
  for (int d = 0; d < shape.rank(); ++d) {
    offset = offset * shape.dim(d) + (shape.dim(d) == 1 ? 0 : at[d + skip]);
  }
  return offset;
}
template struct Array<double>;
template struct Array<Complex>;

Shape BroadcastShape(const Shape& a, const Shape& b) {
  const int rank = std::max(a.rank(), b.rank());
  Dims dims;
  for (int d = 0; d < rank; ++d) {
    const int da = d - (rank - a.rank()), db = d - (rank - b.rank());
    const int64_t x = da < 0 ? 1 : a.dim(da), y = db < 0 ? 1 : b.dim(db);
    CHECK(x == y || x == 1 || y == 1);
    dims.push_back(x == 1 ? y : x);
  }
  return Shape(dims);
}

Result<Tensor> MakeInput(const In& in, DType dtype, uint32_t seed, Allocator& allocator) {
  if (in.tensor) return in.tensor->Clone(allocator);
  std::vector<Complex> values;
  if (!in.values.empty()) {
    values.assign(in.values.begin(), in.values.end());
  } else {
    values = in.distinct ? DistinctNumbers(in, dtype, seed) : RandomNumbers(in, dtype, seed);
  }
  return ToTensor(Array<Complex>(in.shape, std::move(values)), dtype, allocator);
}

template <class V>
Array<V> ToArray(const Tensor& tensor) {
  Array<V> array(tensor.shape());
  CHECK(ForType(tensor.dtype(), [&]<class T> {
    const T* data = tensor.data<T>();
    for (int64_t i = 0; i < array.size(); ++i) array[i] = Take<V>(Widen(data[i]));
  }));
  return array;
}
template Array<double> ToArray(const Tensor&);
template Array<Complex> ToArray(const Tensor&);

template <class V>
Result<Tensor> ToTensor(const Array<V>& array, DType dtype, Allocator& allocator) {
  if (array.shape.num_elements() != array.size()) {
    return InvalidArgument(array.size(), " values for shape ", array.shape.ToString());
  }
  ASSIGN_OR_RETURN(Tensor tensor, Tensor::Allocate(allocator, dtype, array.shape));
  const bool found = ForType(dtype, [&]<class T> {
    T* data = tensor.mutable_data<T>();
    for (int64_t i = 0; i < array.size(); ++i) data[i] = Narrow<T>(array[i]);
  });
  if (!found) return InvalidArgument("op cases have no numbers of type ", dtype);
  return tensor;
}
template Result<Tensor> ToTensor(const Array<double>&, DType, Allocator&);
template Result<Tensor> ToTensor(const Array<Complex>&, DType, Allocator&);

namespace {

bool Close(double a, double b, double tolerance) {
  if (std::isnan(b)) return std::isnan(a);
  if (a == b) return true;
  return std::abs(a - b) <= tolerance * (1 + std::abs(b));
}

}  // namespace

template <class V>
std::string Difference(const Tensor& tensor, const Array<V>& reference, double tolerance) {
  if (tensor.shape() != reference.shape) {
    return StrCat("shape ", tensor.shape(), " instead of ", reference.shape.ToString());
  }
  const Array<Complex> got = ToArray<Complex>(tensor);
  for (int64_t i = 0; i < got.size(); ++i) {
    Complex want = reference[i];
    ForType(tensor.dtype(), [&]<class T> { want = Widen(Narrow<T>(want)); });
    if (!Close(got[i].real(), want.real(), tolerance) ||
        !Close(got[i].imag(), want.imag(), tolerance)) {
      return StrCat("element ", i, " of ", got.size(), " is ", got[i].real(), " ", got[i].imag(),
                    ", expected ", want.real(), " ", want.imag());
    }
  }
  return "";
}
template std::string Difference(const Tensor&, const Array<double>&, double);
template std::string Difference(const Tensor&, const Array<Complex>&, double);

std::string BitDifference(const Tensor& a, const Tensor& b) {
  if (a.dtype() != b.dtype() || a.shape() != b.shape()) {
    return StrCat(a.dtype(), a.shape(), " against ", b.dtype(), b.shape());
  }
  bool same = true;
  if (a.dtype() == DType::kString) {
    same = std::ranges::equal(a.flat<std::string>(), b.flat<std::string>());
  } else if (IsPlain(a.dtype()) && a.bytes() > 0) {
    same = std::memcmp(a.raw_data(), b.raw_data(), a.bytes()) == 0;
  }
  return same ? "" : StrCat(a.ToString(), " against ", b.ToString());
}

double DefaultTolerance(DType dtype) { return ToleranceOf(OpClass::kDefault, dtype); }

bool IsAllZero(const Tensor& tensor) {
  if (tensor.dtype() == DType::kString) {
    return std::ranges::all_of(tensor.flat<std::string>(),
                               [](const std::string& s) { return s.empty(); });
  }
  const auto* bytes = static_cast<const char*>(tensor.raw_data());
  return std::all_of(bytes, bytes + tensor.bytes(), [](char c) { return c == 0; });
}

}  // namespace thalweg
