// SPDX-License-Identifier: Apache-2.0
// Boxes cut out of images and brought to one size, and the gradients of that.
//
//   CropShape shape{.images = 8, .rows = 32, .columns = 32, .channels = 3, .boxes = 100,
//                   .crop_rows = 7, .crop_columns = 7};
//   RETURN_IF_ERROR(CropAndResize(work, DType::kUint8, shape, image, boxes, box_image, crops));
//
// A box is top, left, bottom, right; 0 and 1 are the centers of the first and last pixel. Outside
// of the image the crop is `outside` and the gradient nothing. The caller has checked the indices
// of images. Types: real numbers; gradients for images float, double, half.
// Ownership: operands are the caller's; nothing is kept.
// Threads: any, each with its own Work.
// Errors: Unimplemented for another type; those of work.h.
#pragma once

#include "thalweg/compute/work.h"
#include "thalweg/tensor/dtype.h"

namespace thalweg::compute {

struct CropShape {
  int64_t images = 0, rows = 0, columns = 0, channels = 0;
  int64_t boxes = 0, crop_rows = 0, crop_columns = 0;
  bool nearest = false;  // else bilinear
  float outside = 0;
};

Status CropAndResize(Work& work, DType dtype, const CropShape& shape, const void* image,
                     const float* boxes, const int32_t* box_image, float* crops);
Status CropGradOfImage(Work& work, DType dtype, const CropShape& shape, const float* grads,
                       const float* boxes, const int32_t* box_image, void* image_grad);
// Bilinear crops only: nearest ones do not move with their box.
Status CropGradOfBoxes(Work& work, DType dtype, const CropShape& shape, const float* grads,
                       const void* image, const float* boxes, const int32_t* box_image,
                       float* box_grads);

}  // namespace thalweg::compute
