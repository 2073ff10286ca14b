// SPDX-License-Identifier: Apache-2.0
// CudaDriver: GpuDriver over CUDA: one card with its context, a stream of launches, and a stream
// for copies in each direction.
//
//   ASSIGN_OR_RETURN(const std::vector<CudaChoice> choices, FindCudaDevices(*cuda));
//   ASSIGN_OR_RETURN(std::shared_ptr<CudaDriver> driver, CudaDriver::Make(*cuda, choices[0]));
//
// Ownership: as GpuDriver.
// Threads: as GpuDriver.
// Errors: FindCudaDevices: those of CudaError; Make: those of CudaCompiler::Load, then as
// GpuDriver.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "thalweg/base/mutex.h"
#include "thalweg/devices/gpu/cuda/cuda_compiler.h"
#include "thalweg/devices/gpu/cuda/cuda_convolutions.h"
#include "thalweg/devices/gpu/cuda/cuda_copier.h"
#include "thalweg/devices/gpu/cuda/cuda_group.h"
#include "thalweg/devices/gpu/cuda/cuda_products.h"
#include "thalweg/devices/gpu/gpu_driver.h"

namespace thalweg {

struct CudaChoice : GpuTraits {
  cu::Device device = 0;
  int ordinal = 0;     // its number among those that the driver sees
  int capability = 0;  // 90: 9.0
};

// Every card, in the driver's order.
Result<std::vector<CudaChoice>> FindCudaDevices(const CudaApi& cuda);

class CudaDriver : public GpuDriver {
 public:
  static Result<std::shared_ptr<CudaDriver>> Make(const CudaApi& cuda, const CudaChoice& choice);
  ~CudaDriver() override;

  Result<GpuBuffer> MakeBuffer(size_t bytes) override;
  void ReleaseBuffer(GpuBuffer buffer) override;
  Result<GpuProgram> Compile(const std::string& source) override;
  GpuProgram FromBinary(const std::string& binary) override;
  std::string BinaryOf(GpuProgram program) override;
  std::string BinaryKey() const override;
  void ReleaseProgram(GpuProgram program) override;
  Result<GpuFunction> FindFunction(GpuProgram program, const std::string& name) override;
  void ReleaseFunction(GpuFunction /*function*/) override {}  // the program's
  int Launch(GpuFunction function, std::span<const GpuArgument> arguments, WorkSize items,
             WorkSize group, GpuEvent* mark) override;
  bool has_products() override EXCLUDES(mutex_);
  int Multiply(const GpuProduct& product, GpuPlace a, GpuPlace b, GpuPlace c) override
      EXCLUDES(mutex_);
  bool has_convolutions() override EXCLUDES(mutex_);
  int FindWorkspace(const GpuConvolution& convolution, size_t most, size_t* bytes) override
      EXCLUDES(mutex_);
  int Convolve(const GpuConvolution& convolution, const GpuConvolutionPlaces& places) override
      EXCLUDES(mutex_);
  int CopyWithin(GpuPlace from, GpuPlace to, size_t bytes) override;
  bool Reaches(const GpuDriver& other) const override;
  int CopyFrom(const GpuDriver& other, GpuPlace from, GpuPlace to, size_t bytes) override
      EXCLUDES(mutex_);
  int Mark(GpuEvent* mark) override;
  int Follow(GpuEvent mark) override;
  bool CanCollect(const GpuCollective& collective) override;
  int PrepareToCollect(std::span<const GpuCollectivePart> parts) override
      EXCLUDES(making_mutex_, groups_mutex_);
  int Collect(const GpuCollective& collective, std::span<const GpuCollectivePart> parts) override
      EXCLUDES(groups_mutex_);
  int QueuedError() override;
  int Read(GpuPlace from, void* to, size_t bytes, Ended ended) override;
  int Write(const void* from, GpuPlace to, size_t bytes, GpuReaders readers, Ended ended) override
      EXCLUDES(mutex_);
  int Wait(GpuEvent mark) override;
  void ReleaseEvent(GpuEvent mark) override;
  void Flush() override {}  // what is queued begins by itself
  int Finish() override;
  Status ErrorOf(std::string_view what, int error, bool may_wait) override EXCLUDES(mutex_);

 private:
  CudaDriver(std::shared_ptr<CudaContext> context, const CudaChoice& choice,
             const CudaCompiler& compiler, CudaTarget target);

  // Copies from the other card go without the host, where the two can; once for each.
  void Meet(const CudaContext& other) EXCLUDES(mutex_);
  int WriteInOrder(const char* from, cu::Pointer to, size_t bytes) EXCLUDES(mutex_);

  const std::shared_ptr<CudaContext> context_;
  const CudaApi& cuda_;
  const CudaCompiler& compiler_;
  const CudaTarget target_;
  Mutex mutex_;
  CudaStaging staging_ GUARDED_BY(mutex_);  // of what is written in order
  bool looked_for_products_ GUARDED_BY(mutex_) = false;
  std::unique_ptr<CudaProducts> products_ GUARDED_BY(mutex_);
  bool looked_for_convolutions_ GUARDED_BY(mutex_) = false;
  std::unique_ptr<CudaConvolutions> convolutions_ GUARDED_BY(mutex_);
  std::set<cu::ContextId> met_ GUARDED_BY(mutex_);
  // Of which this card is the first, by the drivers of all.
  using Members = std::vector<const GpuDriver*>;
  static Members MembersOf(std::span<const GpuCollectivePart> parts);
  std::shared_ptr<CudaGroup> FindGroup(std::span<const GpuCollectivePart> parts)
      EXCLUDES(groups_mutex_);
  Mutex making_mutex_;  // while one is made, which takes its time: without any queue's lock
  Mutex groups_mutex_;
  std::map<Members, std::shared_ptr<CudaGroup>> groups_ GUARDED_BY(groups_mutex_);
  CudaCopier to_host_;
  CudaCopier to_device_;
};

}  // namespace thalweg
