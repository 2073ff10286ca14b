// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace thalweg {

// In front of a kernel's OpenCL C it makes CUDA of it: names of address spaces, types and built-in
// functions that CUDA has under others. Functions without a word on where they run are the
// device's (an option of the compiler).
extern const char* const kCudaPrelude;

}  // namespace thalweg
