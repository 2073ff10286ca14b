// SPDX-License-Identifier: Apache-2.0
#include "thalweg/compute/codec/gif_component.h"
#include "thalweg/compute/codec/jpeg_component.h"
#include "thalweg/compute/codec/png_component.h"

extern "C" __attribute__((visibility("default"))) const ThalwegImagesApi* thalweg_images(
    int version) {
  static const ThalwegImagesApi api = {ThalwegJpegShape, ThalwegReadJpeg, ThalwegWriteJpeg,
                                       ThalwegReadPng,   ThalwegWritePng, ThalwegReadGif};
  return version == THALWEG_IMAGES_VERSION ? &api : nullptr;
}
