// SPDX-License-Identifier: Apache-2.0
// Reading and writing of PNG files within libthalweg_images.so.
#pragma once

#include "thalweg/compute/codec/images_api.h"

extern "C" {
int ThalwegReadPng(const ThalwegFile* file, const ThalwegPngReading* how, const ThalwegHost* host,
                   char* why);
int ThalwegWritePng(const void* pixels, const ThalwegPngWriting* how, const ThalwegHost* host,
                    char* why);
}
