// SPDX-License-Identifier: Apache-2.0
#include "thalweg/compute/image/crop.h"
#include "thalweg/kernel/kernel_registry.h"
#include "thalweg/tensor/integers.h"

namespace thalweg {
namespace {

// [n, 4] boxes and the image of each.
Status CheckBoxes(const Tensor& boxes, const Tensor& index, int64_t images) {
  if (index.rank() != 1) {
    return InvalidArgument("box_indices must be rank 1 but is shape ", index.shape());
  }
  if (boxes.rank() != 2) return InvalidArgument("boxes must be 2-D, got: ", boxes.shape());
  if (boxes.dim(1) != 4) {
    return InvalidArgument("boxes must have 4 columns, got shape ", boxes.shape());
  }
  if (index.dim(0) != boxes.dim(0)) {
    return InvalidArgument("box_index has incompatible shape ", index.shape(), " for boxes ",
                           boxes.shape());
  }
  for (int64_t i = 0; i < index.num_elements(); ++i) {
    const int32_t image = index.data<int32_t>()[i];
    if (image >= 0 && image < images) continue;
    return OutOfRange("box_index has values outside [0, batch_size): box_ind[", i, "] = ", image,
                      " is not in [0, ", images, ")");
  }
  return OkStatus();
}

class CropKernel : public Kernel {
 public:
  Status Read(const KernelConstruction& c) {
    ASSIGN_OR_RETURN(const std::string method, c.Attr<std::string>("method"));
    shape_.nearest = method == "nearest";
    if (method != "nearest" && method != "bilinear") {
      return InvalidArgument("method must be bilinear or nearest, got ", method);
    }
    if (c.node().FindAttr("extrapolation_value") == nullptr) return OkStatus();
    ASSIGN_OR_RETURN(shape_.outside, c.Attr<float>("extrapolation_value"));
    return OkStatus();
  }

 protected:
  // The geometry between images and crops of these shapes.
  Result<compute::CropShape> Between(const Shape& image, const Shape& crops) const {
    if (image.rank() != 4 || crops.rank() != 4) {
      return InvalidArgument("image and crops must be 4-dimensional, got ", image, " and ", crops);
    }
    compute::CropShape s = shape_;
    s.images = image.dim(0);
    s.rows = image.dim(1);
    s.columns = image.dim(2);
    s.channels = image.dim(3);
    s.boxes = crops.dim(0);
    s.crop_rows = crops.dim(1);
    s.crop_columns = crops.dim(2);
    if (s.rows < 1 || s.columns < 1) {
      return InvalidArgument("image dimensions must be positive, got ", image);
    }
    if (s.crop_rows < 1 || s.crop_columns < 1) {
      return InvalidArgument("crop dimensions must be positive, got ", crops);
    }
    return s;
  }

  static Status CheckGrads(const Tensor& grads, const Tensor& boxes, const Shape& image) {
    if (grads.rank() == 4 && image.rank() == 4 && boxes.rank() == 2 &&
        grads.dim(0) == boxes.dim(0) && grads.dim(3) == image.dim(3)) {
      return OkStatus();
    }
    return InvalidArgument("grads must have one crop for each box and the image's depth, got ",
                           grads.shape(), " for boxes ", boxes.shape(), " and image ", image);
  }

 private:
  compute::CropShape shape_;
};

class CropCpu : public CropKernel {
  Status Compute(Context& ctx) override {
    const Tensor &image = ctx.input(0), &boxes = ctx.input(1), &index = ctx.input(2);
    if (image.rank() != 4) return InvalidArgument("input image must be 4-D", image.shape());
    RETURN_IF_ERROR(CheckBoxes(boxes, index, image.dim(0)));
    const Shape sizes = ctx.input(3).shape();
    if (sizes.rank() != 1) return InvalidArgument("crop_size must be 1-D", sizes);
    if (sizes.dim(0) != 2) return InvalidArgument("crop_size must have two elements", sizes);
    ASSIGN_OR_RETURN(const Dims size, IntVector(ctx.input(3), "crop_size"));
    if (size[0] < 1 || size[1] < 1) {
      return InvalidArgument("crop dimensions must be positive, got ", ctx.input(3).ToString());
    }
    const Dims dims{boxes.dim(0), size[0], size[1], image.dim(3)};
    ASSIGN_OR_RETURN(const Shape to, Shape::Make(dims));
    ASSIGN_OR_RETURN(const compute::CropShape shape, Between(image.shape(), to));
    ASSIGN_OR_RETURN(Tensor * crops, ctx.AllocateOutput(0, DType::kFloat, to));
    return compute::CropAndResize(ctx.work(), image.dtype(), shape, image.raw_data(),
                                  boxes.data<float>(), index.data<int32_t>(),
                                  crops->mutable_data<float>());
  }
};

class ImageGradCpu : public CropKernel {
  Status Compute(Context& ctx) override {
    const Tensor &grads = ctx.input(0), &boxes = ctx.input(1), &index = ctx.input(2);
    ASSIGN_OR_RETURN(const Shape image, ShapeOf(ctx.input(3), "image_size"));
    RETURN_IF_ERROR(CheckGrads(grads, boxes, image));
    RETURN_IF_ERROR(CheckBoxes(boxes, index, image.dim(0)));
    ASSIGN_OR_RETURN(const compute::CropShape shape, Between(image, grads.shape()));
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, type_, image));
    return compute::CropGradOfImage(ctx.work(), type_, shape, grads.data<float>(),
                                    boxes.data<float>(), index.data<int32_t>(),
                                    out->mutable_raw_data());
  }

 public:
  void SetType(DType type) { type_ = type; }

 private:
  DType type_ = DType::kFloat;
};

class BoxGradCpu : public CropKernel {
  Status Compute(Context& ctx) override {
    const Tensor &grads = ctx.input(0), &image = ctx.input(1), &boxes = ctx.input(2);
    const Tensor& index = ctx.input(3);
    RETURN_IF_ERROR(CheckGrads(grads, boxes, image.shape()));
    RETURN_IF_ERROR(CheckBoxes(boxes, index, image.dim(0)));
    ASSIGN_OR_RETURN(const compute::CropShape shape, Between(image.shape(), grads.shape()));
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, DType::kFloat, boxes.shape()));
    return compute::CropGradOfBoxes(ctx.work(), image.dtype(), shape, grads.data<float>(),
                                    image.raw_data(), boxes.data<float>(), index.data<int32_t>(),
                                    out->mutable_data<float>());
  }
};

template <class K>
struct MadeCrop {
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    auto kernel = std::make_unique<K>();
    RETURN_IF_ERROR(kernel->Read(c));
    if constexpr (requires { kernel->SetType(DType::kFloat); }) {
      kernel->SetType(c.output_type(0));
    }
    return std::unique_ptr<Kernel>(std::move(kernel));
  }
};

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(crop, cpu) {
  // What the schemas allow.
  for (DType dtype : {DType::kUint8, DType::kUint16, DType::kInt8, DType::kInt16, DType::kInt32,
                      DType::kInt64, DType::kHalf, DType::kFloat, DType::kDouble}) {
    registry.Add<MadeCrop<CropCpu>>("CropAndResize", kCpu, {{"T", dtype}});
    registry.Add<MadeCrop<BoxGradCpu>>("CropAndResizeGradBoxes", kCpu, {{"T", dtype}});
  }
  for (DType dtype : {DType::kHalf, DType::kFloat, DType::kDouble}) {
    registry.Add<MadeCrop<ImageGradCpu>>("CropAndResizeGradImage", kCpu, {{"T", dtype}});
  }
}
