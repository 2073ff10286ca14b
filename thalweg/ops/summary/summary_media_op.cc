// SPDX-License-Identifier: Apache-2.0
#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"

namespace thalweg {
namespace {

constexpr const char* kBytes = "a serialized message has no derivative";

Status AudioSummaryShape(ShapeContext& c) {
  const PartialShape& sound = c.input(1);
  if (sound.known_rank() && sound.rank() != 2 && sound.rank() != 3) {
    return InvalidArgument(
        "tensor must be [batch, frames] or [batch, frames, channels], got shape ", sound);
  }
  return ScalarShape(c);
}

}  // namespace
}  // namespace thalweg

THALWEG_OP(summary_media) {
  for (const char* name : {"AudioSummary", "AudioSummaryV2"}) {
    registry.Op(name)
        .Shape(AudioSummaryShape)
        .NotDifferentiable(kBytes)
        .Doc("A Summary with the first sounds of a batch as WAV files.");
  }
  registry.Op("ImageSummary")
      .Shape(ScalarShape)
      .NotDifferentiable(kBytes)
      .Doc("A Summary with the first images of a batch as PNG files.");
}
