// SPDX-License-Identifier: Apache-2.0
// One kernel for all of these: each looks at how the file begins, and most take more than the kind
// in their name, as TensorFlow's do.
#include "thalweg/compute/codec/pictures.h"
#include "thalweg/graph/narrow_attr.h"
#include "thalweg/kernel/kernel_registry.h"
#include "thalweg/ops/image/picture_place.h"
#include "thalweg/tensor/integers.h"

namespace thalweg {
namespace {

using compute::JpegReading;
using compute::PictureKind;

Result<std::string_view> Contents(Context& ctx) {
  if (ctx.input(0).rank() != 0) {
    return InvalidArgument("`contents` must be scalar but got shape ", ctx.input(0).shape());
  }
  const std::string& file = ctx.input(0).scalar<std::string>();
  if (file.empty()) return InvalidArgument("Input is empty.");
  return std::string_view(file);
}

Result<JpegReading> JpegOptions(const KernelConstruction& c) {
  JpegReading how;
  ASSIGN_OR_RETURN(const int64_t ratio, Int32Attr(c, "ratio"));
  if (ratio != 1 && ratio != 2 && ratio != 4 && ratio != 8) {
    return InvalidArgument("ratio must be 1, 2, 4, or 8, got ", ratio);
  }
  how.ratio = static_cast<int>(ratio);
  ASSIGN_OR_RETURN(how.fancy_upscaling, c.Attr<bool>("fancy_upscaling"));
  ASSIGN_OR_RETURN(how.recover, c.Attr<bool>("try_recover_truncated"));
  ASSIGN_OR_RETURN(how.acceptable_fraction, c.Attr<float>("acceptable_fraction"));
  ASSIGN_OR_RETURN(const std::string method, c.Attr<std::string>("dct_method"));
  if (!method.empty() && method != "INTEGER_FAST" && method != "INTEGER_ACCURATE") {
    return InvalidArgument(
        "dct_method must be one of {'', 'INTEGER_FAST', 'INTEGER_ACCURATE'}, got '", method, "'");
  }
  how.fast_dct = method != "INTEGER_ACCURATE";
  return how;
}

class DecodePicture : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    auto kernel = std::make_unique<DecodePicture>();
    RETURN_IF_ERROR(kernel->Read(c));
    return std::unique_ptr<Kernel>(std::move(kernel));
  }

  Status Compute(Context& ctx) override {
    ASSIGN_OR_RETURN(const std::string_view file, Contents(ctx));
    const PictureKind kind = compute::KindOfPicture(file);
    RETURN_IF_ERROR(CheckKind(kind));
    // 16 bits are lost in no step where the output has more than 8.
    const int bits = kind == PictureKind::kPng && dtype_ != DType::kUint8 ? 16 : 8;
    const bool frames =
        op_ == "DecodeGif" || (op_ == "DecodeImage" && kind == PictureKind::kGif && animations_);
    PicturePlace place(ctx, dtype_, bits, frames);
    switch (kind) {
      case PictureKind::kJpeg: {
        ASSIGN_OR_RETURN(const JpegReading how, Jpeg(ctx));
        RETURN_IF_ERROR(compute::ReadJpeg(file, how, place.host()));
        break;
      }
      case PictureKind::kPng:
        RETURN_IF_ERROR(compute::ReadPng(file, channels_, bits, place.host()));
        break;
      case PictureKind::kGif:
        RETURN_IF_ERROR(compute::ReadGif(file, op_ == "DecodeImage" && !animations_, place.host()));
        break;
      default:
        RETURN_IF_ERROR(compute::ReadBmp(file, channels_, place.host()));
    }
    place.Convert();
    return OkStatus();
  }

