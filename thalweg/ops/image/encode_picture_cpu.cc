// SPDX-License-Identifier: Apache-2.0
#include <limits>

#include "thalweg/compute/codec/pictures.h"
#include "thalweg/graph/narrow_attr.h"
#include "thalweg/kernel/kernel_registry.h"
#include "thalweg/kernel/made_texts.h"

namespace thalweg {
namespace {

using compute::JpegWriting;
using compute::PictureSize;

compute::PictureHost HostOf(Context& ctx) {
  return {.allocator = ctx.allocator(), .work = ctx.work(), .room = nullptr};
}

Status CheckQuality(int64_t quality) {
  if (quality >= 0 && quality <= 100) return OkStatus();
  return InvalidArgument("quality must be in [0,100], got ", quality);
}

class EncodeJpegCpu : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    auto kernel = std::make_unique<EncodeJpegCpu>();
    if (c.node().num_inputs() == 1) RETURN_IF_ERROR(kernel->Read(c));
    return std::unique_ptr<Kernel>(std::move(kernel));
  }

  Status Compute(Context& ctx) override {
    const Tensor& image = ctx.input(0);
    if (image.rank() != 3) {
      return InvalidArgument("image must be 3-dimensional, got shape ", image.shape());
    }
    const PictureSize size{1, image.dim(0), image.dim(1), image.dim(2)};
    if (channels_ != 0 && size.channels != channels_) {
      return InvalidArgument("format ", channels_ == 1 ? "grayscale" : "rgb", " expects ",
                             channels_, " channels, got shape ", image.shape());
    }
    if (size.channels != 1 && size.channels != 3) {
      return InvalidArgument("image must have 1 or 3 channels, got shape ", image.shape());
    }
    JpegWriting how = how_;
    if (ctx.num_inputs() > 1) {
      if (ctx.input(1).rank() != 0) {
        return InvalidArgument("quality must be scalar, got shape ", ctx.input(1).shape());
      }
      how.quality = ctx.input(1).scalar<int32_t>();
      RETURN_IF_ERROR(CheckQuality(how.quality));
    }
    if (image.num_elements() == 0) {
      return Internal("JPEG encoding failed: an image of shape ", image.shape(), " has no pixels");
    }
    ASSIGN_OR_RETURN(std::string file,
                     compute::WriteJpeg(image.data<uint8_t>(), size, how, HostOf(ctx)));
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, DType::kString, Shape{}));
    out->mutable_data<std::string>()[0] = std::move(file);
    return OkStatus();
  }

 private:
  Status Read(const KernelConstruction& c) {
    ASSIGN_OR_RETURN(const std::string format, c.Attr<std::string>("format"));
    channels_ = format == "grayscale" ? 1 : format == "rgb" ? 3 : 0;
    ASSIGN_OR_RETURN(const int64_t quality, Int32Attr(c, "quality"));
    RETURN_IF_ERROR(CheckQuality(quality));
    how_.quality = static_cast<int>(quality);
    ASSIGN_OR_RETURN(how_.progressive, c.Attr<bool>("progressive"));
    ASSIGN_OR_RETURN(how_.optimize, c.Attr<bool>("optimize_size"));
    ASSIGN_OR_RETURN(how_.downsample, c.Attr<bool>("chroma_downsampling"));
    ASSIGN_OR_RETURN(const std::string unit, c.Attr<std::string>("density_unit"));
    how_.centimeters = unit == "cm";
    ASSIGN_OR_RETURN(const int64_t x_density, Int32Attr(c, "x_density"));
    ASSIGN_OR_RETURN(const int64_t y_density, Int32Attr(c, "y_density"));
    how_.x_density = static_cast<uint16_t>(x_density);  // what a file can say
    how_.y_density = static_cast<uint16_t>(y_density);
    ASSIGN_OR_RETURN(how_.xmp, c.Attr<std::string>("xmp_metadata"));
    return OkStatus();
  }

  int64_t channels_ = 0;  // 0: any
  JpegWriting how_;
};

class EncodePngCpu : public Kernel {
 public:
  explicit EncodePngCpu(int compression) : compression_(compression) {}
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    ASSIGN_OR_RETURN(const int64_t compression, Int32Attr(c, "compression"));
    if (compression < -1 || compression > 9) {
      return InvalidArgument("compression should be in [-1,9], got ", compression);
    }
    return std::unique_ptr<Kernel>(std::make_unique<EncodePngCpu>(static_cast<int>(compression)));
  }

  Status Compute(Context& ctx) override {
    const Tensor& images = ctx.input(0);
    if (images.rank() < 3) {
      return InvalidArgument("images must be at least rank 3, got shape ", images.shape());
    }
    const int rank = images.rank();
    const PictureSize size{1, images.dim(rank - 3), images.dim(rank - 2), images.dim(rank - 1)};
    if (size.channels < 1 || size.channels > 4) {
      return InvalidArgument("image must have 1, 2, 3, or 4 channels, got shape ", images.shape());
    }
    Dims batch;
    for (int i = 0; i < rank - 3; ++i) batch.push_back(images.dim(i));
    ASSIGN_OR_RETURN(const Shape shape, Shape::Make(batch));
    ASSIGN_OR_RETURN(Tensor * files, ctx.AllocateOutput(0, DType::kString, shape));
    if (files->num_elements() == 0) return OkStatus();
    constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
    if (size.rows == 0 || size.columns == 0 || size.rows > kMost || size.columns > kMost) {
      return Internal("PNG encoding failed: images of shape ", images.shape());
    }
    const int bits = images.dtype() == DType::kUint16 ? 16 : 8;
    const int64_t bytes = size.rows * size.columns * size.channels * (bits / 8);
    TextMeter meter(ctx.allocator(), *files);
    for (int64_t i = 0; i < files->num_elements(); ++i) {
      const char* const pixels = static_cast<const char*>(images.raw_data()) + i * bytes;
      ASSIGN_OR_RETURN(std::string file,
                       compute::WritePng(pixels, size, bits, compression_, HostOf(ctx)));
      if (!meter.Take(file.size())) return meter.status();
      files->mutable_data<std::string>()[i] = std::move(file);
    }
    return OkStatus();
  }

 private:
  const int compression_;
};

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(encode_picture, cpu) {
  registry.Add<EncodeJpegCpu>("EncodeJpeg", kCpu).Cost(KernelCost::kExpensive);
  registry.Add<EncodeJpegCpu>("EncodeJpegVariableQuality", kCpu).Cost(KernelCost::kExpensive);
  for (DType dtype : {DType::kUint8, DType::kUint16}) {
    registry.Add<EncodePngCpu>("EncodePng", kCpu, {{"T", dtype}}).Cost(KernelCost::kExpensive);
  }
}
