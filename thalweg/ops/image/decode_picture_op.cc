// SPDX-License-Identifier: Apache-2.0
#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"

namespace thalweg {
namespace {

constexpr std::string_view kFromFile = "its input is a string";

// -1 for those of the file.
Result<int64_t> Channels(ShapeContext& c) {
  ASSIGN_OR_RETURN(const int64_t channels, c.Attr<int64_t>("channels"));
  if (channels < 0) return InvalidArgument("channels must be non-negative, got ", channels);
  return channels == 0 ? -1 : channels;
}

Status PictureShape(ShapeContext& c) {
  RETURN_IF_ERROR(c.InputWithRank(0, 0).status());
  ASSIGN_OR_RETURN(const int64_t channels, Channels(c));
  c.set_output(0, PartialShape{-1, -1, channels});
  return OkStatus();
}

Status CroppedShape(ShapeContext& c) {
  RETURN_IF_ERROR(PictureShape(c));
  ASSIGN_OR_RETURN(const PartialShape window, c.InputWithRank(1, 1));
  if (window.dim(0) >= 0 && window.dim(0) != 4) {
    return InvalidArgument("crop_window must have four elements, got ", window.dim(0));
  }
  const Tensor known = c.InputValue(1);
  if (known.num_elements() != 4) return OkStatus();
  const int32_t* const sides = known.data<int32_t>();
  if (sides[2] < 0 || sides[3] < 0) {
    return InvalidArgument("crop_window must not have a negative height or width, got ", sides[2],
                           " and ", sides[3]);
  }
  ASSIGN_OR_RETURN(const int64_t channels, Channels(c));
  c.set_output(0, PartialShape{sides[2], sides[3], channels});
  return OkStatus();
}

Status FramesShape(ShapeContext& c) {
  RETURN_IF_ERROR(c.InputWithRank(0, 0).status());
  c.set_output(0, PartialShape{-1, -1, -1, 3});
  return OkStatus();
}

Status AnyPictureShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const bool animations, c.Attr<bool>("expand_animations"));
  if (!animations) return PictureShape(c);
  RETURN_IF_ERROR(c.InputWithRank(0, 0).status());
  return Channels(c).status();
}

Status ThreeNumbers(ShapeContext& c) {
  RETURN_IF_ERROR(c.InputWithRank(0, 0).status());
  c.set_output(0, PartialShape{3});
  return OkStatus();
}

}  // namespace
}  // namespace thalweg

THALWEG_OP(decode_picture) {
  registry.Op("DecodeJpeg")
      .Shape(PictureShape)
      .NotDifferentiable(kFromFile)
      .Doc("The pixels of a JPEG file.");
  registry.Op("DecodeAndCropJpeg")
      .Shape(CroppedShape)
      .NotDifferentiable(kFromFile)
      .Doc("A window of the pixels of a JPEG file; the rest is not decoded.");
  registry.Op("ExtractJpegShape")
      .Shape(ThreeNumbers)
      .NotDifferentiable(kFromFile)
      .Doc("Rows, columns and channels of a JPEG file, from its header.");
  registry.Op("DecodePng")
      .Shape(PictureShape)
      .NotDifferentiable(kFromFile)
      .Doc("The pixels of a PNG file, with 8 or 16 bits.");
  registry.Op("DecodeBmp")
      .Shape(PictureShape)
      .NotDifferentiable(kFromFile)
      .Doc("The pixels of a BMP file.");
  registry.Op("DecodeGif")
      .Shape(FramesShape)
      .NotDifferentiable(kFromFile)
      .Doc("The frames of a GIF file, each as it is seen.");
  registry.Op("DecodeImage")
      .Shape(AnyPictureShape)
      .NotDifferentiable(kFromFile)
      .Doc("The pixels of a JPEG, PNG, GIF or BMP file, as bytes, 16-bit integers or floats.");
}
