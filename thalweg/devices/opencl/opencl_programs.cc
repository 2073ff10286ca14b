// SPDX-License-Identifier: Apache-2.0
#include "thalweg/devices/opencl/opencl_programs.h"

#include <algorithm>

namespace thalweg {
namespace {

constexpr const char* kBuildOptions = "-cl-std=CL1.2 -w";

}  // namespace

OpenClPrograms::~OpenClPrograms() {
  const OpenClApi& cl = context_->cl();
  for (const auto& [name, kernel] : kernels_) cl.ReleaseKernel(kernel);
  for (const auto& [source, program] : programs_) cl.ReleaseProgram(program);
}

int64_t OpenClPrograms::compiled() const {
  MutexLock lock(mutex_);
  return compiled_;
}

Result<cl::KernelId> OpenClPrograms::Find(const std::string& source, const std::string& name) {
  MutexLock lock(mutex_);
  ASSIGN_OR_RETURN(const cl::Program program, ProgramOf(source));
  cl::KernelId& kernel = kernels_[{program, name}];
  if (kernel == nullptr) {
    cl::Int error = cl::kSuccess;
    kernel = context_->cl().CreateKernel(program, name.c_str(), &error);
    if (kernel == nullptr || error != cl::kSuccess) {
      kernels_.erase({program, name});
      return OpenClError(
          StrCat("make kernel '", name, "' for device '", context_->device().name, "'"), error);
    }
  }
  return kernel;
}

std::string OpenClPrograms::KeyOf(const std::string& source) const {
  const OpenClChoice& device = context_->device();
  return StrCat(device.vendor, "\n", device.name, "\n", device.version, "\n", device.driver, "\n",
                kBuildOptions, "\n", source);
}

Result<cl::Program> OpenClPrograms::ProgramOf(const std::string& source) {
  const auto known = programs_.find(source);
  if (known != programs_.end()) return known->second;
  const std::string key = KeyOf(source);
  cl::Program program = nullptr;
  if (const std::string binary = binaries_.Read(key); !binary.empty()) {
    program = FromBinary(binary);
  }
  if (program == nullptr) {
    ASSIGN_OR_RETURN(program, FromSource(source));
    ++compiled_;
    binaries_.Write(key, BinaryOf(program));
  }
  programs_.emplace(source, program);
  return program;
}

cl::Program OpenClPrograms::FromBinary(const std::string& binary) const {
  const OpenClApi& cl = context_->cl();
  const size_t size = binary.size();
  const auto* bytes = reinterpret_cast<const unsigned char*>(binary.data());
  cl::Int of_binary = cl::kSuccess, error = cl::kSuccess;
  const cl::DeviceId device = context_->device().id;
  const cl::Program program =
      cl.CreateProgramWithBinary(context_->id(), 1, &device, &size, &bytes, &of_binary, &error);
  if (program == nullptr) return nullptr;
  if (error == cl::kSuccess && of_binary == cl::kSuccess &&
      cl.BuildProgram(program, 1, &device, kBuildOptions, nullptr, nullptr) == cl::kSuccess) {
    return program;
  }
  cl.ReleaseProgram(program);
  return nullptr;
}

Result<cl::Program> OpenClPrograms::FromSource(const std::string& source) const {
  const OpenClApi& cl = context_->cl();
  const char* text = source.data();
  const size_t size = source.size();
  cl::Int error = cl::kSuccess;
  const cl::Program program = cl.CreateProgramWithSource(context_->id(), 1, &text, &size, &error);
  if (program == nullptr || error != cl::kSuccess) return OpenClError("make a program", error);
  const cl::DeviceId device = context_->device().id;
  error = cl.BuildProgram(program, 1, &device, kBuildOptions, nullptr, nullptr);
  if (error == cl::kSuccess) return program;
  const std::string log = BuildLog(program);
  cl.ReleaseProgram(program);
  return OpenClError(StrCat("the compiler of device '", context_->device().name, "' (driver ",
                            context_->device().driver, ") refuses a kernel, and says: ", log),
                     error);
}

std::string OpenClPrograms::BuildLog(cl::Program program) const {
  const OpenClApi& cl = context_->cl();
  const cl::DeviceId device = context_->device().id;
  size_t size = 0;
  cl.GetProgramBuildInfo(program, device, cl::kProgramBuildLog, 0, nullptr, &size);
  std::string log(size, '\0');
  if (size == 0 || cl.GetProgramBuildInfo(program, device, cl::kProgramBuildLog, size, log.data(),
                                          nullptr) != cl::kSuccess) {
    return "nothing";
  }
  constexpr size_t kMost = 1000;
  log.resize(std::min({log.find('\0'), log.size(), kMost}));
  return log;
}

std::string OpenClPrograms::BinaryOf(cl::Program program) const {
  const OpenClApi& cl = context_->cl();
  size_t size = 0;
  if (cl.GetProgramInfo(program, cl::kProgramBinarySizes, sizeof(size), &size, nullptr) !=
          cl::kSuccess ||
      size == 0) {
    return "";
  }
  std::string binary(size, '\0');
  char* at = binary.data();
  if (cl.GetProgramInfo(program, cl::kProgramBinaries, sizeof(at), &at, nullptr) != cl::kSuccess) {
    return "";
  }
  return binary;
}

}  // namespace thalweg
