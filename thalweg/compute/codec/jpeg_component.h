// SPDX-License-Identifier: Apache-2.0
// What reading and writing of JPEG files share within libthalweg_images.so: errors of libjpeg as a
// jump back and one line of text.
//   JpegErrors errors;
//   info.err = StartJpegErrors(errors, why);
//   if (setjmp(errors.back) != 0) return errors.code;   // in a function of its own
// Ownership: `why` is the caller's; JpegErrors lies on the stack of the function that set it up.
// Threads: one for each object.
// Errors: as images_api.h, by a jump to `back`; EndJpeg does not return.
#pragma once

#include <csetjmp>
#include <cstdio>

// After <cstdio>, which it needs.
#include <jerror.h>
#include <jpeglib.h>

#include "thalweg/compute/codec/images_api.h"

struct JpegErrors {
  jpeg_error_mgr pub;  // first: what libjpeg has a pointer to
  jmp_buf back;
  int code;
  char* why;
};

jpeg_error_mgr* StartJpegErrors(JpegErrors& errors, char* why);
// Jumps back with this code.
[[noreturn]] void EndJpeg(j_common_ptr info, int code);

extern "C" {
int ThalwegJpegShape(const ThalwegFile* file, ThalwegPictureSize* size, char* why);
int ThalwegReadJpeg(const ThalwegFile* file, const ThalwegJpegReading* how, const ThalwegHost* host,
                    char* why);
int ThalwegWriteJpeg(const uint8_t* pixels, const ThalwegJpegWriting* how, const ThalwegHost* host,
                     char* why);
}
