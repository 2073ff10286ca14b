// SPDX-License-Identifier: Apache-2.0
#include <bit>

#include "thalweg/graph/narrow_attr.h"
#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"

namespace thalweg {
namespace {

Status SpectraShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const PartialShape input, c.InputWithRank(0, 2));
  ASSIGN_OR_RETURN(const int64_t window, Int32Attr(c, "window_size"));
  ASSIGN_OR_RETURN(const int64_t stride, Int32Attr(c, "stride"));
  if (window <= 1) return InvalidArgument("window size must be > 1, got ", window);
  if (stride <= 0) return InvalidArgument("stride must be strictly positive, got ", stride);
  const int64_t samples = input.dim(0);
  const int64_t frames = samples < 0 ? -1 : samples < window ? 0 : 1 + (samples - window) / stride;
  const auto length = static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(window)));
  c.set_output(0, PartialShape{input.dim(1), frames, 1 + length / 2});
  return OkStatus();
}

Status MfccShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const PartialShape spectra, c.InputWithRank(0, 3));
  RETURN_IF_ERROR(c.InputWithRank(1, 0).status());
  ASSIGN_OR_RETURN(const int64_t coefficients, Int32Attr(c, "dct_coefficient_count"));
  if (coefficients < 0) {
    return InvalidArgument("dct_coefficient_count must not be negative, got ", coefficients);
  }
  c.set_output(0, PartialShape{spectra.dim(0), spectra.dim(1), coefficients});
  return OkStatus();
}

}  // namespace
}  // namespace thalweg

THALWEG_OP(spectrogram) {
  registry.Op("AudioSpectrogram")
      .Shape(SpectraShape)
      .NotDifferentiable("TensorFlow has no gradient for it; tf.signal.stft has one")
      .Doc("Spectra of windows that move along a sound.");
  registry.Op("Mfcc")
      .Shape(MfccShape)
      .NotDifferentiable("TensorFlow has no gradient for it; tf.signal has one")
      .Doc("Mel-frequency cepstral coefficients of spectra.");
}
