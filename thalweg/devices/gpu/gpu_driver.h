// SPDX-License-Identifier: Apache-2.0
// GpuDriver: what OpenCL or CUDA does for one device: buffers, compiled programs, one in-order
// queue of launches and copies. Everything above it is the same for both.
//
//   ASSIGN_OR_RETURN(const GpuBuffer buffer, driver->MakeBuffer(1 << 20));
//   driver->Write(bytes, {buffer, 0}, size, GpuReaders::kQueued, [](int error) {});
//   const int error = driver->Finish();
//   if (error != 0) return driver->ErrorOf("wait", error, true);
//
// An int is an error of the driver's own, 0 is none; ErrorOf puts it into words.
// Ownership: the caller releases what it was given; the queue, programs and memory share the
// driver, which lets the device go with the last of them.
// Threads: any, but launches of one function one at a time. `Ended` is called once, on a thread of
// the driver's or inline, and never where the call gives an error; it may call the driver.
// Errors: Make..., Find...: those of ErrorOf; Compile: Internal with the first lines of the
// compiler's log.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <string>
#include <string_view>

#include "thalweg/base/status.h"
#include "thalweg/resources/collective_call.h"

namespace thalweg {

// What a driver's own handles are taken for.
using GpuBuffer = struct GpuBufferObject*;
using GpuProgram = struct GpuProgramObject*;
using GpuFunction = struct GpuFunctionObject*;
using GpuEvent = struct GpuEventObject*;

struct GpuPlace {
  GpuBuffer buffer = nullptr;
  size_t offset = 0;  // in bytes
};

using WorkSize = std::array<size_t, 3>;

struct GpuTraits {
  std::string api;  // "OpenCL" or "CUDA"
  std::string name;
  std::string version;  // "OpenCL 3.0 ..."
  std::string driver;
  std::string vendor;
  uint64_t memory = 0;
  uint64_t largest_buffer = 0;  // 0: as large as the memory
  int64_t units = 0;            // that compute at once
  // Groups of a launch, by dimension.
  WorkSize most_groups = {std::numeric_limits<uint32_t>::max(),
                          std::numeric_limits<uint32_t>::max(),
                          std::numeric_limits<uint32_t>::max()};
  bool is_processor = false;

  bool IsProcessor() const { return is_processor; }
  // "OpenCL device 'NAME'"
  std::string ToString() const { return StrCat(api, " device '", name, "'"); }
};

// A parameter of a kernel: a tensor is two, its buffer and the place of its first element there.
struct GpuArgument {
  GpuPlace place;               // of a tensor
  size_t size = 0;              // of an element, or of the value
  const void* value = nullptr;  // null for a tensor
};

// Products of matrices side by side, the first m x k by k x n, whose factors are so many elements
// apart; 0: it is one for all.
struct GpuProduct {
  int64_t count = 1, m = 0, n = 0, k = 0;
  int64_t step_a = 0, step_b = 0;
  bool transpose_a = false, transpose_b = false;
};

// Which of its three tensors a convolution makes of the other two.
enum class GpuConvolved : uint8_t { kOutput, kImageGradient, kFilterGradient };

// A convolution of images, or a gradient of one. Filters lie by channel of the output, and then as
// the images do: out, rows, columns, in; or where channels come first out, in, rows, columns.
struct GpuConvolution {
  GpuConvolved makes = GpuConvolved::kOutput;
  bool channels_first = false;
  int batch = 0, in_channels = 0, in_rows = 0, in_columns = 0;
  int out_channels = 0, out_rows = 0, out_columns = 0;
  int size_rows = 0, size_columns = 0;
  int pad_rows = 0, pad_columns = 0;  // on both sides
  int stride_rows = 1, stride_columns = 1, dilation_rows = 1, dilation_columns = 1;
  int groups = 1;

  auto operator<=>(const GpuConvolution&) const = default;
};

struct GpuConvolutionPlaces {
  GpuPlace image, filter, output;  // or their gradients
  GpuPlace workspace;              // a null buffer where it has no bytes
  size_t workspace_bytes = 0;
};

// What several devices compute together of a tensor of each (resources/collective_call.h).
struct GpuCollective {
  CollectiveKind kind = CollectiveKind::kReduce;
  DType dtype = DType::kInvalid;
  compute::BinaryOp merge = compute::BinaryOp::kAdd;
  bool is_mean = false;
  size_t count = 0;  // elements that a device brings; of a scatter, that it gets
  int sender = 0;    // of a broadcast
};

class GpuDriver;

// The part of one device, in the order of the ranks. The sender of a broadcast gets what it brings.
struct GpuCollectivePart {
  GpuDriver* driver = nullptr;
  GpuPlace from, to;
};

// Who reads what a copy to the device has written: all that is queued behind it, or only those who
// wait until it has ended, so that it may run beside what is queued.
enum class GpuReaders : uint8_t { kQueued, kWaiting };

class GpuDriver {
 public:
  using Ended = std::function<void(int error)>;
  static constexpr int kUnsupported = -1;  // no error: the library has nothing for this