 private:
  Status Read(const KernelConstruction& c) {
    op_ = c.node().op_name();
    dtype_ = c.output_type(0);
    int64_t channels = 3;
    if (op_ != "DecodeGif") {
      ASSIGN_OR_RETURN(channels, Int32Attr(c, "channels"));
    }
    if (channels != 0 && channels != 1 && channels != 3 && channels != 4) {
      return InvalidArgument("`channels` must be 0, 1, 3 or 4 but got ", channels);
    }
    channels_ = static_cast<int>(channels);
    if (op_ == "DecodeJpeg" || op_ == "DecodeAndCropJpeg") {
      ASSIGN_OR_RETURN(jpeg_, JpegOptions(c));
    }
    if (op_ == "DecodeImage") {
      ASSIGN_OR_RETURN(animations_, c.Attr<bool>("expand_animations"));
    }
    return OkStatus();
  }

  Status CheckKind(PictureKind kind) const {
    const auto wrong = [&](std::string_view format, std::string_view function) {
      return InvalidArgument("Trying to decode ", format, " format using ", op_, " op. Use `",
                             function, "` or `decode_image` instead.");
    };
    const bool bmp = op_ == "DecodeBmp", cropped = op_ == "DecodeAndCropJpeg";
    switch (kind) {
      case PictureKind::kJpeg:
        if (bmp) return wrong("JPEG", "decode_jpeg");
        if (channels_ != 4) return OkStatus();
        return InvalidArgument("JPEG does not support 4 channels");
      case PictureKind::kPng:
        return bmp || cropped ? wrong("PNG", "decode_png") : OkStatus();
      case PictureKind::kGif:
        if (bmp || cropped) return wrong("GIF", "decode_gif");
        if (channels_ == 0 || channels_ == 3) return OkStatus();
        return InvalidArgument("channels must be 0 or 3 for GIF, got ", channels_);
      case PictureKind::kBmp:
        return bmp || op_ == "DecodeImage" ? OkStatus() : wrong("BMP", "decode_bmp");
      case PictureKind::kWebp:
        return Unimplemented("WebP pictures cannot be decoded");
      case PictureKind::kUnknown:
        break;
    }
    return InvalidArgument("Unknown image file format. One of JPEG, PNG, GIF, BMP required.");
  }

  Result<JpegReading> Jpeg(Context& ctx) const {
    JpegReading how = jpeg_;
    how.channels = channels_;
    how.crop = op_ == "DecodeAndCropJpeg";
    if (!how.crop) return how;
    ASSIGN_OR_RETURN(const Dims window, IntVector(ctx.input(1), "crop_window"));
    if (window.size() != 4) {
      return InvalidArgument("crop_window must have four elements, got shape ",
                             ctx.input(1).shape());
    }
    how.top = window[0];
    how.left = window[1];
    how.rows = window[2];
    how.columns = window[3];
    return how;
  }

  std::string op_;
  DType dtype_ = DType::kUint8;
  int channels_ = 0;
  bool animations_ = true;
  JpegReading jpeg_;
};

template <class T>
class JpegShapeCpu : public Kernel {
 public:
  Status Compute(Context& ctx) override {
    ASSIGN_OR_RETURN(const std::string_view file, Contents(ctx));
    ASSIGN_OR_RETURN(const compute::PictureSize size, compute::JpegShape(file));
    ASSIGN_OR_RETURN(Tensor * shape, ctx.AllocateOutput(0, kDTypeOf<T>, Shape{3}));
    T* const to = shape->mutable_data<T>();
    to[0] = static_cast<T>(size.rows);
    to[1] = static_cast<T>(size.columns);
    to[2] = static_cast<T>(size.channels);
    return OkStatus();
  }
};

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(decode_picture, cpu) {
  for (const char* op :
       {"DecodeJpeg", "DecodeAndCropJpeg", "DecodePng", "DecodeGif", "DecodeBmp", "DecodeImage"}) {
    registry.Add<DecodePicture>(op, kCpu).Cost(KernelCost::kExpensive);
  }
  registry.Add<JpegShapeCpu<int32_t>>("ExtractJpegShape", kCpu, {{"output_type", DType::kInt32}});
  registry.Add<JpegShapeCpu<int64_t>>("ExtractJpegShape", kCpu, {{"output_type", DType::kInt64}});
}
