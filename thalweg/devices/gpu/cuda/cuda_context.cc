// SPDX-License-Identifier: Apache-2.0
#include "thalweg/devices/gpu/cuda/cuda_context.h"

namespace thalweg {

Result<std::shared_ptr<CudaContext>> CudaContext::Make(const CudaApi& cuda, cu::Device device,
                                                       int ordinal) {
  std::shared_ptr<CudaContext> made(new CudaContext(cuda, device, ordinal));
  if (const int error = cuda.DevicePrimaryCtxRetain(&made->id_, device); error != cu::kSuccess) {
    made->id_ = nullptr;
    return CudaError(cuda, "make a context", error);
  }
  const CurrentCuda current = made->Use();
  if (const int error = cuda.StreamCreate(&made->stream_, cu::kStreamNonBlocking);
      error != cu::kSuccess) {
    return CudaError(cuda, "make a stream", error);
  }
  return made;
}

CudaContext::~CudaContext() {
  if (id_ == nullptr) return;
  if (stream_ != nullptr) {
    const CurrentCuda current = Use();
    cuda_.StreamDestroy(stream_);
  }
  cuda_.DevicePrimaryCtxRelease(device_);
}

int CudaContext::Mark(cu::Stream stream, cu::Event* event) const {
  *event = nullptr;
  if (const int error = cuda_.EventCreate(event, cu::kEventBlockingSync | cu::kEventDisableTiming);
      error != cu::kSuccess) {
    return error;
  }
  const int error = cuda_.EventRecord(*event, stream);
  if (error != cu::kSuccess) {
    cuda_.EventDestroy(*event);
    *event = nullptr;
  }
  return error;
}

int CudaContext::Join(cu::Stream stream, cu::Stream other) const {
  cu::Event event = nullptr;
  if (const int error = Mark(other, &event); error != cu::kSuccess) return error;
  const int error = cuda_.StreamWaitEvent(stream, event, 0);
  cuda_.EventDestroy(event);  // the wait has what it needs
  return error;
}

CudaStaging::~CudaStaging() {
  if (memory_ == nullptr) return;
  const CurrentCuda current = context_.Use();
  for (size_t i = 0; i < parts_; ++i) ArrivedAt(i);
  context_.cuda().MemFreeHost(memory_);
}

int CudaStaging::Next(char** part) {
  const CudaApi& cuda = context_.cuda();
  if (memory_ == nullptr) {
    void* memory = nullptr;
    if (const int error = cuda.MemAllocHost(&memory, parts_ * part_size_); error != cu::kSuccess) {
      return error;
    }
    memory_ = static_cast<char*>(memory);
    events_ = std::make_unique<cu::Event[]>(parts_);
  }
  next_ = (next_ + 1) % parts_;
  *part = memory_ + next_ * part_size_;
  return ArrivedAt(next_);
}

int CudaStaging::ArrivedAt(size_t part) {
  const CudaApi& cuda = context_.cuda();
  cu::Event& event = events_[part];
  if (event == nullptr) return cu::kSuccess;
  const int error = cuda.EventSynchronize(event);
  cuda.EventDestroy(event);
  event = nullptr;
  return error;
}

int CudaStaging::Arrived(const char* part) {
  return ArrivedAt(static_cast<size_t>(part - memory_) / part_size_);
}

int CudaStaging::Queued(cu::Stream stream) { return context_.Mark(stream, &events_[next_]); }

}  // namespace thalweg
