// SPDX-License-Identifier: Apache-2.0
#include "thalweg/devices/gpu/cuda/cuda_api.h"

#include <dlfcn.h>

#include <type_traits>

namespace thalweg {
namespace {

// What came with CUDA 11.2: compilers that say for which cards they compile, and give binaries.
constexpr int kLeastVersion = 11020;

Status FindFunctions(void* library, CudaApi* api) {
  const char* missing = nullptr;
  const auto find = [&](const char* name, auto* function) {
    *function = reinterpret_cast<std::remove_pointer_t<decltype(function)>>(dlsym(library, name));
    if (*function == nullptr) missing = name;
  };
  find("cuInit", &api->Init);
  find("cuDriverGetVersion", &api->DriverGetVersion);
  find("cuGetErrorName", &api->GetErrorName);
  find("cuDeviceGetCount", &api->DeviceGetCount);
  find("cuDeviceGet", &api->DeviceGet);
  find("cuDeviceGetName", &api->DeviceGetName);
  find("cuDeviceGetAttribute", &api->DeviceGetAttribute);
  find("cuDeviceTotalMem_v2", &api->DeviceTotalMem);
  find("cuDevicePrimaryCtxRetain", &api->DevicePrimaryCtxRetain);
  find("cuDevicePrimaryCtxRelease_v2", &api->DevicePrimaryCtxRelease);
  find("cuDeviceCanAccessPeer", &api->DeviceCanAccessPeer);
  find("cuCtxEnablePeerAccess", &api->CtxEnablePeerAccess);
  find("cuCtxPushCurrent_v2", &api->CtxPushCurrent);
  find("cuCtxPopCurrent_v2", &api->CtxPopCurrent);
  find("cuMemAlloc_v2", &api->MemAlloc);
  find("cuMemFree_v2", &api->MemFree);
  find("cuMemAllocHost_v2", &api->MemAllocHost);
  find("cuMemFreeHost", &api->MemFreeHost);
  find("cuMemcpyHtoDAsync_v2", &api->MemcpyHtoDAsync);
  find("cuMemcpyDtoHAsync_v2", &api->MemcpyDtoHAsync);
  find("cuMemcpyDtoDAsync_v2", &api->MemcpyDtoDAsync);
  find("cuMemcpyPeerAsync", &api->MemcpyPeerAsync);
  find("cuStreamCreate", &api->StreamCreate);
  find("cuStreamDestroy_v2", &api->StreamDestroy);
  find("cuStreamQuery", &api->StreamQuery);
  find("cuStreamSynchronize", &api->StreamSynchronize);
  find("cuStreamWaitEvent", &api->StreamWaitEvent);
  find("cuEventCreate", &api->EventCreate);
  find("cuEventRecord", &api->EventRecord);
  find("cuEventSynchronize", &api->EventSynchronize);
  find("cuEventDestroy_v2", &api->EventDestroy);
  find("cuModuleLoadData", &api->ModuleLoadData);
  find("cuModuleUnload", &api->ModuleUnload);
  find("cuModuleGetFunction", &api->ModuleGetFunction);
  find("cuLaunchKernel", &api->LaunchKernel);
  if (missing == nullptr) return OkStatus();
  return FailedPrecondition("NVIDIA's driver, libcuda.so.1, has no function ", missing,
                            ": install a newer one, of CUDA ", CudaVersion(kLeastVersion),
                            " or later");
}

// What the driver says when it is started, and what to do.
Status StartError(const CudaApi& api, int error) {
  switch (error) {
    case cu::kNoDevice:
      return NotFound(
          "NVIDIA's driver is here and has no device: nvidia-smi says which ones it knows, and a "
          "container must be started with them (docker run --gpus all)");
    case cu::kSystemDriverMismatch:
      return FailedPrecondition(
          "libcuda.so.1 and the kernel's module of NVIDIA's driver are of different versions: "
          "install the same version of both, and start the machine anew");
    default:
      return FailedPrecondition(CudaError(api, "start NVIDIA's driver", error).message(),
                                "; nvidia-smi says whether the driver works");
  }
}

Result<const CudaApi*> LoadOnce() {
  void* const library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    return NotFound("NVIDIA's driver, libcuda.so.1, is not here (", dlerror(),
                    "); it comes with the driver of the card, and into a container with NVIDIA's "
                    "container toolkit");
  }
  static CudaApi api;
  RETURN_IF_ERROR(FindFunctions(library, &api));
  if (const int error = api.Init(0); error != cu::kSuccess) return StartError(api, error);
  if (const int error = api.DriverGetVersion(&api.version); error != cu::kSuccess) {
    return StartError(api, error);
  }
  if (api.version < kLeastVersion) {
    return FailedPrecondition("NVIDIA's driver is of CUDA ", CudaVersion(api.version), ", ",
                              CudaVersion(kLeastVersion),
                              " or later is needed: install a newer driver");
  }
  return &api;
}

// After a fault of a kernel the driver refuses every call of the process.
bool IsFault(int error) {
  return error == cu::kIllegalAddress || error == cu::kLaunchTimeout || error == cu::kAssert ||
         (error >= cu::kHardwareStackError && error <= cu::kLaunchFailed);
}

Code CodeOf(int error) {
  if (IsFault(error)) return Code::kUnavailable;
  switch (error) {
    case cu::kOutOfMemory:
      return Code::kResourceExhausted;
    // After these no call of the context succeeds: it, or the device, is gone.
    case cu::kDeinitialized:
    case cu::kDeviceUnavailable:
    case cu::kNoDevice:
    case cu::kInvalidContext:
    case cu::kEccUncorrectable:
    case cu::kNvlinkUncorrectable:
    case cu::kContextIsDestroyed:
    case cu::kSystemNotReady:
    case cu::kUnknown:
      return Code::kUnavailable;
    default:
      return Code::kInternal;
  }
}

}  // namespace

Result<const CudaApi*> CudaApi::Load() {
  static const auto* const loaded = new Result<const CudaApi*>(LoadOnce());
  return *loaded;
}

std::string CudaVersion(int version) { return StrCat(version / 1000, ".", version % 1000 / 10); }

Status CudaError(const CudaApi& cuda, std::string_view what, int error) {
  const char* name = nullptr;
  if (cuda.GetErrorName(error, &name) != cu::kSuccess || name == nullptr) {
    name = "an error without a name";
  }
  return Status(CodeOf(error),
                StrCat("CUDA: ", what, ": ", name, " (", error, ")",
                       IsFault(error) ? ": a kernel has failed, and the driver refuses what this "
                                        "process asks from now on: start it anew"
                                      : ""));
}

void* OpenCudaLibrary(std::string_view stem, int driver_major) {
  const auto open = [stem](int major) {
    // Of 11, the libraries of all versions from 11.2 on are one.
    const std::string name =
        StrCat(stem, ".so.", major == 11 && stem == "libnvrtc" ? "11.2" : StrCat(major));
    return dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  };
  constexpr int kFirst = 11, kLast = 20;
  for (int major = driver_major; major >= kFirst; --major) {
    if (void* const library = open(major); library != nullptr) return library;
  }
  for (int major = driver_major + 1; major <= kLast; ++major) {
    if (void* const library = open(major); library != nullptr) return library;
  }
  return nullptr;
}

}  // namespace thalweg
