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
  choice.ordinal = ordinal;
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
  Result<std::shared_ptr<CudaContext>> context =
      CudaContext::Make(cuda, choice.device, choice.ordinal);
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
  {
    MutexLock lock(groups_mutex_);
    groups_.clear();
  }
  const CurrentCuda current = context_->Use();
  MutexLock lock(mutex_);
  products_ = nullptr;
  convolutions_ = nullptr;
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
  return Mark(mark);
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

bool CudaDriver::has_convolutions() {
  MutexLock lock(mutex_);
  if (!looked_for_convolutions_) {
    const CurrentCuda current = context_->Use();
    convolutions_ = CudaConvolutions::Make(context_->stream());
    looked_for_convolutions_ = true;
  }
  return convolutions_ != nullptr;
}

int CudaDriver::FindWorkspace(const GpuConvolution& convolution, size_t most, size_t* bytes) {
  MutexLock lock(mutex_);
  const CurrentCuda current = context_->Use();
  return convolutions_->FindWorkspace(convolution, most, bytes);
}

int CudaDriver::Convolve(const GpuConvolution& convolution, const GpuConvolutionPlaces& places) {
  MutexLock lock(mutex_);
  const CurrentCuda current = context_->Use();
  return convolutions_->Run(convolution, {.image = AddressOf(places.image),
                                          .filter = AddressOf(places.filter),
                                          .output = AddressOf(places.output),
                                          .workspace = AddressOf(places.workspace),
                                          .workspace_bytes = places.workspace_bytes});
}

int CudaDriver::CopyWithin(GpuPlace from, GpuPlace to, size_t bytes) {
  const CurrentCuda current = context_->Use();
  return cuda_.MemcpyDtoDAsync(AddressOf(to), AddressOf(from), bytes, context_->stream());
}

bool CudaDriver::Reaches(const GpuDriver& other) const {
  return &other != this && dynamic_cast<const CudaDriver*>(&other) != nullptr;
}

void CudaDriver::Meet(const CudaContext& other) {
  MutexLock lock(mutex_);
  if (!met_.insert(other.id()).second) return;
  int can = 0;
  const int error = cuda_.DeviceCanAccessPeer(&can, context_->device(), other.device());
  // Where it is refused the driver copies by the host.
  if (error == cu::kSuccess && can != 0) cuda_.CtxEnablePeerAccess(other.id(), 0);
}

int CudaDriver::CopyFrom(const GpuDriver& other, GpuPlace from, GpuPlace to, size_t bytes) {
  const CudaContext& there = *dynamic_cast<const CudaDriver&>(other).context_;
  const CurrentCuda current = context_->Use();
  Meet(there);
  return cuda_.MemcpyPeerAsync(AddressOf(to), context_->id(), AddressOf(from), there.id(), bytes,
                               context_->stream());
}

int CudaDriver::Mark(GpuEvent* mark) {
  const CurrentCuda current = context_->Use();
  cu::Event event = nullptr;
  const int error = context_->Mark(context_->stream(), &event);
  *mark = reinterpret_cast<GpuEvent>(event);
  return error;
}

int CudaDriver::Follow(GpuEvent mark) {
  const CurrentCuda current = context_->Use();
  return cuda_.StreamWaitEvent(context_->stream(), OwnEvent(mark), 0);
}

bool CudaDriver::CanCollect(const GpuCollective& collective) {
  return NcclApi::Load() != nullptr && CudaGroup::CanRun(collective);
}

CudaDriver::Members CudaDriver::MembersOf(std::span<const GpuCollectivePart> parts) {
  Members members;
  for (const GpuCollectivePart& part : parts) members.push_back(part.driver);
  return members;
}

std::shared_ptr<CudaGroup> CudaDriver::FindGroup(std::span<const GpuCollectivePart> parts) {
  MutexLock lock(groups_mutex_);
  const auto found = groups_.find(MembersOf(parts));
  return found == groups_.end() ? nullptr : found->second;
}

int CudaDriver::PrepareToCollect(std::span<const GpuCollectivePart> parts) {
  const auto is_there = [&] {
    const std::shared_ptr<CudaGroup> known = FindGroup(parts);
    return known != nullptr && !known->has_failed();
  };
  if (is_there()) return cu::kSuccess;
  MutexLock making(making_mutex_);
  if (is_there()) return cu::kSuccess;
  CudaGroup::Contexts contexts;
  for (const GpuCollectivePart& part : parts) {
    contexts.push_back(dynamic_cast<const CudaDriver&>(*part.driver).context_);
  }
  std::unique_ptr<CudaGroup> made;
  const int error = CudaGroup::Make(*NcclApi::Load(), std::move(contexts), &made);
  if (error != cu::kSuccess) return error;
  std::shared_ptr<CudaGroup> group = std::move(made);
  MutexLock lock(groups_mutex_);
  groups_[MembersOf(parts)].swap(group);  // one that failed ends behind the lock
  return cu::kSuccess;
}

int CudaDriver::Collect(const GpuCollective& collective, std::span<const GpuCollectivePart> parts) {
  std::vector<CudaGroup::Places> places;
  for (const GpuCollectivePart& part : parts) {
    places.push_back({AddressOf(part.from), AddressOf(part.to)});
  }
  const std::shared_ptr<CudaGroup> group = FindGroup(parts);
  return group == nullptr ? cu::kUnknown : group->Run(collective, places);
}

int CudaDriver::QueuedError() {
  if (const int failed = context_->failed(); failed != 0) return failed;
  const CurrentCuda current = context_->Use();
  const int error = cuda_.StreamQuery(context_->stream());
  return error == cu::kNotReady ? cu::kSuccess : error;
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
  const int error = cuda_.EventSynchronize(OwnEvent(mark));
  return error == cu::kSuccess ? context_->failed() : error;
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
  // A library says "failed" of a device that is lost, too.
  if (const int lost = may_wait ? Finish() : cu::kSuccess; lost != cu::kSuccess) {
    return CudaError(cuda_, what, lost);
  }
  if (error >= CudaGroup::kFirstError) return CudaGroup::ErrorOf(what, error);
  if (error >= CudaConvolutions::kFirstError) {
    MutexLock lock(mutex_);
    return convolutions_->ErrorOf(what, error);
  }
  return Internal("cuBLAS: ", what, ": status ", error - CudaProducts::kFirstError);
}

}  // namespace thalweg
