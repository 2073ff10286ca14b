// SPDX-License-Identifier: Apache-2.0
#include "thalweg/devices/gpu/opencl/opencl_api.h"

#include <dlfcn.h>

#include <array>

namespace thalweg {
namespace {

Result<const OpenClApi*> LoadOnce() {
  void* const library = dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    return NotFound("OpenCL's loader, libOpenCL.so.1, is not here (", dlerror(),
                    "); Debian's package ocl-icd-libopencl1 has it, and a driver beside it, such "
                    "as pocl-opencl-icd, brings devices");
  }
  static OpenClApi api;
  const char* missing = nullptr;
  const auto find = [&](const char* name, auto* function) {
    *function = reinterpret_cast<std::remove_pointer_t<decltype(function)>>(dlsym(library, name));
    if (*function == nullptr) missing = name;
  };
  find("clGetPlatformIDs", &api.GetPlatformIDs);
  find("clGetDeviceIDs", &api.GetDeviceIDs);
  find("clGetDeviceInfo", &api.GetDeviceInfo);
  find("clCreateContext", &api.CreateContext);
  find("clReleaseContext", &api.ReleaseContext);
  find("clCreateCommandQueue", &api.CreateCommandQueue);
  find("clReleaseCommandQueue", &api.ReleaseCommandQueue);
  find("clCreateBuffer", &api.CreateBuffer);
  find("clReleaseMemObject", &api.ReleaseMemObject);
  find("clCreateProgramWithSource", &api.CreateProgramWithSource);
  find("clCreateProgramWithBinary", &api.CreateProgramWithBinary);
  find("clBuildProgram", &api.BuildProgram);
  find("clGetProgramBuildInfo", &api.GetProgramBuildInfo);
  find("clGetProgramInfo", &api.GetProgramInfo);
  find("clReleaseProgram", &api.ReleaseProgram);
  find("clCreateKernel", &api.CreateKernel);
  find("clReleaseKernel", &api.ReleaseKernel);
  find("clSetKernelArg", &api.SetKernelArg);
  find("clEnqueueNDRangeKernel", &api.EnqueueNDRangeKernel);
  find("clEnqueueReadBuffer", &api.EnqueueReadBuffer);
  find("clEnqueueWriteBuffer", &api.EnqueueWriteBuffer);
  find("clEnqueueCopyBuffer", &api.EnqueueCopyBuffer);
  find("clSetEventCallback", &api.SetEventCallback);
  find("clWaitForEvents", &api.WaitForEvents);
  find("clReleaseEvent", &api.ReleaseEvent);
  find("clFlush", &api.Flush);
  find("clFinish", &api.Finish);
  if (missing != nullptr) {
    return FailedPrecondition("libOpenCL.so.1 has no function ", missing,
                              ": OpenCL 1.2 or later is needed");
  }
  return &api;
}

struct ErrorName {
  cl::Int error;
  std::string_view name;
};

constexpr auto kErrorNames = std::to_array<ErrorName>({
    {-1, "CL_DEVICE_NOT_FOUND"},
    {-2, "CL_DEVICE_NOT_AVAILABLE"},
    {-3, "CL_COMPILER_NOT_AVAILABLE"},
    {-4, "CL_MEM_OBJECT_ALLOCATION_FAILURE"},
    {-5, "CL_OUT_OF_RESOURCES"},
    {-6, "CL_OUT_OF_HOST_MEMORY"},
    {-11, "CL_BUILD_PROGRAM_FAILURE"},
    {-14, "CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST"},
    {-30, "CL_INVALID_VALUE"},
    {-34, "CL_INVALID_CONTEXT"},
    {-36, "CL_INVALID_COMMAND_QUEUE"},
    {-38, "CL_INVALID_MEM_OBJECT"},
    {-42, "CL_INVALID_BINARY"},
    {-44, "CL_INVALID_PROGRAM"},
    {-45, "CL_INVALID_PROGRAM_EXECUTABLE"},
    {-46, "CL_INVALID_KERNEL_NAME"},
    {-49, "CL_INVALID_ARG_INDEX"},
    {-50, "CL_INVALID_ARG_VALUE"},
    {-51, "CL_INVALID_ARG_SIZE"},
    {-52, "CL_INVALID_KERNEL_ARGS"},
    {-54, "CL_INVALID_WORK_GROUP_SIZE"},
    {-55, "CL_INVALID_WORK_ITEM_SIZE"},
    {-61, "CL_INVALID_BUFFER_SIZE"},
    {-1001, "CL_PLATFORM_NOT_FOUND_KHR"},
});

Code CodeOf(cl::Int error) {
  switch (error) {
    case cl::kMemObjectAllocationFailure:
    case cl::kOutOfResources:
    case cl::kOutOfHostMemory:
    case cl::kInvalidBufferSize:
      return Code::kResourceExhausted;
    case cl::kDeviceNotAvailable:
    case cl::kInvalidContext:
    case cl::kInvalidCommandQueue:
      return Code::kUnavailable;
    default:
      return Code::kInternal;
  }
}

}  // namespace

Result<const OpenClApi*> OpenClApi::Load() {
  static const auto* const loaded = new Result<const OpenClApi*>(LoadOnce());
  return *loaded;
}

Status OpenClError(std::string_view what, cl::Int error) {
  std::string_view name = "an error of the driver's own";
  for (const ErrorName& known : kErrorNames) {
    if (known.error == error) name = known.name;
  }
  return Status(CodeOf(error), StrCat("OpenCL: ", what, ": ", name, " (", error, ")"));
}

}  // namespace thalweg
