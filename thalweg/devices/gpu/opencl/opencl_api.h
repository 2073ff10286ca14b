// SPDX-License-Identifier: Apache-2.0
// OpenClApi: the functions of OpenCL 1.2 that the device calls, found in libOpenCL.so.1 when the
// process first asks. The few types and numbers are declared here, as the specification fixes them,
// so that a build needs no package for it.
//
//   ASSIGN_OR_RETURN(const OpenClApi* cl, OpenClApi::Load());
//   const cl::Int error = cl->Flush(queue);
//
// Ownership: the table and the library live as long as the process.
// Threads: any; functions are as thread-safe as the specification says (all but SetKernelArg).
// Errors: NotFound where there is no library, FailedPrecondition where it lacks a function.
#pragma once

#include <cstddef>
#include <cstdint>

#include "thalweg/base/status.h"

namespace thalweg {

namespace cl {

using Int = int32_t;
using UInt = uint32_t;
using Bool = uint32_t;
using Bitfield = uint64_t;
using Property = intptr_t;
using Platform = struct PlatformObject*;
using DeviceId = struct DeviceObject*;
using ContextId = struct ContextObject*;
using Queue = struct QueueObject*;
using Mem = struct MemObject*;
using Program = struct ProgramObject*;
using KernelId = struct KernelObject*;
using Event = struct EventObject*;

inline constexpr Int kSuccess = 0;
inline constexpr Int kDeviceNotFound = -1;
inline constexpr Int kDeviceNotAvailable = -2;
inline constexpr Int kMemObjectAllocationFailure = -4;
inline constexpr Int kOutOfResources = -5;
inline constexpr Int kOutOfHostMemory = -6;
inline constexpr Int kBuildProgramFailure = -11;
inline constexpr Int kExecStatusError = -14;
inline constexpr Int kInvalidContext = -34;
inline constexpr Int kInvalidCommandQueue = -36;
inline constexpr Int kInvalidBufferSize = -61;
inline constexpr Int kPlatformNotFound = -1001;

inline constexpr Int kComplete = 0;
inline constexpr Bitfield kTypeCpu = 1 << 1;
inline constexpr Bitfield kTypeGpu = 1 << 2;
inline constexpr Bitfield kTypeAccelerator = 1 << 3;
inline constexpr Bitfield kTypeAll = 0xFFFFFFFF;
inline constexpr Bitfield kMemReadWrite = 1;

inline constexpr UInt kDeviceType = 0x1000;
inline constexpr UInt kDeviceMaxComputeUnits = 0x1002;
inline constexpr UInt kDeviceMaxWorkGroupSize = 0x1004;
inline constexpr UInt kDeviceMaxMemAllocSize = 0x1010;
inline constexpr UInt kDeviceGlobalMemSize = 0x101F;
inline constexpr UInt kDeviceLocalMemSize = 0x1023;
inline constexpr UInt kDeviceEndianLittle = 0x1026;
inline constexpr UInt kDeviceAvailable = 0x1027;
inline constexpr UInt kDeviceCompilerAvailable = 0x1028;
inline constexpr UInt kDeviceName = 0x102B;
inline constexpr UInt kDeviceVendor = 0x102C;
inline constexpr UInt kDriverVersion = 0x102D;
inline constexpr UInt kDeviceVersion = 0x102F;
inline constexpr UInt kProgramBinarySizes = 0x1165;
inline constexpr UInt kProgramBinaries = 0x1166;
inline constexpr UInt kProgramBuildLog = 0x1183;

using Notify = void (*)(Event event, Int status, void* data);

}  // namespace cl

struct OpenClApi {
  static Result<const OpenClApi*> Load();

  // Each under its name without "cl".
  cl::Int (*GetPlatformIDs)(cl::UInt, cl::Platform*, cl::UInt*);
  cl::Int (*GetDeviceIDs)(cl::Platform, cl::Bitfield, cl::UInt, cl::DeviceId*, cl::UInt*);
  cl::Int (*GetDeviceInfo)(cl::DeviceId, cl::UInt, size_t, void*, size_t*);
  cl::ContextId (*CreateContext)(const cl::Property*, cl::UInt, const cl::DeviceId*,
                                 void (*)(const char*, const void*, size_t, void*), void*,
                                 cl::Int*);
  cl::Int (*ReleaseContext)(cl::ContextId);
  cl::Queue (*CreateCommandQueue)(cl::ContextId, cl::DeviceId, cl::Bitfield, cl::Int*);
  cl::Int (*ReleaseCommandQueue)(cl::Queue);
  cl::Mem (*CreateBuffer)(cl::ContextId, cl::Bitfield, size_t, void*, cl::Int*);
  cl::Int (*ReleaseMemObject)(cl::Mem);
  cl::Program (*CreateProgramWithSource)(cl::ContextId, cl::UInt, const char**, const size_t*,
                                         cl::Int*);
  cl::Program (*CreateProgramWithBinary)(cl::ContextId, cl::UInt, const cl::DeviceId*,
                                         const size_t*, const unsigned char**, cl::Int*, cl::Int*);
  cl::Int (*BuildProgram)(cl::Program, cl::UInt, const cl::DeviceId*, const char*,
                          void (*)(cl::Program, void*), void*);
  cl::Int (*GetProgramBuildInfo)(cl::Program, cl::DeviceId, cl::UInt, size_t, void*, size_t*);
  cl::Int (*GetProgramInfo)(cl::Program, cl::UInt, size_t, void*, size_t*);
  cl::Int (*ReleaseProgram)(cl::Program);
  cl::KernelId (*CreateKernel)(cl::Program, const char*, cl::Int*);
  cl::Int (*ReleaseKernel)(cl::KernelId);
  cl::Int (*SetKernelArg)(cl::KernelId, cl::UInt, size_t, const void*);
  cl::Int (*EnqueueNDRangeKernel)(cl::Queue, cl::KernelId, cl::UInt, const size_t*, const size_t*,
                                  const size_t*, cl::UInt, const cl::Event*, cl::Event*);
  cl::Int (*EnqueueReadBuffer)(cl::Queue, cl::Mem, cl::Bool, size_t, size_t, void*, cl::UInt,
                               const cl::Event*, cl::Event*);
  cl::Int (*EnqueueWriteBuffer)(cl::Queue, cl::Mem, cl::Bool, size_t, size_t, const void*, cl::UInt,
                                const cl::Event*, cl::Event*);
  cl::Int (*EnqueueCopyBuffer)(cl::Queue, cl::Mem, cl::Mem, size_t, size_t, size_t, cl::UInt,
                               const cl::Event*, cl::Event*);
  cl::Int (*SetEventCallback)(cl::Event, cl::Int, cl::Notify, void*);
  cl::Int (*WaitForEvents)(cl::UInt, const cl::Event*);
  cl::Int (*ReleaseEvent)(cl::Event);
  cl::Int (*Flush)(cl::Queue);
  cl::Int (*Finish)(cl::Queue);
};

// The error of a call: ResourceExhausted for no memory, Unavailable for a device that is gone, else
// Internal; with the specification's name of the number.
Status OpenClError(std::string_view what, cl::Int error);

}  // namespace thalweg
