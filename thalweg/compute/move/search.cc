// SPDX-License-Identifier: Apache-2.0
#include "thalweg/compute/move/search.h"

#include <algorithm>
#include <type_traits>

namespace thalweg::compute {
namespace {

constexpr int64_t kGrain = 4096;

// What elements are compared as.
template <class T>
auto Comparable(T value) {
  if constexpr (std::is_arithmetic_v<T>) {
    return value;
  } else {
    return static_cast<float>(value);
  }
}

template <class T>
int64_t Lower(const T* sorted, int64_t n, T value) {
  return std::lower_bound(sorted, sorted + n, value,
                          [](T a, T b) { return Comparable(a) < Comparable(b); }) -
         sorted;
}
template <class T>
int64_t Upper(const T* sorted, int64_t n, T value) {
  return std::upper_bound(sorted, sorted + n, value,
                          [](T a, T b) { return Comparable(a) < Comparable(b); }) -
         sorted;
}

template <class T>
Status Buckets(Work& work, std::span<const float> boundaries, int64_t n, const void* x,
               int32_t* out) {
  using C = std::conditional_t<std::is_same_v<T, double>, double, float>;
  const T* const values = static_cast<const T*>(x);
  return ForBlocks(work, n, kGrain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const auto above =
          std::upper_bound(boundaries.begin(), boundaries.end(), static_cast<C>(values[i]),
                           [](C value, float boundary) { return value < boundary; });
      out[i] = static_cast<int32_t>(above - boundaries.begin());
    }
  });
}

}  // namespace

Status SearchRows(Work& work, DType dtype, bool upper, const SearchShape& shape, const void* sorted,
                  const void* values, int64_t* out) {
  Status status = Unimplemented("elements of type ", dtype, " have no order");
  ForEachType<RealTypes>([&]<class T>() {
    if (kDTypeOf<T> != dtype) return;
    const T* const rows = static_cast<const T*>(sorted);
    const T* const sought = static_cast<const T*>(values);
    status = ForBlocks(work, shape.batch * shape.values, kGrain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const T* const row = rows + i / shape.values * shape.sorted;
        out[i] = upper ? Upper(row, shape.sorted, sought[i]) : Lower(row, shape.sorted, sought[i]);
      }
    });
  });
  return status;
}

Status Bucketize(Work& work, DType dtype, std::span<const float> boundaries, int64_t n,
                 const void* x, int32_t* out) {
  switch (dtype) {
    case DType::kFloat:
      return Buckets<float>(work, boundaries, n, x, out);
    case DType::kDouble:
      return Buckets<double>(work, boundaries, n, x, out);
    case DType::kInt32:
      return Buckets<int32_t>(work, boundaries, n, x, out);
    case DType::kInt64:
      return Buckets<int64_t>(work, boundaries, n, x, out);
    default:
      return Unimplemented("elements of type ", dtype, " cannot be put into buckets");
  }
}

}  // namespace thalweg::compute
