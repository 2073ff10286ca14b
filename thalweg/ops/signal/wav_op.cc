// SPDX-License-Identifier: Apache-2.0
#include "thalweg/graph/narrow_attr.h"
#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"

namespace thalweg {
namespace {

// -1 for as many as the file has.
Result<int64_t> Desired(ShapeContext& c, std::string_view what) {
  ASSIGN_OR_RETURN(const int64_t desired, Int32Attr(c, what));
  if (desired == -1) return -1;
  if (desired < 0) {
    return InvalidArgument(what, " must be non-negative or -1, got ", desired);
  }
  return desired;
}

Status SoundShape(ShapeContext& c) {
  RETURN_IF_ERROR(c.InputWithRank(0, 0).status());
  ASSIGN_OR_RETURN(const int64_t channels, Desired(c, "desired_channels"));
  ASSIGN_OR_RETURN(const int64_t samples, Desired(c, "desired_samples"));
  c.set_output(0, PartialShape{samples, channels});
  c.set_output(1, PartialShape(Dims{}));
  return OkStatus();
}

Status SoundFileShape(ShapeContext& c) {
  RETURN_IF_ERROR(c.InputWithRank(0, 2).status());
  RETURN_IF_ERROR(c.InputWithRank(1, 0).status());
  c.set_output(0, PartialShape(Dims{}));
  return OkStatus();
}

}  // namespace
}  // namespace thalweg

THALWEG_OP(wav) {
  registry.Op("DecodeWav")
      .Shape(SoundShape)
      .NotDifferentiable("its input is a string")
      .Doc(
          "The samples of a WAV file of 16 bits, between -1 and 1, and how many there are in a "
          "second.");
  registry.Op("EncodeWav")
      .Shape(SoundFileShape)
      .NotDifferentiable("its output is a string")
      .Doc("Samples as a WAV file of 16 bits.");
}
