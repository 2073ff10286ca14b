// SPDX-License-Identifier: Apache-2.0
// What updates element by element share: which types they have, and their loops over all elements
// or over rows. An update is a struct (PlainUpdate); `run(update, to, from, n)` updates n elements
// of variable and slots from place `to` on, by those of the gradient from place `from` on.
//
//   ASSIGN_OR_RETURN(const UpdateRun<PlainUpdate> run, RunFor(dtype, update.rule));
//   return RunOverElements(work, n, update, run);
//
// Ownership: the update points at the caller's elements.
// Threads: those of the Work.
// Errors: Unimplemented for another type, Cancelled.
#pragma once

#include "thalweg/compute/work.h"
#include "thalweg/tensor/dtype.h"

namespace thalweg::compute {

template <class U>
using UpdateRun = void (*)(const U& update, int64_t to, int64_t from, int64_t n);

// `pick` gives the function for elements of type S that are computed with as T.
template <class U, class Pick>
Result<UpdateRun<U>> RunOfRealType(DType dtype, const Pick& pick) {
  switch (dtype) {
    case DType::kFloat:
      return UpdateRun<U>(pick.template operator()<float, float>());
    case DType::kDouble:
      return UpdateRun<U>(pick.template operator()<double, double>());
    case DType::kHalf:
      return UpdateRun<U>(pick.template operator()<Half, float>());
    case DType::kBfloat16:
      return UpdateRun<U>(pick.template operator()<Bfloat16, float>());
    default:
      return Unimplemented("optimizer update of elements of type ", dtype);
  }
}

template <class U>
Status RunOverElements(Work& work, int64_t n, const U& update, UpdateRun<U> run) {
  constexpr int64_t kGrain = 16384;  // elements of a shard
  return ForBlocks(work, n, kGrain,
                   [&](int64_t begin, int64_t end) { run(update, begin, begin, end - begin); });
}

// Row i of the gradient updates row indices[i]. One shard: a row may come twice.
template <class U>
Status RunOverRows(Work& work, const int64_t* indices, int64_t count, int64_t inner,
                   const U& update, UpdateRun<U> run) {
  for (int64_t i = 0; i < count; ++i) {
    if (work.cancelled()) return CancelledStep();
    run(update, indices[i] * inner, i * inner, inner);
  }
  return OkStatus();
}

}  // namespace thalweg::compute
