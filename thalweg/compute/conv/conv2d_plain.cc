// SPDX-License-Identifier: Apache-2.0
#include "thalweg/compute/conv/conv2d_plain.h"

#include <algorithm>

#include "thalweg/compute/interruptible.h"

namespace thalweg::compute {
namespace {

// Calls body(output pixel, input pixel, tap) for every tap of output pixels begin to end, of all
// images, that lands inside its input. Looks whether the step was cancelled.
template <class Body>
void ForTaps(const Conv2DShape& s, int64_t begin, int64_t end, const Body& body) {
  for (int64_t pixel = begin; pixel < end; ++pixel) {
    Interruption::Look();
    const int64_t image = pixel / s.OutPixels(), o = pixel % s.OutPixels();
    for (int64_t tap = 0; tap < s.Taps(); ++tap) {
      const int64_t row = o / s.columns.output * s.rows.stride - s.rows.pad_before +
                          tap / s.columns.size * s.rows.dilation;
      const int64_t column = o % s.columns.output * s.columns.stride - s.columns.pad_before +
                             tap % s.columns.size * s.columns.dilation;
      if (row < 0 || row >= s.rows.input || column < 0 || column >= s.columns.input) continue;
      body(pixel, image * s.InPixels() + row * s.columns.input + column, tap);
    }
  }
}

void MultiplyAdd(int32_t x, int32_t y, int32_t& sum) {
  sum = static_cast<int32_t>(static_cast<uint32_t>(sum) +
                             static_cast<uint32_t>(x) * static_cast<uint32_t>(y));
}

}  // namespace

Status ConvForward(Work& work, const Conv2DShape& s, const int32_t* input, const int32_t* filter,
                   int32_t* output, const GemmEpilogue& epilogue) {
  const auto* bias = static_cast<const int32_t*>(epilogue.bias);
  const auto* residual = static_cast<const int32_t*>(epilogue.residual);
  const int64_t in = s.in_channels, out = s.out_channels;
  // Pixels of an output stand alone, so that one large image has as many parts as many small ones.
  const int64_t pixels = s.batch * s.OutPixels();
  const int64_t row = std::max<int64_t>(1, s.columns.output);
  return ForLookingBlocks(work, pixels, row, [&](int64_t first, int64_t last) {
    const int64_t begin = first * out, end = last * out;
    for (int64_t i = begin; i < end; ++i) {
      int32_t start = residual != nullptr ? residual[i] : 0;
      if (bias != nullptr) MultiplyAdd(1, bias[i % out], start);
      output[i] = start;
    }
    ForTaps(s, first, last, [&](int64_t o, int64_t p, int64_t tap) {
      for (int64_t c = 0; c < in; ++c) {
        const int32_t* row = filter + (tap * in + c) * out;
        for (int64_t d = 0; d < out; ++d)
          MultiplyAdd(input[p * in + c], row[d], output[o * out + d]);
      }
    });
    for (int64_t i = begin; epilogue.relu && i < end; ++i) output[i] = std::max(output[i], 0);
  });
}

Status ConvBackwardInput(Work& work, const Conv2DShape& s, const int32_t* filter,
                         const int32_t* output_grad, int32_t* input_grad) {
  const int64_t in = s.in_channels, out = s.out_channels;
  return ForLookingBlocks(work, s.batch, 1, [&](int64_t image, int64_t) {
    std::fill_n(input_grad + image * s.InPixels() * in, s.InPixels() * in, 0);
    ForTaps(s, image * s.OutPixels(), (image + 1) * s.OutPixels(),
            [&](int64_t o, int64_t p, int64_t tap) {
              for (int64_t c = 0; c < in; ++c) {
                const int32_t* row = filter + (tap * in + c) * out;
                for (int64_t d = 0; d < out; ++d)
                  MultiplyAdd(output_grad[o * out + d], row[d], input_grad[p * in + c]);
              }
            });
  });
}

Status ConvBackwardFilter(Work& work, const Conv2DShape& s, const int32_t* input,
                          const int32_t* output_grad, int32_t* filter_grad) {
  const int64_t in = s.in_channels, out = s.out_channels;
  std::fill_n(filter_grad, s.Taps() * in * out, 0);
  return Interruptibly(work, [&] {
    ForTaps(s, 0, s.batch * s.OutPixels(), [&](int64_t o, int64_t p, int64_t tap) {
      for (int64_t c = 0; c < in; ++c) {
        int32_t* row = filter_grad + (tap * in + c) * out;
        for (int64_t d = 0; d < out; ++d)
          MultiplyAdd(input[p * in + c], output_grad[o * out + d], row[d]);
      }
    });
  });
}

}  // namespace thalweg::compute
