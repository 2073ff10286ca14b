// SPDX-License-Identifier: Apache-2.0
// CudaContext: the context of one card that all libraries of the process share, the stream of its
// launches, and events.
//
//   ASSIGN_OR_RETURN(std::shared_ptr<CudaContext> context, CudaContext::Make(*cuda, 0, 0));
//   const CurrentCuda current = context->Use();
//   const int error = context->cuda().StreamSynchronize(context->stream());
//
// Ownership: lets the context go at its end; driver and copiers share it.
// Threads: any.
// Errors: Make: those of CudaError.
#pragma once

#include <atomic>
#include <memory>

#include "thalweg/devices/gpu/cuda/cuda_api.h"

namespace thalweg {

class CudaContext {
 public:
  // `ordinal`: the device's number among those that the driver sees.
  static Result<std::shared_ptr<CudaContext>> Make(const CudaApi& cuda, cu::Device device,
                                                   int ordinal);
  ~CudaContext();
  CudaContext(const CudaContext&) = delete;
  CudaContext& operator=(const CudaContext&) = delete;

  const CudaApi& cuda() const { return cuda_; }
  cu::Device device() const { return device_; }
  int ordinal() const { return ordinal_; }
  cu::ContextId id() const { return id_; }
  cu::Stream stream() const { return stream_; }
  CurrentCuda Use() const { return CurrentCuda(cuda_, id_); }

  // What is in the card's memory is worth nothing from now on; the first error stays. 0: it is.
  void Fail(int error) {
    int none = 0;
    failed_.compare_exchange_strong(none, error);
  }
  int failed() const { return failed_.load(); }

  // In a thread in which it is current: an event at the end of what the stream has so far; null
  // with an error.
  int Mark(cu::Stream stream, cu::Event* event) const;
  // The stream goes on when the other has come so far.
  int Join(cu::Stream stream, cu::Stream other) const;

 private:
  CudaContext(const CudaApi& cuda, cu::Device device, int ordinal)
      : cuda_(cuda), device_(device), ordinal_(ordinal) {}

  const CudaApi& cuda_;
  const cu::Device device_;
  const int ordinal_;
  std::atomic<int> failed_{0};
  cu::ContextId id_ = nullptr;
  cu::Stream stream_ = nullptr;
};

// Host memory that the card reads and writes by itself, in parts of one size, each with an event
// that says when its last copy has ended. Parts are used in turn, by one thread at a time, in which
// the context is current.
class CudaStaging {
 public:
  CudaStaging(const CudaContext& context, size_t parts, size_t part_size)
      : context_(context), parts_(parts), part_size_(part_size) {}
  ~CudaStaging();
  CudaStaging(const CudaStaging&) = delete;
  CudaStaging& operator=(const CudaStaging&) = delete;

  size_t part_size() const { return part_size_; }
  // The next part, when its last copy has ended; the first call allocates all.
  int Next(char** part);
  // The copy of the part that Next gave last stands in this stream.
  int Queued(cu::Stream stream);
  // Waits until the copy of a part has ended.
  int Arrived(const char* part);

 private:
  int ArrivedAt(size_t part);

  const CudaContext& context_;
  const size_t parts_;
  const size_t part_size_;
  char* memory_ = nullptr;
  std::unique_ptr<cu::Event[]> events_;  // null: no copy is in flight
  size_t next_ = 0;
};

}  // namespace thalweg
