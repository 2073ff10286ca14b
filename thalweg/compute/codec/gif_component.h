// SPDX-License-Identifier: Apache-2.0
// Reading of GIF files within libthalweg_images.so.
// Ownership: file and pixels are the host's; what giflib takes goes back before the call returns.
// Threads: any; no state.
// Errors: as images_api.h: kThalwegBadFile with `why`, kThalwegEnded.
#pragma once

#include "thalweg/compute/codec/images_api.h"

extern "C" {
int ThalwegReadGif(const ThalwegFile* file, int first_only, const ThalwegHost* host, char* why);
}
