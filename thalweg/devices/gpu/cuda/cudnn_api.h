// SPDX-License-Identifier: Apache-2.0
// CudnnApi: the functions of cuDNN that the device calls, found in libcudnn.so.9 or 8 when the
// process first asks: those for convolutions alone that both have. The few types and numbers are
// declared here, as its manual fixes them, so that a build needs no cuDNN.
//
//   const CudnnApi* const dnn = CudnnApi::Load();
//   cudnn::Handle handle = nullptr;
//   if (dnn != nullptr && dnn->Create(&handle) == cudnn::kSuccess) dnn->Destroy(handle);
//
// Ownership: the table and the library live as long as the process.
// Threads: any; a handle and a descriptor one at a time.
// Errors: Load gives null where there is no library, or it lacks a function.
#pragma once

#include <array>
#include <cstddef>
#include <string>

#include "thalweg/devices/gpu/cuda/cuda_api.h"

namespace thalweg {

namespace cudnn {

using Handle = struct CudnnObject*;
using Descriptor = struct CudnnDescriptorObject*;  // of a tensor, a filter or a convolution

inline constexpr int kSuccess = 0;
inline constexpr int kFloat = 0;
inline constexpr int kChannelsFirst = 0;
inline constexpr int kChannelsLast = 1;
inline constexpr int kCrossCorrelation = 1;
inline constexpr int kDeterministic = 1;
inline constexpr int kDefaultMath = 0;
inline constexpr int kFmaMath = 3;  // 32 bits of a float in every product

// One algorithm for a convolution, and what is thought of it.
struct Estimate {
  int algorithm = 0;
  int status = 0;
  float time = 0;
  size_t memory = 0;
  int determinism = 0;
  int math = 0;
  int reserved[3] = {};
};

// A status says that there is no code for what was asked, or that it found no memory. Releases from
// 9 on number their statuses anew, in thousands.
bool IsUnsupported(int status);
bool IsOutOfMemory(int status);

}  // namespace cudnn

struct CudnnApi {
  static const CudnnApi* Load();

  // What a convolution and its two gradients have alike: two tensors, or a tensor and a filter, in
  // the order of the function's parameters, make a third.
  struct Convolution {
    int (*GetAlgorithms)(cudnn::Handle, cudnn::Descriptor, cudnn::Descriptor, cudnn::Descriptor,
                         cudnn::Descriptor, int, int*, cudnn::Estimate*);
    int (*GetWorkspaceSize)(cudnn::Handle, cudnn::Descriptor, cudnn::Descriptor, cudnn::Descriptor,
                            cudnn::Descriptor, int, size_t*);
    int (*Run)(cudnn::Handle, const void*, cudnn::Descriptor, const void*, cudnn::Descriptor,
               const void*, cudnn::Descriptor, int, void*, size_t, const void*, cudnn::Descriptor,
               void*);
  };

  // Each under its name without "cudnn".
  int (*Create)(cudnn::Handle*);
  int (*Destroy)(cudnn::Handle);
  int (*SetStream)(cudnn::Handle, cu::Stream);
  const char* (*GetErrorString)(int);
  int (*CreateTensorDescriptor)(cudnn::Descriptor*);
  int (*DestroyTensorDescriptor)(cudnn::Descriptor);
  int (*SetTensor4dDescriptor)(cudnn::Descriptor, int, int, int, int, int, int);
  int (*CreateFilterDescriptor)(cudnn::Descriptor*);
  int (*DestroyFilterDescriptor)(cudnn::Descriptor);
  int (*SetFilter4dDescriptor)(cudnn::Descriptor, int, int, int, int, int, int);
  int (*CreateConvolutionDescriptor)(cudnn::Descriptor*);
  int (*DestroyConvolutionDescriptor)(cudnn::Descriptor);
  int (*SetConvolution2dDescriptor)(cudnn::Descriptor, int, int, int, int, int, int, int, int);
  int (*SetConvolutionMathType)(cudnn::Descriptor, int);
  int (*SetConvolutionGroupCount)(cudnn::Descriptor, int);
  std::array<Convolution, 3> convolutions;  // by GpuConvolved
};

}  // namespace thalweg
