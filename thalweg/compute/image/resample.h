// SPDX-License-Identifier: Apache-2.0
// Images [batch, rows, columns, channels] of another size, where each dimension is resampled by a
// table of weighted places: areas, cubic curves, kernels of any width. The gradient is the same
// with the transposed tables.
//
//   ASSIGN_OR_RETURN(const Taps rows, CubicTaps(32, 64, false, true));
//   ASSIGN_OR_RETURN(const Taps columns, CubicTaps(32, 48, false, true));
//   RETURN_IF_ERROR(Resample(work, DType::kUint8, 8, 3, rows, columns, images, resized));
//
// Sizes are at least 1. Weights are floats, sums too. Determinism: one shard writes whole rows, in
// the order of the tables.
// Ownership: tables own their places; images are the caller's.
// Threads: any, each with its own Work; a table is read by several.
// Errors: ResourceExhausted for a table of more places than memory should hold, InvalidArgument for
// a kernel that is none, Unimplemented for another type; those of work.h.
#pragma once

#include <string_view>
#include <vector>

#include "thalweg/compute/work.h"
#include "thalweg/tensor/dtype.h"

namespace thalweg::compute {

// Element i of the output is the sum of weight[k] * input[from[k]], first[i] <= k < first[i + 1].
struct Taps {
  int64_t in = 0;
  std::vector<int64_t> first{0};
  std::vector<int64_t> from;
  std::vector<float> weight;

  int64_t out() const { return static_cast<int64_t>(first.size()) - 1; }
  Taps Transposed() const;
};

// Every element the mean of what it covers.
Result<Taps> AreaTaps(int64_t in, int64_t out, bool align_corners);
// Four places each, on a cubic curve.
Result<Taps> CubicTaps(int64_t in, int64_t out, bool align_corners, bool half_pixel_centers);

struct Placement {
  std::string_view kernel = "lanczos3";  // and lanczos1, lanczos5, gaussian, box, triangle, ...
  float scale = 1;                       // > 0
  float translation = 0;                 // element i of the input is put to scale * i + translation
  bool antialias = true;                 // the kernel is widened where the output is smaller
};
bool IsResampleKernel(std::string_view kernel);
Result<Taps> KernelTaps(int64_t in, int64_t out, const Placement& placement);

// From `dtype`, a real number, to float.
Status Resample(Work& work, DType dtype, int64_t batch, int64_t channels, const Taps& rows,
                const Taps& columns, const void* input, float* output);
// From float to `dtype`, a floating one.
Status ResampleGrad(Work& work, DType dtype, int64_t batch, int64_t channels, const Taps& rows,
                    const Taps& columns, const float* output_grad, void* input_grad);

}  // namespace thalweg::compute
