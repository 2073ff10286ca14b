// SPDX-License-Identifier: Apache-2.0
// Class numbers drawn from rows of logits: the loop that the stateful and the stateless operation
// share.
// Ownership: output 0 is the context's; logits and sums are the caller's.
// Threads: those of the kernel's call; rows are spread over the step's.
// Errors: InvalidArgument for no classes, ResourceExhausted, Cancelled.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include "thalweg/compute/arithmetic.h"
#include "thalweg/compute/blocks_in_order.h"
#include "thalweg/compute/random/philox_fill.h"
#include "thalweg/kernel/kernel_registry.h"

namespace thalweg {

inline constexpr int64_t kDrawsPerLook = 1 << 14;  // at the cancel flag

// Cumulated exp(logits) of one row, not normalized; what is not finite has probability 0.
template <class T>
Result<double> Cumulate(const compute::Work& work, const T* logits, int64_t classes,
                        double* cumulated) {
  double largest = std::numeric_limits<double>::lowest();
  RETURN_IF_ERROR(
      compute::ForBlocksInOrder(work, classes, kDrawsPerLook, [&](int64_t begin, int64_t end) {
        for (int64_t j = begin; j < end; ++j) {
          double exact;
          if constexpr (std::is_same_v<T, double>) {
            exact = logits[j];
          } else {
            exact = static_cast<float>(logits[j]);
          }
          if (std::isfinite(exact)) largest = std::max(largest, exact);
          cumulated[j] = exact;
        }
      }));
  double total = 0;
  RETURN_IF_ERROR(
      compute::ForBlocksInOrder(work, classes, kDrawsPerLook, [&](int64_t begin, int64_t end) {
        for (int64_t j = begin; j < end; ++j) {
          if (std::isfinite(cumulated[j])) total += std::exp(cumulated[j] - largest);
          cumulated[j] = total;
        }
      }));
  return total;
}

// Output 0 is int32 or int64, as `dtype` says. `logits` is a matrix, samples >= 0; reserve() gives
// the stream, once.
template <class Reserve>
Status DrawMultinomial(Context& ctx, DType dtype, const Tensor& logits, int64_t samples,
                       const Reserve& reserve) {
  const int64_t batch = logits.dim(0), classes = logits.dim(1);
  if (classes <= 0) return InvalidArgument("num_classes should be positive, got ", classes);
  ASSIGN_OR_RETURN(const Shape shape, Shape::Make(Dims{batch, samples}));
  ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, dtype, shape));
  if (out->num_elements() == 0) return OkStatus();
  compute::PhiloxNumbers numbers(reserve());
  ASSIGN_OR_RETURN(Tensor scratch, ctx.AllocateTemporary(DType::kDouble, Shape{classes}));
  double* cumulated = scratch.mutable_data<double>();
  const bool narrow = dtype == DType::kInt32;
  int32_t* const drawn32 = narrow ? out->mutable_data<int32_t>() : nullptr;
  int64_t* const drawn64 = narrow ? nullptr : out->mutable_data<int64_t>();
  for (int64_t b = 0; b < batch; ++b) {
    double total = 0;
    RETURN_IF_ERROR(
        compute::WithType<FloatTypes>(logits.dtype(), "logits", [&]<class T>() -> Status {
          ASSIGN_OR_RETURN(
              total, Cumulate(ctx.work(), logits.data<T>() + b * classes, classes, cumulated));
          return OkStatus();
        }));
    RETURN_IF_ERROR(compute::ForBlocksInOrder(
        ctx.work(), samples, kDrawsPerLook, [&](int64_t begin, int64_t end) {
          for (int64_t j = begin; j < end; ++j) {
            const uint32_t high = numbers.Next();
            const double wanted = compute::UniformDouble(high, numbers.Next()) * total;
            const double* found = std::upper_bound(cumulated, cumulated + classes, wanted);
            if (narrow) {
              drawn32[b * samples + j] = static_cast<int32_t>(found - cumulated);
            } else {
              drawn64[b * samples + j] = found - cumulated;
            }
          }
        }));
  }
  return OkStatus();
}

}  // namespace thalweg
