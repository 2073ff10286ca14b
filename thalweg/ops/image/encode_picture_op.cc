// SPDX-License-Identifier: Apache-2.0
#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"

namespace thalweg {
namespace {

constexpr std::string_view kToFile = "its output is a string";

Status JpegFileShape(ShapeContext& c) {
  RETURN_IF_ERROR(c.InputWithRank(0, 3).status());
  if (c.num_inputs() > 1) RETURN_IF_ERROR(c.InputWithRank(1, 0).status());
  c.set_output(0, PartialShape(Dims{}));
  return OkStatus();
}

// A picture of each place of the leading dimensions.
Status PngFilesShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const PartialShape pictures, c.InputWithRankAtLeast(0, 3));
  if (!pictures.known_rank()) return OkStatus();
  Dims batch;
  for (int i = 0; i < pictures.rank() - 3; ++i) batch.push_back(pictures.dim(i));
  c.set_output(0, PartialShape(batch));
  return OkStatus();
}

}  // namespace
}  // namespace thalweg

THALWEG_OP(encode_picture) {
  registry.Op("EncodeJpeg")
      .Shape(JpegFileShape)
      .NotDifferentiable(kToFile)
      .Doc("Pixels as a JPEG file.");
  registry.Op("EncodeJpegVariableQuality")
      .Shape(JpegFileShape)
      .NotDifferentiable(kToFile)
      .Doc("Pixels as a JPEG file of the given quality.");
  registry.Op("EncodePng")
      .Shape(PngFilesShape)
      .NotDifferentiable(kToFile)
      .Doc("Pixels of 8 or 16 bits as PNG files.");
}
