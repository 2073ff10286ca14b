// SPDX-License-Identifier: Apache-2.0
// The standard library's sorts for kernels: they end early once the step is cancelled.
//
//   RETURN_IF_ERROR(Sort(work, order.begin(), order.end(), less));
//
// Ownership: what is sorted is the caller's; nothing is kept.
// Threads: as of what is sorted; a sort uses the caller's thread alone.
// Errors: Cancelled; what was to be sorted is of no use then.
#pragma once

#include <algorithm>
#include <functional>
#include <utility>

#include "thalweg/base/status.h"
#include "thalweg/compute/interruption.h"
#include "thalweg/compute/work.h"

namespace thalweg::compute {
namespace internal {

// sort(less) with a `less` that looks at the cancel flag.
template <class Less, class F>
Status RunSort(const Work& work, const Less& less, const F& sort) {
  const Interruption interruption(work);
  try {
    sort([&less](const auto& a, const auto& b) {
      Interruption::Look();
      return less(a, b);
    });
  } catch (const Interruption::Stop&) {
    return CancelledStep();
  }
  return OkStatus();
}

}  // namespace internal

template <class It, class Less = std::less<>>
Status Sort(const Work& work, It begin, It end, const Less& less = {}) {
  return internal::RunSort(work, less,
                           [&](const auto& looking) { std::sort(begin, end, looking); });
}

template <class It, class Less>
Status StableSort(const Work& work, It begin, It end, const Less& less) {
  return internal::RunSort(work, less,
                           [&](const auto& looking) { std::stable_sort(begin, end, looking); });
}

template <class It, class Less = std::less<>>
Status PartialSort(const Work& work, It begin, It middle, It end, const Less& less = {}) {
  return internal::RunSort(
      work, less, [&](const auto& looking) { std::partial_sort(begin, middle, end, looking); });
}

template <class It, class Less>
Status NthElement(const Work& work, It begin, It nth, It end, const Less& less) {
  return internal::RunSort(
      work, less, [&](const auto& looking) { std::nth_element(begin, nth, end, looking); });
}

}  // namespace thalweg::compute