  explicit GpuDriver(GpuTraits traits) : traits_(std::move(traits)) {}
  virtual ~GpuDriver() = default;
  GpuDriver(const GpuDriver&) = delete;
  GpuDriver& operator=(const GpuDriver&) = delete;
  const GpuTraits& traits() const { return traits_; }

  virtual Result<GpuBuffer> MakeBuffer(size_t bytes) = 0;
  // What queued work still uses is released behind it.
  virtual void ReleaseBuffer(GpuBuffer buffer) = 0;

  virtual Result<GpuProgram> Compile(const std::string& source) = 0;
  // Null where the binary is none for this device.
  virtual GpuProgram FromBinary(const std::string& binary) = 0;
  // "" where there is none to be had.
  virtual std::string BinaryOf(GpuProgram program) = 0;
  // What a binary is for, but for its source: device, driver, compiler, options.
  virtual std::string BinaryKey() const = 0;
  virtual void ReleaseProgram(GpuProgram program) = 0;
  virtual Result<GpuFunction> FindFunction(GpuProgram program, const std::string& name) = 0;
  virtual void ReleaseFunction(GpuFunction function) = 0;

  // `items` are whole groups. `mark`: where not null, an event that ends with the launch.
  virtual int Launch(GpuFunction function, std::span<const GpuArgument> arguments, WorkSize items,
                     WorkSize group, GpuEvent* mark) = 0;
  // Whether there is a library that multiplies; else kernels do.
  virtual bool has_products() { return false; }
  // In the queue, as a launch. Only where has_products().
  virtual int Multiply(const GpuProduct& /*product*/, GpuPlace /*a*/, GpuPlace /*b*/,
                       GpuPlace /*c*/) {
    return 0;
  }
  // Whether there is a library that convolves; else kernels do.
  virtual bool has_convolutions() { return false; }
  // The bytes of the workspace of the library's fastest way that needs at most so many, and gives
  // the same bits at every call. Only where has_convolutions(), as the next.
  virtual int FindWorkspace(const GpuConvolution& /*convolution*/, size_t /*most*/,
                            size_t* /*bytes*/) {
    return kUnsupported;
  }
  // In the queue, as a launch, with a workspace that FindWorkspace has named.
  virtual int Convolve(const GpuConvolution& /*convolution*/,
                       const GpuConvolutionPlaces& /*places*/) {
    return kUnsupported;
  }
  virtual int CopyWithin(GpuPlace from, GpuPlace to, size_t bytes) = 0;

  // Whether CopyFrom takes what is in the other one's memory.
  virtual bool Reaches(const GpuDriver& /*other*/) const { return false; }
  // The rest only for drivers that reach each other. In the queue; nothing of the other's waits.
  virtual int CopyFrom(const GpuDriver& /*other*/, GpuPlace /*from*/, GpuPlace /*to*/,
                       size_t /*bytes*/) {
    return 0;
  }
  // An event that ends with what the queue has so far.
  virtual int Mark(GpuEvent* /*mark*/) { return 0; }
  // What is queued from now on begins when an event has ended, which may be of another driver.
  virtual int Follow(GpuEvent /*mark*/) { return 0; }
  // Whether there is a library by which it computes this together with drivers that it reaches.
  virtual bool CanCollect(const GpuCollective& /*collective*/) { return false; }
  // The rest only where it can, called of the first part's driver. Makes what the library wants for
  // this group; may wait.
  virtual int PrepareToCollect(std::span<const GpuCollectivePart> /*parts*/) { return 0; }
  // In the queues of all, into which nobody else puts anything meanwhile.
  virtual int Collect(const GpuCollective& /*collective*/,
                      std::span<const GpuCollectivePart> /*parts*/) {
    return 0;
  }
  // What queued work has failed with so far. Does not wait.
  virtual int QueuedError() { return 0; }

  // The bytes of the device stay as they are until it has ended; the host's, until `ended`.
  virtual int Read(GpuPlace from, void* to, size_t bytes, Ended ended) = 0;
  virtual int Write(const void* from, GpuPlace to, size_t bytes, GpuReaders readers,
                    Ended ended) = 0;
  virtual int Wait(GpuEvent mark) = 0;
  virtual void ReleaseEvent(GpuEvent mark) = 0;
  // Queued work begins though nobody waits.
  virtual void Flush() = 0;
  // Waits for all that is queued.
  virtual int Finish() = 0;

  // Unavailable where it means that the device is lost. `may_wait`: not from an `Ended`.
  virtual Status ErrorOf(std::string_view what, int error, bool may_wait) = 0;

 private:
  const GpuTraits traits_;
};

}  // namespace thalweg
