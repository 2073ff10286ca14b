// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cstring>

#include "thalweg/compute/image/boxes.h"
#include "thalweg/kernel/kernel_registry.h"

namespace thalweg {
namespace {

// TensorFlow's: yellow, blue, red, lime, purple, olive, maroon, navy, aqua, fuchsia.
constexpr std::array<std::array<float, 4>, 10> kColors = {{{1, 1, 0, 1},
                                                           {0, 0, 1, 1},
                                                           {1, 0, 0, 1},
                                                           {0, 1, 0, 1},
                                                           {0.5f, 0, 0.5f, 1},
                                                           {0.5f, 0.5f, 0, 1},
                                                           {0.5f, 0, 0, 1},
                                                           {0, 0, 0.5f, 1},
                                                           {0, 1, 1, 1},
                                                           {1, 0, 1, 1}}};

Status CheckImages(const Tensor& images, const Tensor& boxes) {
  if (images.rank() != 4) {
    return InvalidArgument("The rank of the images should be 4, got shape ", images.shape());
  }
  if (boxes.rank() != 3 || boxes.dim(2) != 4) {
    return InvalidArgument("boxes must be [batch, boxes, 4], got shape ", boxes.shape());
  }
  if (images.dim(0) != boxes.dim(0)) {
    return InvalidArgument("The batch sizes should be the same, got ", images.dim(0), " and ",
                           boxes.dim(0));
  }
  const int64_t depth = images.dim(3);
  if (depth == 1 || depth == 3 || depth == 4) return OkStatus();
  return InvalidArgument("Channel depth should be either 1 (GRY), 3 (RGB), or 4 (RGBA), got ",
                         depth);
}

Status DrawBoundingBoxes(Context& ctx) {
  const Tensor &images = ctx.input(0), &boxes = ctx.input(1);
  RETURN_IF_ERROR(CheckImages(images, boxes));
  compute::DrawShape shape{.batch = images.dim(0),
                           .rows = images.dim(1),
                           .columns = images.dim(2),
                           .channels = images.dim(3),
                           .boxes = boxes.dim(1),
                           .colors = kColors.size()};
  auto table = kColors;
  if (shape.channels == 1) {
    for (auto& color : table) color[0] = 1;  // white
  }
  const float* colors = table[0].data();
  if (ctx.num_inputs() > 2) {
    const Tensor& given = ctx.input(2);
    if (given.rank() != 2) {
      return InvalidArgument("colors must be a 2-D matrix, got shape ", given.shape());
    }
    if (given.dim(1) < shape.channels) {
      return InvalidArgument("colors must have equal or more channels than the image provided: ",
                             given.shape());
    }
    if (given.dim(0) > 0) {
      colors = given.data<float>();
      shape.colors = given.dim(0);
      shape.color_channels = given.dim(1);
    }
  }
  ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, images.dtype(), images.shape()));
  if (out->num_elements() == 0) return OkStatus();
  std::memcpy(out->mutable_raw_data(), images.raw_data(), images.bytes());
  return compute::DrawBoxes(ctx.work(), images.dtype(), shape, boxes.data<float>(), colors,
                            out->mutable_raw_data());
}

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(draw_boxes, cpu) {
  for (DType dtype : {DType::kHalf, DType::kFloat}) {
    registry.AddFunction<DrawBoundingBoxes>("DrawBoundingBoxes", kCpu, {{"T", dtype}});
    registry.AddFunction<DrawBoundingBoxes>("DrawBoundingBoxesV2", kCpu, {{"T", dtype}});
  }
}
