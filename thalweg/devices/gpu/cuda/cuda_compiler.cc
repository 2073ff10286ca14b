// SPDX-License-Identifier: Apache-2.0
#include "thalweg/devices/gpu/cuda/cuda_compiler.h"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <type_traits>

#include "thalweg/devices/gpu/cuda/cuda_api.h"
#include "thalweg/devices/gpu/cuda/cuda_prelude.h"

namespace thalweg {
namespace {

constexpr const char* kRemedy =
    "install NVRTC of CUDA 11.2 or later (of the toolkit, or `pip install "
    "nvidia-cuda-nvrtc-cu12`), "
    "and name the folder of libnvrtc.so.* in LD_LIBRARY_PATH";

constexpr const char* kDefaultDevice = "--device-as-default-execution-space";
constexpr const char* kNoWarnings = "--disable-warnings";

}  // namespace

Result<const CudaCompiler*> CudaCompiler::LoadOnce(int driver_major) {
  void* const library = OpenCudaLibrary("libnvrtc", driver_major);
  if (library == nullptr) {
    return FailedPrecondition("NVIDIA's compiler of kernels, libnvrtc.so.", driver_major,
                              ", is not here: ", kRemedy);
  }
  static CudaCompiler compiler;
  Api& api = compiler.api_;
  const char* missing = nullptr;
  const auto find = [&](const char* name, auto* function) {
    *function = reinterpret_cast<std::remove_pointer_t<decltype(function)>>(dlsym(library, name));
    if (*function == nullptr) missing = name;
  };
  find("nvrtcVersion", &api.Version);
  find("nvrtcGetErrorString", &api.GetErrorString);
  find("nvrtcGetNumSupportedArchs", &api.GetNumSupportedArchs);
  find("nvrtcGetSupportedArchs", &api.GetSupportedArchs);
  find("nvrtcCreateProgram", &api.CreateProgram);
  find("nvrtcDestroyProgram", &api.DestroyProgram);
  find("nvrtcCompileProgram", &api.CompileProgram);
  find("nvrtcGetProgramLogSize", &api.GetProgramLogSize);
  find("nvrtcGetProgramLog", &api.GetProgramLog);
  find("nvrtcGetPTXSize", &api.GetPTXSize);
  find("nvrtcGetPTX", &api.GetPTX);
  find("nvrtcGetCUBINSize", &api.GetCUBINSize);
  find("nvrtcGetCUBIN", &api.GetCUBIN);
  if (missing != nullptr) {
    return FailedPrecondition("NVIDIA's libnvrtc has no function ", missing, ": ", kRemedy);
  }
  int count = 0, error = api.Version(&compiler.major_, &compiler.minor_);
  if (error == 0) error = api.GetNumSupportedArchs(&count);
  compiler.capabilities_.resize(static_cast<size_t>(std::max(count, 0)));
  if (error == 0 && count > 0) error = api.GetSupportedArchs(compiler.capabilities_.data());
  if (error != 0) return compiler.ErrorOf("ask for which cards it compiles", error);
  std::ranges::sort(compiler.capabilities_);
  return &compiler;
}

Result<const CudaCompiler*> CudaCompiler::Load(int driver_major) {
  // The driver, and with it its version, is the process's.
  static const auto* const loaded = new Result<const CudaCompiler*>(LoadOnce(driver_major));
  return *loaded;
}

Status CudaCompiler::ErrorOf(std::string_view what, int error) const {
  const char* const name = api_.GetErrorString(error);
  return Internal("NVRTC: ", what, ": ", name == nullptr ? "an error without a name" : name, " (",
                  error, ")");
}

std::string CudaCompiler::Key() const {
  return StrCat("NVRTC ", major_, ".", minor_, "\n", kCudaPrelude);
}

Result<CudaTarget> CudaCompiler::TargetFor(std::string_view card, int capability) const {
  if (std::ranges::binary_search(capabilities_, capability)) return CudaTarget{capability, false};
  const auto above = std::ranges::upper_bound(capabilities_, capability);
  if (above != capabilities_.begin()) return CudaTarget{*std::prev(above), true};
  return FailedPrecondition(
      "CUDA device '", card, "' has compute capability ", capability / 10, ".", capability % 10,
      ", NVRTC ", major_, ".", minor_, " compiles for ",
      capabilities_.empty()
          ? "none"
          : StrCat(capabilities_.front() / 10, ".", capabilities_.front() % 10, " and later"),
      ": install an older NVRTC, and name its folder in LD_LIBRARY_PATH");
}

std::string CudaCompiler::LogOf(Program program) const {
  size_t size = 0;
  if (api_.GetProgramLogSize(program, &size) != 0 || size == 0) return "nothing";
  std::string log(size, '\0');
  if (api_.GetProgramLog(program, log.data()) != 0) return "nothing";
  constexpr size_t kMost = 1000;
  log.resize(std::min({log.find('\0'), log.size(), kMost}));
  return log;
}

Result<std::string> CudaCompiler::ImageOf(Program program, const CudaTarget& target) const {
  size_t size = 0;
  int error = target.is_ptx ? api_.GetPTXSize(program, &size) : api_.GetCUBINSize(program, &size);
  std::string image(size, '\0');
  if (error == 0) {
    error =
        target.is_ptx ? api_.GetPTX(program, image.data()) : api_.GetCUBIN(program, image.data());
  }
  if (error != 0) return ErrorOf("take the compiled kernel", error);
  return image;
}

Result<std::string> CudaCompiler::Compile(const std::string& source,
                                          const CudaTarget& target) const {
  const std::string text = StrCat(kCudaPrelude, source);
  Program program = nullptr;
  if (const int error =
          api_.CreateProgram(&program, text.c_str(), "kernel.cl", 0, nullptr, nullptr);
      error != 0) {
    return ErrorOf("make a program", error);
  }
  const std::string architecture = target.ToOption();
  const std::array<const char*, 3> options = {architecture.c_str(), kDefaultDevice, kNoWarnings};
  const int error = api_.CompileProgram(program, static_cast<int>(options.size()), options.data());
  Result<std::string> image =
      error == 0 ? ImageOf(program, target)
                 : Result<std::string>(ErrorOf(
                       StrCat("the compiler refuses a kernel, and says: ", LogOf(program)), error));
  api_.DestroyProgram(&program);
  return image;
}

}  // namespace thalweg
