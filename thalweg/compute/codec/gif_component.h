// SPDX-License-Identifier: Apache-2.0
// Reading of GIF files within libthalweg_images.so.
#pragma once

#include "thalweg/compute/codec/images_api.h"

extern "C" {
int ThalwegReadGif(const ThalwegFile* file, int first_only, const ThalwegHost* host, char* why);
}
