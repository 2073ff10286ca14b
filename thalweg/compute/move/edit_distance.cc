// SPDX-License-Identifier: Apache-2.0
#include "thalweg/compute/move/edit_distance.h"

#include <algorithm>
#include <string>

#include "thalweg/compute/arithmetic.h"

namespace thalweg::compute {
namespace {

template <class T>
bool Same(const T& a, const T& b) {
  if constexpr (kIsHalf<T>) {
    return ValueOf(a) == ValueOf(b);
  } else {
    return a == b;
  }
}

// One row of the table of distances at a time; `row` has room for m + 1.
template <class T>
void Distance(const Work& work, const T* a, const int64_t* order_a, int64_t n, const T* b,
              const int64_t* order_b, int64_t m, int64_t* row, int64_t* distance) {
  for (int64_t j = 0; j <= m; ++j) row[j] = j;
  for (int64_t i = 0; i < n; ++i) {
    if (work.cancelled()) return;
    const T& x = a[order_a[i]];
    int64_t diagonal = row[0];
    row[0] = i + 1;
    for (int64_t j = 0; j < m; ++j) {
      const int64_t substituted = diagonal + (Same(x, b[order_b[j]]) ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({substituted, diagonal + 1, row[j] + 1});
    }
  }
  *distance = row[m];
}

template <class T>
Status Distances(Work& work, const Sequences& a, const Sequences& b, int64_t pairs,
                 int64_t* distances) {
  return ForShards(work, pairs, [&](int64_t k) {
    const int64_t n = a.begin[k + 1] - a.begin[k];
    const int64_t m = b.begin[k + 1] - b.begin[k];
    Scratch<int64_t> row(work, m + 1);
    if (!row) return false;
    Distance(work, static_cast<const T*>(a.values), a.order + a.begin[k], n,
             static_cast<const T*>(b.values), b.order + b.begin[k], m, row.get(), distances + k);
    return true;
  });
}

}  // namespace

Status EditDistances(Work& work, DType dtype, const Sequences& a, const Sequences& b, int64_t pairs,
                     int64_t* distances) {
  if (dtype == DType::kString) return Distances<std::string>(work, a, b, pairs, distances);
  Status status = Unimplemented("sequences of type ", dtype, " cannot be compared");
  ForEachType<PodTypes>([&]<class T>() {
    if (kDTypeOf<T> == dtype) status = Distances<T>(work, a, b, pairs, distances);
  });
  return status;
}

}  // namespace thalweg::compute
