// SPDX-License-Identifier: Apache-2.0
#include "thalweg/devices/gpu/cuda/cuda_driver.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

namespace thalweg {
namespace {

// What is written in order goes by memory that the card reaches, of which so much may be in flight.
constexpr size_t kPartsInOrder = 64;
constexpr size_t kPartInOrder = size_t{256} << 10;

// A launch has up to 2^31-1 groups in its first dimension.
constexpr WorkSize kMostGroups = {(size_t{1} << 31) - 1, 65535, 65535};

struct CudaProgram {
  cu::Module module = nullptr;
  std::string image;
};

CudaProgram* OwnProgram(GpuProgram program) { return reinterpret_cast<CudaProgram*>(program); }
cu::Event OwnEvent(GpuEvent event) { return reinterpret_cast<cu::Event>(event); }
cu::Pointer AddressOf(GpuPlace place) {
  return reinterpret_cast<cu::Pointer>(place.buffer) + place.offset;
}

Result<CudaChoice> Describe(const CudaApi& cuda, int ordinal) {
  CudaChoice choice;
  std::array<char, 256> name{};
  size_t memory = 0;
  int units = 0, major = 0, minor = 0;
  int error = cuda.DeviceGet(&choice.device, ordinal);
  const auto then = [&error](int next) { error = error == cu::kSuccess ? next : error; };
  then(cuda.DeviceGetName(name.data(), name.size() - 1, choice.device));
  then(cuda.DeviceTotalMem(&memory, choice.device));
  then(cuda.DeviceGetAttribute(&units, cu::kAttributeMultiprocessors, choice.device));
  then(cuda.DeviceGetAttribute(&major, cu::kAttributeMajor, choice.device));
  then(cuda.DeviceGetAttribute(&minor, cu::kAttributeMinor, choice.device));
  if (error != cu::kSuccess) return CudaError(cuda, StrCat("ask for device ", ordinal), error);
  choice.api = "CUDA";
  choice.name = name.data();
  choice.vendor = "NVIDIA";
  choice.capability = major * 10 + minor;
  choice.version = StrCat("compute capability: ", major, ".", minor);
  choice.driver = StrCat("CUDA ", CudaVersion(cuda.version));
  choice.memory = memory;
  choice.units = units;
  choice.most_groups = kMostGroups;
  return choice;
}

}  // namespace

Result<std::vector<CudaChoice>> FindCudaDevices(const CudaApi& cuda) {
  int count = 0;
  if (const int error = cuda.DeviceGetCount(&count); error != cu::kSuccess) {
    return CudaError(cuda, "look for devices", error);
  }
  std::vector<CudaChoice> choices;
  for (int ordinal = 0; ordinal < count; ++ordinal) {
    ASSIGN_OR_RETURN(CudaChoice choice, Describe(cuda, ordinal));
    choices.push_back(std::move(choice));
  }
  return choices;
}

Result<std::shared_ptr<CudaDriver>> CudaDriver::Make(const CudaApi& cuda,
                                                     const CudaChoice& choice) {
  ASSIGN_OR_RETURN(const CudaCompiler* compiler, CudaCompiler::Load(cuda.major()));
  ASSIGN_OR_RETURN(const CudaTarget target, compiler->TargetFor(choice.name, choice.capability));
  Result<std::shared_ptr<CudaContext>> context = CudaContext::Make(cuda, choice.device);
  if (!context.ok()) {
    return Status(context.status().code(),
                  StrCat(choice.ToString(), " cannot be used: ", context.status().message()));
  }
  return std::shared_ptr<CudaDriver>(
      new CudaDriver(*std::move(context), choice, *compiler, target));
}

CudaDriver::CudaDriver(std::shared_ptr<CudaContext> context, const CudaChoice& choice,
                       const CudaCompiler& compiler, CudaTarget target)
    : GpuDriver(choice),
      context_(std::move(context)),
      cuda_(context_->cuda()),
      compiler_(compiler),
      target_(target),
      staging_(*context_, kPartsInOrder, kPartInOrder),
      to_host_(context_, "cuda-to-host"),
      to_device_(context_, "cuda-to-card") {}

CudaDriver::~CudaDriver() {
  const CurrentCuda current = context_->Use();
  MutexLock lock(mutex_);
  products_ = nullptr;
}

Result<GpuBuffer> CudaDriver::MakeBuffer(size_t bytes) {
  const CurrentCuda current = context_->Use();
  cu::Pointer address = 0;
  const int error = cuda_.MemAlloc(&address, bytes);
  if (error == cu::kSuccess) return reinterpret_cast<GpuBuffer>(address);
  return ErrorOf(StrCat("make a buffer of device '", traits().name, "'"), error, false);
}

void CudaDriver::ReleaseBuffer(GpuBuffer buffer) {
  const CurrentCuda current = context_->Use();
  // Copies beside the launches hold their tensors: only launches may still use it.
  cuda_.StreamSynchronize(context_->stream());
  cuda_.MemFree(reinterpret_cast<cu::Pointer>(buffer));
}

std::string CudaDriver::BinaryKey() const {
  // A binary of the card's code is any driver's, but what a driver has refused is asked for anew.
  return StrCat(traits().name, "\n", traits().version, "\n", traits().driver, "\n",
                target_.ToOption(), "\n", compiler_.Key());
}

GpuProgram CudaDriver::FromBinary(const std::string& binary) {
  const CurrentCuda current = context_->Use();
  auto program = std::make_unique<CudaProgram>(CudaProgram{nullptr, binary});
  if (cuda_.ModuleLoadData(&program->module, program->image.c_str()) != cu::kSuccess) {
    return nullptr;
  }
  return reinterpret_cast<GpuProgram>(program.release());  // NOLINT: ReleaseProgram deletes it
}

Result<GpuProgram> CudaDriver::Compile(const std::string& source) {
  Result<std::string> image = compiler_.Compile(source, target_);
  if (!image.ok()) {
    return Status(image.status().code(), StrCat(traits().ToString(), " (", traits().driver,
                                                "): ", image.status().message()));
  }
  const CurrentCuda current = context_->Use();
  auto program = std::make_unique<CudaProgram>(CudaProgram{nullptr, *std::move(image)});
  if (const int error = cuda_.ModuleLoadData(&program->module, program->image.c_str());
      error != cu::kSuccess) {
    return ErrorOf(StrCat("load a kernel that NVRTC has compiled (", target_.ToOption(),
                          ") on device '", traits().name, "'; is NVRTC newer than the driver?"),
                   error, true);
  }
  return reinterpret_cast<GpuProgram>(program.release());  // NOLINT: ReleaseProgram deletes it
}

std::string CudaDriver::BinaryOf(GpuProgram program) { return OwnProgram(program)->image; }

void CudaDriver::ReleaseProgram(GpuProgram program) {
  const CurrentCuda current = context_->Use();
  const std::unique_ptr<CudaProgram> own(OwnProgram(program));
  cuda_.ModuleUnload(own->module);
}

Result<GpuFunction> CudaDriver::FindFunction(GpuProgram program, const std::string& name) {
  const CurrentCuda current = context_->Use();
  cu::Function function = nullptr;
  const int error = cuda_.ModuleGetFunction(&function, OwnProgram(program)->module, name.c_str());
  if (error == cu::kSuccess) return reinterpret_cast<GpuFunction>(function);
  return ErrorOf(StrCat("find kernel '", name, "' for device '", traits().name, "'"), error, true);
}

int CudaDriver::Launch(GpuFunction function, std::span<const GpuArgument> arguments, WorkSize items,
                       WorkSize group, GpuEvent* mark) {
  // A tensor is its address, and the place of its first element from there.
  constexpr size_t kMost = 64;
  std::array<cu::Pointer, kMost> addresses;
  std::array<void*, 2 * kMost> parameters;
  uint64_t first = 0;
  size_t count = 0;
  for (size_t i = 0; i < arguments.size() && i < kMost; ++i) {
    if (arguments[i].value != nullptr) {
      parameters[count++] = const_cast<void*>(arguments[i].value);
      continue;
    }
    addresses[i] = AddressOf(arguments[i].place);
    parameters[count++] = &addresses[i];
    parameters[count++] = &first;
  }
  std::array<unsigned, 3> groups{}, sizes{};
  for (size_t d = 0; d < groups.size(); ++d) {
    sizes[d] = static_cast<unsigned>(group[d]);
    groups[d] = static_cast<unsigned>(items[d] / group[d]);
  }
  const CurrentCuda current = context_->Use();
  const int error = cuda_.LaunchKernel(reinterpret_cast<cu::Function>(function), groups[0],
                                       groups[1], groups[2], sizes[0], sizes[1], sizes[2], 0,
                                       context_->stream(), parameters.data(), nullptr);
  if (error != cu::kSuccess || mark == nullptr) return error;
  cu::Event event = nullptr;
  const int marked = context_->Mark(context_->stream(), &event);
  *mark = reinterpret_cast<GpuEvent>(event);
  return marked;
}

bool CudaDriver::has_products() {
  MutexLock lock(mutex_);
  if (!looked_for_products_) {
    const CurrentCuda current = context_->Use();
    products_ = CudaProducts::Make(cuda_.major(), context_->stream());
    looked_for_products_ = true;
  }
  return products_ != nullptr;
}

int CudaDriver::Multiply(const GpuProduct& product, GpuPlace a, GpuPlace b, GpuPlace c) {
  MutexLock lock(mutex_);
  const CurrentCuda current = context_->Use();
  return products_->Multiply(product, AddressOf(a), AddressOf(b), AddressOf(c));
}

int CudaDriver::CopyWithin(GpuPlace from, GpuPlace to, size_t bytes) {
  const CurrentCuda current = context_->Use();
  return cuda_.MemcpyDtoDAsync(AddressOf(to), AddressOf(from), bytes, context_->stream());
}

int CudaDriver::Read(GpuPlace from, void* to, size_t bytes, Ended ended) {
  return to_host_.Add({.device = AddressOf(from),
                       .host = static_cast<char*>(to),
                       .size = bytes,
                       .to_device = false,
                       .ended = std::move(ended)});
}

int CudaDriver::WriteInOrder(const char* from, cu::Pointer to, size_t bytes) {
  const CurrentCuda current = context_->Use();
  MutexLock lock(mutex_);
  for (size_t at = 0; at < bytes; at += kPartInOrder) {
    char* part = nullptr;
    if (const int error = staging_.Next(&part); error != cu::kSuccess) return error;
    const size_t size = std::min(bytes - at, kPartInOrder);
    std::memcpy(part, from + at, size);
    int error = cuda_.MemcpyHtoDAsync(to + at, part, size, context_->stream());
    if (error == cu::kSuccess) error = staging_.Queued(context_->stream());
    if (error != cu::kSuccess) return error;
  }
  return cu::kSuccess;
}

int CudaDriver::Write(const void* from, GpuPlace to, size_t bytes, GpuReaders readers,
                      Ended ended) {
  if (readers == GpuReaders::kWaiting) {
    return to_device_.Add({.device = AddressOf(to),
                           .host = static_cast<char*>(const_cast<void*>(from)),
                           .size = bytes,
                           .to_device = true,
                           .ended = std::move(ended)});
  }
  const int error = WriteInOrder(static_cast<const char*>(from), AddressOf(to), bytes);
  if (error == cu::kSuccess) ended(cu::kSuccess);  // what goes wrong later is the stream's error
  return error;
}

int CudaDriver::Wait(GpuEvent mark) {
  const CurrentCuda current = context_->Use();
  return cuda_.EventSynchronize(OwnEvent(mark));
}

void CudaDriver::ReleaseEvent(GpuEvent mark) {
  const CurrentCuda current = context_->Use();
  cuda_.EventDestroy(OwnEvent(mark));
}

int CudaDriver::Finish() {
  const CurrentCuda current = context_->Use();
  return cuda_.StreamSynchronize(context_->stream());
}

Status CudaDriver::ErrorOf(std::string_view what, int error, bool may_wait) {
  if (error < CudaProducts::kFirstError) return CudaError(cuda_, what, error);
  // cuBLAS says "failed" of a device that is lost, too.
  if (const int lost = may_wait ? Finish() : cu::kSuccess; lost != cu::kSuccess) {
    return CudaError(cuda_, what, lost);
  }
  return Internal("cuBLAS: ", what, ": status ", error - CudaProducts::kFirstError);
}

}  // namespace thalweg
