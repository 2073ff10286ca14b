// SPDX-License-Identifier: Apache-2.0
#include "thalweg/devices/gpu/cuda/cudnn_api.h"

#include <dlfcn.h>

#include <type_traits>

namespace thalweg {
namespace {

bool FindFunctions(void* library, CudnnApi* api) {
  bool is_whole = true;
  const auto find = [&](const char* name, auto* function) {
    *function = reinterpret_cast<std::remove_pointer_t<decltype(function)>>(dlsym(library, name));
    is_whole &= *function != nullptr;
  };
  find("cudnnCreate", &api->Create);
  find("cudnnDestroy", &api->Destroy);
  find("cudnnSetStream", &api->SetStream);
  find("cudnnGetErrorString", &api->GetErrorString);
  find("cudnnCreateTensorDescriptor", &api->CreateTensorDescriptor);
  find("cudnnDestroyTensorDescriptor", &api->DestroyTensorDescriptor);
  find("cudnnSetTensor4dDescriptor", &api->SetTensor4dDescriptor);
  find("cudnnCreateFilterDescriptor", &api->CreateFilterDescriptor);
  find("cudnnDestroyFilterDescriptor", &api->DestroyFilterDescriptor);
  find("cudnnSetFilter4dDescriptor", &api->SetFilter4dDescriptor);
  find("cudnnCreateConvolutionDescriptor", &api->CreateConvolutionDescriptor);
  find("cudnnDestroyConvolutionDescriptor", &api->DestroyConvolutionDescriptor);
  find("cudnnSetConvolution2dDescriptor", &api->SetConvolution2dDescriptor);
  find("cudnnSetConvolutionMathType", &api->SetConvolutionMathType);
  find("cudnnSetConvolutionGroupCount", &api->SetConvolutionGroupCount);
  auto& [output, image_gradient, filter_gradient] = api->convolutions;
  find("cudnnGetConvolutionForwardAlgorithm_v7", &output.GetAlgorithms);
  find("cudnnGetConvolutionForwardWorkspaceSize", &output.GetWorkspaceSize);
  find("cudnnConvolutionForward", &output.Run);
  find("cudnnGetConvolutionBackwardDataAlgorithm_v7", &image_gradient.GetAlgorithms);
  find("cudnnGetConvolutionBackwardDataWorkspaceSize", &image_gradient.GetWorkspaceSize);
  find("cudnnConvolutionBackwardData", &image_gradient.Run);
  find("cudnnGetConvolutionBackwardFilterAlgorithm_v7", &filter_gradient.GetAlgorithms);
  find("cudnnGetConvolutionBackwardFilterWorkspaceSize", &filter_gradient.GetWorkspaceSize);
  find("cudnnConvolutionBackwardFilter", &filter_gradient.Run);
  return is_whole;
}

}  // namespace

bool cudnn::IsUnsupported(int status) {
  constexpr int kArchMismatch = 6, kNotSupported = 9, kThousandsOfThem = 3;
  return status == kArchMismatch || status == kNotSupported || status / 1000 == kThousandsOfThem;
}

bool cudnn::IsOutOfMemory(int status) {
  constexpr int kAllocFailed = 2, kHostAllocationFailed = 4003, kDeviceAllocationFailed = 4004;
  return status == kAllocFailed || status == kHostAllocationFailed ||
         status == kDeviceAllocationFailed;
}

const CudnnApi* CudnnApi::Load() {
  static const CudnnApi* const loaded = []() -> const CudnnApi* {
    static CudnnApi api;
    for (const char* name : {"libcudnn.so.9", "libcudnn.so.8"}) {
      void* const library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
      if (library != nullptr && FindFunctions(library, &api)) return &api;
    }
    return nullptr;
  }();
  return loaded;
}

}  // namespace thalweg
