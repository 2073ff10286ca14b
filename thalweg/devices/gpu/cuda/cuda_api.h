// SPDX-License-Identifier: Apache-2.0
// CudaApi: the functions of NVIDIA's driver that the device calls, found in libcuda.so.1 when the
// process first asks. The few types and numbers are declared here, as its manual fixes them, so
// that a build needs no toolkit.
//
//   ASSIGN_OR_RETURN(const CudaApi* cuda, CudaApi::Load());
//   const CurrentCuda current(*cuda, context);    // as almost every call asks
//   const int error = cuda->StreamSynchronize(stream);
//
// Ownership: the table and the libraries live as long as the process.
// Threads: any; a context is current in one thread at a time, so that CurrentCuda is a local.
// Errors: NotFound where there is no driver or it has no device, FailedPrecondition where it is too
// old or does not start.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "thalweg/base/status.h"

namespace thalweg {

namespace cu {

using Device = int;
using Pointer = unsigned long long;  // NOLINT: as the driver has it
using ContextId = struct CudaContextObject*;
using Stream = struct CudaStreamObject*;
using Event = struct CudaEventObject*;
using Module = struct CudaModuleObject*;
using Function = struct CudaFunctionObject*;

inline constexpr int kSuccess = 0;
inline constexpr int kOutOfMemory = 2;
inline constexpr int kDeinitialized = 4;
inline constexpr int kDeviceUnavailable = 46;
inline constexpr int kNoDevice = 100;
inline constexpr int kInvalidContext = 201;
inline constexpr int kEccUncorrectable = 214;
inline constexpr int kNvlinkUncorrectable = 220;
inline constexpr int kNotReady = 600;
inline constexpr int kIllegalAddress = 700;
inline constexpr int kLaunchTimeout = 702;
inline constexpr int kContextIsDestroyed = 709;
inline constexpr int kAssert = 710;
inline constexpr int kHardwareStackError = 714;
inline constexpr int kLaunchFailed = 719;
inline constexpr int kSystemNotReady = 802;
inline constexpr int kSystemDriverMismatch = 803;
inline constexpr int kUnknown = 999;

inline constexpr int kAttributeMultiprocessors = 16;
inline constexpr int kAttributeMajor = 75;  // of the compute capability
inline constexpr int kAttributeMinor = 76;

inline constexpr unsigned kStreamNonBlocking = 1;
inline constexpr unsigned kEventBlockingSync = 1;
inline constexpr unsigned kEventDisableTiming = 2;

}  // namespace cu

struct CudaApi {
  static Result<const CudaApi*> Load();

  // Each under its name without "cu" and "_v2".
  int (*Init)(unsigned);
  int (*DriverGetVersion)(int*);
  int (*GetErrorName)(int, const char**);
  int (*DeviceGetCount)(int*);
  int (*DeviceGet)(cu::Device*, int);
  int (*DeviceGetName)(char*, int, cu::Device);
  int (*DeviceGetAttribute)(int*, int, cu::Device);
  int (*DeviceTotalMem)(size_t*, cu::Device);
  int (*DevicePrimaryCtxRetain)(cu::ContextId*, cu::Device);
  int (*DevicePrimaryCtxRelease)(cu::Device);
  int (*DeviceCanAccessPeer)(int*, cu::Device, cu::Device);
  int (*CtxEnablePeerAccess)(cu::ContextId, unsigned);
  int (*CtxPushCurrent)(cu::ContextId);
  int (*CtxPopCurrent)(cu::ContextId*);
  int (*MemAlloc)(cu::Pointer*, size_t);
  int (*MemFree)(cu::Pointer);
  int (*MemAllocHost)(void**, size_t);
  int (*MemFreeHost)(void*);
  int (*MemcpyHtoDAsync)(cu::Pointer, const void*, size_t, cu::Stream);
  int (*MemcpyDtoHAsync)(void*, cu::Pointer, size_t, cu::Stream);
  int (*MemcpyDtoDAsync)(cu::Pointer, cu::Pointer, size_t, cu::Stream);
  int (*MemcpyPeerAsync)(cu::Pointer, cu::ContextId, cu::Pointer, cu::ContextId, size_t,
                         cu::Stream);
  int (*StreamCreate)(cu::Stream*, unsigned);
  int (*StreamDestroy)(cu::Stream);
  int (*StreamQuery)(cu::Stream);
  int (*StreamSynchronize)(cu::Stream);
  int (*StreamWaitEvent)(cu::Stream, cu::Event, unsigned);
  int (*EventCreate)(cu::Event*, unsigned);
  int (*EventRecord)(cu::Event, cu::Stream);
  int (*EventSynchronize)(cu::Event);
  int (*EventDestroy)(cu::Event);
  int (*ModuleLoadData)(cu::Module*, const void*);
  int (*ModuleUnload)(cu::Module);
  int (*ModuleGetFunction)(cu::Function*, cu::Module, const char*);
  int (*LaunchKernel)(cu::Function, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                      unsigned, cu::Stream, void**, void**);

  int version = 0;  // 12040: CUDA 12.4

  int major() const { return version / 1000; }
};

// "12.4"
std::string CudaVersion(int version);

// A context that is current in this thread as long as this lives.
class CurrentCuda {
 public:
  CurrentCuda(const CudaApi& cuda, cu::ContextId context)
      : cuda_(cuda), is_current_(cuda.CtxPushCurrent(context) == cu::kSuccess) {}
  ~CurrentCuda() {
    cu::ContextId popped = nullptr;
    if (is_current_) cuda_.CtxPopCurrent(&popped);
  }
  CurrentCuda(const CurrentCuda&) = delete;
  CurrentCuda& operator=(const CurrentCuda&) = delete;

 private:
  const CudaApi& cuda_;
  const bool is_current_;  // else the calls that follow say why not
};

// The error of a call: ResourceExhausted for no memory, Unavailable where the device or its context
// is gone, else Internal; with the driver's name of the number.
Status CudaError(const CudaApi& cuda, std::string_view what, int error);

// A library of the toolkit, "libnvrtc": that of the driver's major version, or the next older one,
// or a newer one. Null where there is none.
void* OpenCudaLibrary(std::string_view stem, int driver_major);

}  // namespace thalweg
