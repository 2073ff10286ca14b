// SPDX-License-Identifier: Apache-2.0
#include "thalweg/compute/image/projective.h"
#include "thalweg/kernel/kernel_registry.h"
#include "thalweg/tensor/integers.h"

namespace thalweg {
namespace {

using compute::Outside;
using compute::ProjectiveShape;

class TransformCpu : public Kernel {
 public:
  explicit TransformCpu(const ProjectiveShape& options) : options_(options) {}
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    ASSIGN_OR_RETURN(const std::string interpolation, c.Attr<std::string>("interpolation"));
    std::string mode = "CONSTANT";
    if (c.node().FindAttr("fill_mode") != nullptr) {
      ASSIGN_OR_RETURN(mode, c.Attr<std::string>("fill_mode"));
    }
    if (interpolation != "NEAREST" && interpolation != "BILINEAR") {
      return InvalidArgument("interpolation must be NEAREST or BILINEAR, got ", interpolation);
    }
    ProjectiveShape options{.bilinear = interpolation == "BILINEAR"};
    if (mode == "REFLECT") {
      options.outside = Outside::kReflect;
    } else if (mode == "WRAP") {
      options.outside = Outside::kWrap;
    } else if (mode == "NEAREST") {
      options.outside = Outside::kNearest;
    } else if (mode != "CONSTANT") {
      return InvalidArgument("fill_mode must be CONSTANT, REFLECT, WRAP or NEAREST, got ", mode);
    }
    return std::unique_ptr<Kernel>(std::make_unique<TransformCpu>(options));
  }

  Status Compute(Context& ctx) override {
    const Tensor &images = ctx.input(0), &transforms = ctx.input(1);
    if (images.rank() != 4) {
      return InvalidArgument("Input images must have rank 4, got shape ", images.shape());
    }
    if (transforms.rank() != 2 || transforms.dim(1) != 8 ||
        (transforms.dim(0) != 1 && transforms.dim(0) != images.dim(0))) {
      return InvalidArgument("Input transform should be num_images x 8 or 1 x 8, got shape ",
                             transforms.shape(), " for ", images.dim(0), " images");
    }
    ASSIGN_OR_RETURN(const Dims size, SizeOf(ctx));
    ProjectiveShape shape = options_;
    if (ctx.num_inputs() > 3) {
      if (ctx.input(3).rank() != 0) {
        return InvalidArgument("fill_value must be a scalar, got shape ", ctx.input(3).shape());
      }
      shape.fill = ctx.input(3).scalar<float>();
    }
    shape.batch = images.dim(0);
    shape.rows = images.dim(1);
    shape.columns = images.dim(2);
    shape.channels = images.dim(3);
    shape.out_rows = size[0];
    shape.out_columns = size[1];
    shape.transforms_each = transforms.dim(0) != 1;
    if (shape.rows == 0 || shape.columns == 0) shape.outside = Outside::kFill;
    ASSIGN_OR_RETURN(const Shape out,
                     Shape::Make(Dims{shape.batch, size[0], size[1], shape.channels}));
    ASSIGN_OR_RETURN(Tensor * y, ctx.AllocateOutput(0, images.dtype(), out));
    if (y->num_elements() == 0) return OkStatus();
    return compute::ProjectiveTransform(ctx.work(), images.dtype(), shape, transforms.data<float>(),
                                        images.raw_data(), y->mutable_raw_data());
  }

 private:
  // Of the images that are made.
  static Result<Dims> SizeOf(const Context& ctx) {
    if (ctx.num_inputs() == 2) return Dims{ctx.input(0).dim(1), ctx.input(0).dim(2)};
    ASSIGN_OR_RETURN(Dims size, IntVector(ctx.input(2), "output_shape"));
    if (size.size() != 2) {
      return InvalidArgument("output shape must have two elements, got shape ",
                             ctx.input(2).shape());
    }
    if (size[0] <= 0 || size[1] <= 0) {
      return InvalidArgument("output dimensions must be positive, got ", size[0], " and ", size[1]);
    }
    return size;
  }

  const ProjectiveShape options_;
};

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(projective, cpu) {
  for (DType dtype : {DType::kUint8, DType::kInt32, DType::kInt64, DType::kHalf, DType::kBfloat16,
                      DType::kFloat, DType::kDouble}) {
    for (const char* op : {"ImageProjectiveTransformV2", "ImageProjectiveTransformV3"}) {
      registry.Add<TransformCpu>(op, kCpu, {{"dtype", dtype}});
    }
    if (dtype == DType::kBfloat16) continue;
    registry.Add<TransformCpu>("ImageProjectiveTransform", kCpu, {{"dtype", dtype}});
  }
}
