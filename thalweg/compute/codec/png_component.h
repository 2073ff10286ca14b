// SPDX-License-Identifier: Apache-2.0
// Reading and writing of PNG files within libthalweg_images.so.
// Ownership: file and pixels are the host's; what libpng takes goes back before the call returns.
// Threads: any; no state.
// Errors: as images_api.h: kThalwegBadFile with `why`, kThalwegEnded.
#pragma once

#include "thalweg/compute/codec/images_api.h"

extern "C" {
int ThalwegReadPng(const ThalwegFile* file, const ThalwegPngReading* how, const ThalwegHost* host,
                   char* why);
int ThalwegWritePng(const void* pixels, const ThalwegPngWriting* how, const ThalwegHost* host,
                    char* why);
}
