// SPDX-License-Identifier: Apache-2.0
#include "thalweg/devices/opencl/opencl_context.h"

#include <algorithm>
#include <cstdio>

namespace thalweg {
namespace {

template <class T>
T Number(const OpenClApi& cl, cl::DeviceId device, cl::UInt what) {
  T value{};
  if (cl.GetDeviceInfo(device, what, sizeof(T), &value, nullptr) != cl::kSuccess) return T{};
  return value;
}

std::string Text(const OpenClApi& cl, cl::DeviceId device, cl::UInt what) {
  size_t size = 0;
  if (cl.GetDeviceInfo(device, what, 0, nullptr, &size) != cl::kSuccess || size < 1) return "";
  std::string text(size, '\0');
  if (cl.GetDeviceInfo(device, what, size, text.data(), nullptr) != cl::kSuccess) return "";
  text.resize(text.find('\0') == std::string::npos ? size : text.find('\0'));
  return text;
}

OpenClChoice Describe(const OpenClApi& cl, cl::DeviceId id) {
  OpenClChoice choice;
  choice.id = id;
  const auto type = Number<cl::Bitfield>(cl, id, cl::kDeviceType);
  for (const cl::Bitfield known : {cl::kTypeGpu, cl::kTypeAccelerator, cl::kTypeCpu}) {
    if ((type & known) != 0 && choice.type == 0) choice.type = known;
  }
  choice.name = Text(cl, id, cl::kDeviceName);
  choice.version = Text(cl, id, cl::kDeviceVersion);
  choice.driver = Text(cl, id, cl::kDriverVersion);
  choice.vendor = Text(cl, id, cl::kDeviceVendor);
  choice.memory = Number<uint64_t>(cl, id, cl::kDeviceGlobalMemSize);
  choice.largest_buffer = Number<uint64_t>(cl, id, cl::kDeviceMaxMemAllocSize);
  choice.units = Number<cl::UInt>(cl, id, cl::kDeviceMaxComputeUnits);
  choice.most_work_items = Number<size_t>(cl, id, cl::kDeviceMaxWorkGroupSize);
  return choice;
}

// What the device must have for the kernels here.
Status Check(const OpenClApi& cl, const OpenClChoice& choice) {
  int major = 0, minor = 0;
  if (std::sscanf(choice.version.c_str(), "OpenCL %d.%d", &major, &minor) != 2 ||
      major * 10 + minor < 12) {
    return FailedPrecondition("OpenCL device '", choice.name, "' has ", choice.version,
                              ", 1.2 or later is needed: install a newer driver");
  }
  if (Number<cl::Bool>(cl, choice.id, cl::kDeviceAvailable) == 0) {
    return FailedPrecondition("OpenCL device '", choice.name, "' is not available: its driver (",
                              choice.driver, ") says so");
  }
  if (Number<cl::Bool>(cl, choice.id, cl::kDeviceCompilerAvailable) == 0) {
    return FailedPrecondition("OpenCL device '", choice.name,
                              "' has no compiler, and kernels are compiled when they are needed: "
                              "install the full driver");
  }
  if (Number<cl::Bool>(cl, choice.id, cl::kDeviceEndianLittle) == 0) {
    return FailedPrecondition("OpenCL device '", choice.name,
                              "' is big-endian, the host's numbers are little-endian");
  }
  constexpr size_t kGroup = 256;
  constexpr uint64_t kLocal = uint64_t{16} << 10;
  if (choice.most_work_items < kGroup ||
      Number<uint64_t>(cl, choice.id, cl::kDeviceLocalMemSize) < kLocal) {
    return FailedPrecondition("OpenCL device '", choice.name, "' has groups of ",
                              choice.most_work_items, " work items and ",
                              Number<uint64_t>(cl, choice.id, cl::kDeviceLocalMemSize),
                              " bytes of local memory; ", kGroup, " and ", kLocal, " are needed");
  }
  return OkStatus();
}

int Rank(const OpenClChoice& choice) {
  return choice.type == cl::kTypeGpu ? 0 : choice.type == cl::kTypeAccelerator ? 1 : 2;
}

}  // namespace

Result<std::vector<OpenClChoice>> FindOpenClDevices(const OpenClApi& cl) {
  cl::UInt count = 0;
  cl::Int error = cl.GetPlatformIDs(0, nullptr, &count);
  if (error == cl::kPlatformNotFound || (error == cl::kSuccess && count == 0)) {
    return NotFound(
        "OpenCL's loader knows no driver: install one (pocl-opencl-icd for processors, the "
        "vendor's for graphics cards), which puts a file into /etc/OpenCL/vendors");
  }
  if (error != cl::kSuccess) return OpenClError("look for drivers", error);
  std::vector<cl::Platform> platforms(count);
  error = cl.GetPlatformIDs(count, platforms.data(), nullptr);
  if (error != cl::kSuccess) return OpenClError("look for drivers", error);
  std::vector<OpenClChoice> choices;
  for (const cl::Platform platform : platforms) {
    cl::UInt devices = 0;
    error = cl.GetDeviceIDs(platform, cl::kTypeAll, 0, nullptr, &devices);
    if (error != cl::kSuccess || devices == 0) continue;  // a driver without its device
    std::vector<cl::DeviceId> ids(devices);
    if (cl.GetDeviceIDs(platform, cl::kTypeAll, devices, ids.data(), nullptr) != cl::kSuccess) {
      continue;
    }
    for (const cl::DeviceId id : ids) choices.push_back(Describe(cl, id));
  }
  std::ranges::stable_sort(choices, {}, Rank);
  return choices;
}

Result<std::shared_ptr<OpenClContext>> OpenClContext::Make(const OpenClApi& cl,
                                                           OpenClChoice choice) {
  RETURN_IF_ERROR(Check(cl, choice));
  std::shared_ptr<OpenClContext> made(new OpenClContext(cl, std::move(choice)));
  const OpenClChoice& device = made->choice_;
  cl::Int error = cl::kSuccess;
  made->id_ = cl.CreateContext(nullptr, 1, &device.id, nullptr, nullptr, &error);
  if (made->id_ == nullptr || error != cl::kSuccess) {
    return OpenClError(StrCat("make a context of device '", device.name, "'"), error);
  }
  made->queue_ = cl.CreateCommandQueue(made->id_, device.id, 0, &error);
  if (made->queue_ == nullptr || error != cl::kSuccess) {
    return OpenClError(StrCat("make a queue of device '", device.name, "'"), error);
  }
  return made;
}

OpenClContext::~OpenClContext() {
  if (queue_ != nullptr) cl_.ReleaseCommandQueue(queue_);
  if (id_ != nullptr) cl_.ReleaseContext(id_);
}

}  // namespace thalweg
