// SPDX-License-Identifier: Apache-2.0
#include "thalweg/devices/gpu/cuda/cuda_copier.h"

#include <algorithm>
#include <cstring>
#include <system_error>
#include <utility>

namespace thalweg {
namespace {

// Two, so that the card fills one while the host empties the other.
constexpr size_t kParts = 2;
constexpr size_t kPartSize = size_t{4} << 20;

}  // namespace

CudaCopier::CudaCopier(std::shared_ptr<CudaContext> context, std::string name)
    : context_(std::move(context)),
      name_(std::move(name)),
      staging_(*context_, kParts, kPartSize) {}

CudaCopier::~CudaCopier() {
  std::vector<Thread> threads;
  {
    MutexLock lock(mutex_);
    ends_ = true;
    changed_.NotifyAll();
    threads.swap(threads_);
  }
  threads.clear();  // joins
  if (stream_ == nullptr) return;
  const CurrentCuda current = context_->Use();
  context_->cuda().StreamSynchronize(stream_);
  context_->cuda().StreamDestroy(stream_);
}

int CudaCopier::Add(CudaCopy copy) {
  Job job{.copy = std::move(copy), .after = nullptr};
  {
    const CurrentCuda current = context_->Use();
    if (const int error = context_->Mark(context_->stream(), &job.after); error != cu::kSuccess) {
      return error;
    }
  }
  MutexLock lock(mutex_);
  const cu::Event after = job.after;
  jobs_.push_back(std::move(job));
  if (somebody_copies_ || PassOn()) return cu::kSuccess;
  // All threads are in an `ended`, which may wait for this one: it would wait for ever.
  jobs_.pop_back();
  const CurrentCuda current = context_->Use();
  context_->cuda().EventDestroy(after);
  return cu::kOutOfMemory;
}

bool CudaCopier::PassOn() {
  if (free_ == 0) return !ends_ && StartThread();
  changed_.NotifyAll();
  return true;
}

bool CudaCopier::StartThread() {
  try {
    threads_.emplace_back(name_, [this] { Loop(); });
  } catch (const std::system_error&) {
    return false;
  }
  ++free_;
  return true;
}

void CudaCopier::Loop() {
  mutex_.Lock();
  while (true) {
    while (somebody_copies_ || jobs_.empty()) {
      if (ends_ && jobs_.empty()) {
        mutex_.Unlock();
        return;
      }
      changed_.Wait(mutex_);
    }
    --free_;
    somebody_copies_ = true;
    Job job = std::move(jobs_.front());
    jobs_.pop_front();
    mutex_.Unlock();
    const int error = Do(job);
    mutex_.Lock();
    somebody_copies_ = false;
    // Without a thread what is there waits for this one, and what `ended` adds is refused.
    if (!jobs_.empty()) PassOn();
    mutex_.Unlock();
    job.copy.ended(error);
    job.copy.ended = nullptr;
    mutex_.Lock();
    ++free_;
  }
}

int CudaCopier::Do(const Job& job) {
  const CudaApi& cuda = context_->cuda();
  const CurrentCuda current = context_->Use();
  int error = cu::kSuccess;
  if (stream_ == nullptr) error = cuda.StreamCreate(&stream_, cu::kStreamNonBlocking);
  if (error == cu::kSuccess) error = cuda.StreamWaitEvent(stream_, job.after, 0);
  cuda.EventDestroy(job.after);
  if (error != cu::kSuccess) return error;
  error = job.copy.to_device ? ToDevice(job.copy) : ToHost(job.copy);
  if (error == cu::kSuccess) error = context_->failed();
  // What was queued before the failure may be on its way, and nobody holds its memory from here on.
  if (error != cu::kSuccess) cuda.StreamSynchronize(stream_);
  return error;
}

// A part is emptied while the card fills the next.
int CudaCopier::ToHost(const CudaCopy& copy) {
  char* filled[kParts] = {};
  const size_t count = (copy.size + kPartSize - 1) / kPartSize;
  for (size_t i = 0; i <= count; ++i) {
    if (i < count) {
      char*& part = filled[i % kParts];
      if (const int error = staging_.Next(&part); error != cu::kSuccess) return error;
      const size_t bytes = std::min(copy.size - i * kPartSize, kPartSize);
      int error =
          context_->cuda().MemcpyDtoHAsync(part, copy.device + i * kPartSize, bytes, stream_);
      if (error == cu::kSuccess) error = staging_.Queued(stream_);
      if (error != cu::kSuccess) return error;
    }
    if (i == 0) continue;
    const size_t last = i - 1, bytes = std::min(copy.size - last * kPartSize, kPartSize);
    if (const int error = staging_.Arrived(filled[last % kParts]); error != cu::kSuccess) {
      return error;
    }
    std::memcpy(copy.host + last * kPartSize, filled[last % kParts], bytes);
  }
  return cu::kSuccess;
}

int CudaCopier::ToDevice(const CudaCopy& copy) {
  for (size_t at = 0; at < copy.size; at += kPartSize) {
    char* part = nullptr;
    if (const int error = staging_.Next(&part); error != cu::kSuccess) return error;
    const size_t bytes = std::min(copy.size - at, kPartSize);
    std::memcpy(part, copy.host + at, bytes);
    int error = context_->cuda().MemcpyHtoDAsync(copy.device + at, part, bytes, stream_);
    if (error == cu::kSuccess) error = staging_.Queued(stream_);
    if (error != cu::kSuccess) return error;
  }
  return context_->Join(context_->stream(), stream_);
}

}  // namespace thalweg
