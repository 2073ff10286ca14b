// SPDX-License-Identifier: Apache-2.0
#include "thalweg/devices/gpu/opencl/opencl_driver.h"

#include <algorithm>
#include <cstdio>

namespace thalweg {
namespace {

constexpr const char* kBuildOptions = "-cl-std=CL1.2 -w -D IN_LOCAL=__local";

// A driver's handle under the name that all drivers' have, and back.
template <class To, class From>
To Given(From* handle) {
  return reinterpret_cast<To>(handle);
}
template <class To, class From>
To Own(From* handle) {
  return reinterpret_cast<To>(handle);
}

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
  choice.api = "OpenCL";
  choice.is_processor = choice.type == cl::kTypeCpu;
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

Result<std::shared_ptr<OpenClDriver>> OpenClDriver::Make(const OpenClApi& cl,
                                                         const OpenClChoice& choice) {
  RETURN_IF_ERROR(Check(cl, choice));
  std::shared_ptr<OpenClDriver> made(new OpenClDriver(cl, choice));
  cl::Int error = cl::kSuccess;
  made->context_ = cl.CreateContext(nullptr, 1, &choice.id, nullptr, nullptr, &error);
  if (made->context_ == nullptr || error != cl::kSuccess) {
    return OpenClError(StrCat("make a context of device '", choice.name, "'"), error);
  }
  made->queue_ = cl.CreateCommandQueue(made->context_, choice.id, 0, &error);
  if (made->queue_ == nullptr || error != cl::kSuccess) {
    return OpenClError(StrCat("make a queue of device '", choice.name, "'"), error);
  }
  return made;
}

OpenClDriver::~OpenClDriver() {
  if (queue_ != nullptr) cl_.ReleaseCommandQueue(queue_);
  if (context_ != nullptr) cl_.ReleaseContext(context_);
}

Result<GpuBuffer> OpenClDriver::MakeBuffer(size_t bytes) {
  cl::Int error = cl::kSuccess;
  const cl::Mem buffer = cl_.CreateBuffer(context_, cl::kMemReadWrite, bytes, nullptr, &error);
  if (error == cl::kSuccess) return Given<GpuBuffer>(buffer);
  // Memory is asked for in callbacks, too.
  return ErrorOf(StrCat("make a buffer of device '", traits().name, "'"), error, false);
}

void OpenClDriver::ReleaseBuffer(GpuBuffer buffer) { cl_.ReleaseMemObject(Own<cl::Mem>(buffer)); }

std::string OpenClDriver::BinaryKey() const {
  const GpuTraits& device = traits();
  return StrCat(device.vendor, "\n", device.name, "\n", device.version, "\n", device.driver, "\n",
                kBuildOptions);
}

GpuProgram OpenClDriver::FromBinary(const std::string& binary) {
  const size_t size = binary.size();
  const auto* bytes = reinterpret_cast<const unsigned char*>(binary.data());
  cl::Int of_binary = cl::kSuccess, error = cl::kSuccess;
  const cl::Program program =
      cl_.CreateProgramWithBinary(context_, 1, &id_, &size, &bytes, &of_binary, &error);
  if (program == nullptr) return nullptr;
  if (error == cl::kSuccess && of_binary == cl::kSuccess &&
      cl_.BuildProgram(program, 1, &id_, kBuildOptions, nullptr, nullptr) == cl::kSuccess) {
    return Given<GpuProgram>(program);
  }
  cl_.ReleaseProgram(program);
  return nullptr;
}

Result<GpuProgram> OpenClDriver::Compile(const std::string& source) {
  const char* text = source.data();
  const size_t size = source.size();
  cl::Int error = cl::kSuccess;
  const cl::Program program = cl_.CreateProgramWithSource(context_, 1, &text, &size, &error);
  if (program == nullptr || error != cl::kSuccess) return OpenClError("make a program", error);
  error = cl_.BuildProgram(program, 1, &id_, kBuildOptions, nullptr, nullptr);
  if (error == cl::kSuccess) return Given<GpuProgram>(program);
  const std::string log = BuildLog(program);
  cl_.ReleaseProgram(program);
  return OpenClError(StrCat("the compiler of device '", traits().name, "' (driver ",
                            traits().driver, ") refuses a kernel, and says: ", log),
                     error);
}

std::string OpenClDriver::BuildLog(cl::Program program) const {
  size_t size = 0;
  cl_.GetProgramBuildInfo(program, id_, cl::kProgramBuildLog, 0, nullptr, &size);
  std::string log(size, '\0');
  if (size == 0 || cl_.GetProgramBuildInfo(program, id_, cl::kProgramBuildLog, size, log.data(),
                                           nullptr) != cl::kSuccess) {
    return "nothing";
  }
  constexpr size_t kMost = 1000;
  log.resize(std::min({log.find('\0'), log.size(), kMost}));
  return log;
}

std::string OpenClDriver::BinaryOf(GpuProgram program) {
  size_t size = 0;
  if (cl_.GetProgramInfo(Own<cl::Program>(program), cl::kProgramBinarySizes, sizeof(size), &size,
                         nullptr) != cl::kSuccess ||
      size == 0) {
    return "";
  }
  std::string binary(size, '\0');
  char* at = binary.data();
  if (cl_.GetProgramInfo(Own<cl::Program>(program), cl::kProgramBinaries, sizeof(at), &at,
                         nullptr) != cl::kSuccess) {
    return "";
  }
  return binary;
}

void OpenClDriver::ReleaseProgram(GpuProgram program) {
  cl_.ReleaseProgram(Own<cl::Program>(program));
}

Result<GpuFunction> OpenClDriver::FindFunction(GpuProgram program, const std::string& name) {
  cl::Int error = cl::kSuccess;
  const cl::KernelId kernel = cl_.CreateKernel(Own<cl::Program>(program), name.c_str(), &error);
  if (kernel != nullptr && error == cl::kSuccess) return Given<GpuFunction>(kernel);
  return OpenClError(StrCat("make kernel '", name, "' for device '", traits().name, "'"), error);
}

void OpenClDriver::ReleaseFunction(GpuFunction function) {
  cl_.ReleaseKernel(Own<cl::KernelId>(function));
}

int OpenClDriver::SetArguments(cl::KernelId kernel, std::span<const GpuArgument> arguments) const {
  cl::UInt parameter = 0;
  for (const GpuArgument& argument : arguments) {
    cl::Int error = cl::kSuccess;
    if (argument.value == nullptr) {
      const auto buffer = Own<cl::Mem>(argument.place.buffer);
      const uint64_t element = argument.place.offset / argument.size;
      error = cl_.SetKernelArg(kernel, parameter++, sizeof(buffer), &buffer);
      if (error == cl::kSuccess) {
        error = cl_.SetKernelArg(kernel, parameter++, sizeof(element), &element);
      }
    } else {
      error = cl_.SetKernelArg(kernel, parameter++, argument.size, argument.value);
    }
    if (error != cl::kSuccess) return error;
  }
  return cl::kSuccess;
}

int OpenClDriver::Launch(GpuFunction function, std::span<const GpuArgument> arguments,
                         WorkSize items, WorkSize group, GpuEvent* mark) {
  const auto kernel = Own<cl::KernelId>(function);
  if (const cl::Int error = SetArguments(kernel, arguments); error != cl::kSuccess) return error;
  cl::Event event = nullptr;
  const cl::Int error =
      cl_.EnqueueNDRangeKernel(queue_, kernel, 3, nullptr, items.data(), group.data(), 0, nullptr,
                               mark == nullptr ? nullptr : &event);
  if (mark != nullptr) *mark = Given<GpuEvent>(event);
  return error;
}

int OpenClDriver::CopyWithin(GpuPlace from, GpuPlace to, size_t bytes) {
  return cl_.EnqueueCopyBuffer(queue_, Own<cl::Mem>(from.buffer), Own<cl::Mem>(to.buffer),
                               from.offset, to.offset, bytes, 0, nullptr, nullptr);
}

int OpenClDriver::Read(GpuPlace from, void* to, size_t bytes, Ended ended) {
  cl::Event event = nullptr;
  const cl::Int error = cl_.EnqueueReadBuffer(queue_, Own<cl::Mem>(from.buffer), 0, from.offset,
                                              bytes, to, 0, nullptr, &event);
  if (error == cl::kSuccess) WhenEnded(event, std::move(ended));
  return error;
}

// The one queue is in order, whoever the readers are.
int OpenClDriver::Write(const void* from, GpuPlace to, size_t bytes, GpuReaders /*readers*/,
                        Ended ended) {
  cl::Event event = nullptr;
  const cl::Int error = cl_.EnqueueWriteBuffer(queue_, Own<cl::Mem>(to.buffer), 0, to.offset, bytes,
                                               from, 0, nullptr, &event);
  if (error == cl::kSuccess) WhenEnded(event, std::move(ended));
  return error;
}

void OpenClDriver::OnEvent(cl::Event event, cl::Int status, void* data) {
  const std::unique_ptr<Call> call(static_cast<Call*>(data));
  call->cl->ReleaseEvent(event);
  call->ended(status < 0 ? status : 0);
}

void OpenClDriver::WhenEnded(cl::Event event, Ended ended) {
  auto call = std::make_unique<Call>(Call{&cl_, std::move(ended)});
  const cl::Int error = cl_.SetEventCallback(event, cl::kComplete, OnEvent, call.get());
  if (error == cl::kSuccess) {
    call.release();  // NOLINT: OnEvent's
    cl_.Flush(queue_);
    return;
  }
  OnEvent(event, cl_.WaitForEvents(1, &event), call.release());
}

int OpenClDriver::Wait(GpuEvent mark) {
  const auto event = Own<cl::Event>(mark);
  return cl_.WaitForEvents(1, &event);
}

void OpenClDriver::ReleaseEvent(GpuEvent mark) { cl_.ReleaseEvent(Own<cl::Event>(mark)); }

void OpenClDriver::Flush() { cl_.Flush(queue_); }

int OpenClDriver::Finish() { return cl_.Finish(queue_); }

bool OpenClDriver::IsLoss(cl::Int error, bool may_wait) const {
  switch (error) {
    // Context and queue were made by us and are there: it is the driver that has dropped them.
    case cl::kDeviceNotAvailable:
    case cl::kInvalidContext:
    case cl::kInvalidCommandQueue:
      return true;
    // What drivers also say of a device that was reset: it is lost if they have it no more, or
    // nothing comes to an end on it.
    case cl::kOutOfResources:
    case cl::kOutOfHostMemory:
    case cl::kMemObjectAllocationFailure:
    case cl::kExecStatusError: {
      cl::Bool available = 0;
      const cl::Int asked =
          cl_.GetDeviceInfo(id_, cl::kDeviceAvailable, sizeof(available), &available, nullptr);
      if (asked != cl::kSuccess || available == 0) return true;
      return may_wait && cl_.Finish(queue_) != cl::kSuccess;
    }
    default:
      return false;  // a wrong program
  }
}

Status OpenClDriver::ErrorOf(std::string_view what, int error, bool may_wait) {
  Status status = OpenClError(what, error);
  return IsLoss(error, may_wait) ? Unavailable(status.message()) : status;
}

}  // namespace thalweg
