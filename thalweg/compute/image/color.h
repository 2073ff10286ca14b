// SPDX-License-Identifier: Apache-2.0
// Colors of pixels: three numbers each, red, green, blue or hue, saturation, value, all in [0, 1].
//
//   RETURN_IF_ERROR(RgbToHsv(work, DType::kFloat, pixels, rgb, hsv));
//
// Types: float, double, half, bfloat16 (the latter two through float).
// Ownership: operands are the caller's; Clip writes in place.
// Threads: any, each with its own Work.
// Errors: Unimplemented for another type; those of work.h.
#pragma once

#include <array>
#include <span>

#include "thalweg/compute/work.h"
#include "thalweg/tensor/dtype.h"

namespace thalweg::compute {

Status RgbToHsv(Work& work, DType dtype, int64_t pixels, const void* rgb, void* hsv);
Status HsvToRgb(Work& work, DType dtype, int64_t pixels, const void* hsv, void* rgb);
// RGB pixels with their hue turned by `delta` of a full circle, or their saturation times `scale`.
Status TurnHue(Work& work, int64_t pixels, float delta, const float* in, float* out);
Status ScaleSaturation(Work& work, int64_t pixels, float scale, const float* in, float* out);
// RGB pixels as products with a matrix of three rows.
Status TurnColors(Work& work, int64_t pixels, std::span<const float, 9> matrix, const float* in,
                  float* out);
// The matrix that turns colors by `hue` (radians) in the plane of YIQ, and multiplies saturation
// and value.
std::array<float, 9> YiqMatrix(float hue, float saturation, float value);
// Each channel of each image moved away from its mean by `factor`.
Status ScaleContrast(Work& work, int64_t images, int64_t pixels, int64_t channels, float factor,
                     const float* in, float* out);
// Each number moved into [least, most]; `least` wins where that is empty.
Status Clip(Work& work, int64_t count, float least, float most, float* numbers);

}  // namespace thalweg::compute
