// SPDX-License-Identifier: Apache-2.0
// OpenClDriver: GpuDriver over OpenCL 1.2: one device with its context and its one in-order queue.
//
//   ASSIGN_OR_RETURN(const std::vector<OpenClChoice> choices, FindOpenClDevices(*cl));
//   ASSIGN_OR_RETURN(std::shared_ptr<OpenClDriver> driver, OpenClDriver::Make(*cl, choices[0]));
//
// Ownership: as GpuDriver; it releases the driver's objects when the last has gone.
// Threads: any; what it says never changes.
// Errors: NotFound where the loader knows no driver; FailedPrecondition for a device that is too
// old, has no compiler or is not there, each with the device's name and what to do; then as
// GpuDriver.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "thalweg/devices/gpu/gpu_driver.h"
#include "thalweg/devices/gpu/opencl/opencl_api.h"

namespace thalweg {

struct OpenClChoice : GpuTraits {
  cl::DeviceId id = nullptr;
  cl::Bitfield type = 0;
  size_t most_work_items = 0;  // of a group
};

// Every device of every driver: graphics cards first, then accelerators, then processors.
Result<std::vector<OpenClChoice>> FindOpenClDevices(const OpenClApi& cl);

class OpenClDriver : public GpuDriver {
 public:
  static Result<std::shared_ptr<OpenClDriver>> Make(const OpenClApi& cl,
                                                    const OpenClChoice& choice);
  ~OpenClDriver() override;

  Result<GpuBuffer> MakeBuffer(size_t bytes) override;
  void ReleaseBuffer(GpuBuffer buffer) override;
  Result<GpuProgram> Compile(const std::string& source) override;
  GpuProgram FromBinary(const std::string& binary) override;
  std::string BinaryOf(GpuProgram program) override;
  std::string BinaryKey() const override;
  void ReleaseProgram(GpuProgram program) override;
  Result<GpuFunction> FindFunction(GpuProgram program, const std::string& name) override;
  void ReleaseFunction(GpuFunction function) override;
  int Launch(GpuFunction function, std::span<const GpuArgument> arguments, WorkSize items,
             WorkSize group, GpuEvent* mark) override;
  int CopyWithin(GpuPlace from, GpuPlace to, size_t bytes) override;
  int Read(GpuPlace from, void* to, size_t bytes, Ended ended) override;
  int Write(const void* from, GpuPlace to, size_t bytes, GpuReaders readers, Ended ended) override;
  int Wait(GpuEvent mark) override;
  void ReleaseEvent(GpuEvent mark) override;
  void Flush() override;
  int Finish() override;
  Status ErrorOf(std::string_view what, int error, bool may_wait) override;

 private:
  // What an event calls when it has ended.
  struct Call {
    const OpenClApi* cl;
    Ended ended;
  };
  OpenClDriver(const OpenClApi& cl, const OpenClChoice& choice)
      : GpuDriver(choice), cl_(cl), id_(choice.id) {}

  static void OnEvent(cl::Event event, cl::Int status, void* data);
  // `ended` when the event has ended, at once where the driver cannot say.
  void WhenEnded(cl::Event event, Ended ended);
  int SetArguments(cl::KernelId kernel, std::span<const GpuArgument> arguments) const;
  std::string BuildLog(cl::Program program) const;
  bool IsLoss(cl::Int error, bool may_wait) const;

  const OpenClApi& cl_;
  const cl::DeviceId id_;
  cl::ContextId context_ = nullptr;
  cl::Queue queue_ = nullptr;
};

}  // namespace thalweg
