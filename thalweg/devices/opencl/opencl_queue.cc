// SPDX-License-Identifier: Apache-2.0
#include "thalweg/devices/opencl/opencl_queue.h"

#include <utility>

#include "thalweg/kernel/losable.h"

namespace thalweg {
namespace {

// Launches between two marks, and marks that may be open: what a program may be ahead.
constexpr int64_t kLaunchesOfAMark = 256;
constexpr size_t kMostMarks = 16;

}  // namespace

OpenClQueue::~OpenClQueue() {
  context_->cl().Finish(context_->queue());
  MutexLock lock(mutex_);
  while (calls_ > 0) all_ended_.Wait(mutex_);
  for (const cl::Event mark : marks_) context_->cl().ReleaseEvent(mark);
}

Result<OpenClPlace> OpenClQueue::PlaceOf(const void* address) const {
  const OpenClPlace place = memory_->PlaceOf(address);
  if (place.buffer != nullptr) return place;
  return Internal("a kernel of OpenCL device '", context_->device().name,
                  "' got a tensor that is not in the device's memory");
}

bool OpenClQueue::IsLoss(cl::Int error, bool may_wait) const {
  const OpenClApi& cl = context_->cl();
  switch (error) {
    // Context and queue were made by us and are there: it is the driver that has dropped them.
    case cl::kDeviceNotAvailable:
    case cl::kInvalidContext:
    case cl::kInvalidCommandQueue:
      return true;
    // What drivers also say of a device that was reset: it is lost if they have it no more, or
    // nothing comes to an end on it.
    case cl::kOutOfResources:
    case cl::kOutOfHostMemory:
    case cl::kMemObjectAllocationFailure:
    case cl::kExecStatusError: {
      cl::Bool available = 0;
      const cl::Int asked = cl.GetDeviceInfo(context_->device().id, cl::kDeviceAvailable,
                                             sizeof(available), &available, nullptr);
      if (asked != cl::kSuccess || available == 0) return true;
      return may_wait && cl.Finish(context_->queue()) != cl::kSuccess;
    }
    default:
      return false;  // a wrong program
  }
}

Status OpenClQueue::ErrorOf(std::string_view what, cl::Int error, bool may_wait) const {
  Status status = OpenClError(StrCat(what, " on device '", context_->device().name, "'"), error);
  return IsLoss(error, may_wait) ? LostDevice(name_, status.message()) : status;
}

Status OpenClQueue::broken() const {
  MutexLock lock(mutex_);
  return broken_;
}

Status OpenClQueue::Failed(std::string_view what, cl::Int error) {
  // A callback of the driver's takes the mutex, and clFinish may wait for it.
  mutex_.Unlock();
  Status status = ErrorOf(what, error, true);
  mutex_.Lock();
  if (status.code() == Code::kUnavailable && broken_.ok()) broken_ = status;
  return status;
}

void OpenClQueue::Keep(const Status& error) {
  MutexLock lock(mutex_);
  if (broken_.ok()) broken_ = error;
}

Status OpenClQueue::SetArguments(const OpenClLaunch& launch) {
  const OpenClApi& cl = context_->cl();
  cl::UInt parameter = 0;
  const char* value = launch.values_.data();
  for (size_t i = 0; i < launch.count_; ++i) {
    const OpenClLaunch::Argument& argument = launch.arguments_[i];
    cl::Int error = cl::kSuccess;
    if (argument.is_tensor) {
      ASSIGN_OR_RETURN(const OpenClPlace place, PlaceOf(argument.address));
      const uint64_t element = place.offset / argument.size;
      error = cl.SetKernelArg(launch.kernel_, parameter++, sizeof(place.buffer), &place.buffer);
      if (error == cl::kSuccess) {
        error = cl.SetKernelArg(launch.kernel_, parameter++, sizeof(element), &element);
      }
    } else {
      error = cl.SetKernelArg(launch.kernel_, parameter++, argument.size, value);
      value += argument.size;
    }
    if (error != cl::kSuccess) return Failed(StrCat("set argument ", i, " of a kernel"), error);
  }
  return OkStatus();
}

Status OpenClQueue::Run(const OpenClLaunch& launch, WorkSize items, WorkSize group) {
  WorkSize global{};
  for (size_t d = 0; d < 3; ++d) {
    if (items[d] == 0) return OkStatus();
    global[d] = (items[d] + group[d] - 1) / group[d] * group[d];
  }
  cl::Event mark = nullptr;
  {
    MutexLock lock(mutex_);
    RETURN_IF_ERROR(broken_);
    RETURN_IF_ERROR(SetArguments(launch));
    const bool marked = ++launched_ == kLaunchesOfAMark;
    if (marked) launched_ = 0;
    const cl::Int error = context_->cl().EnqueueNDRangeKernel(context_->queue(), launch.kernel_, 3,
                                                              nullptr, global.data(), group.data(),
                                                              0, nullptr, marked ? &mark : nullptr);
    if (error != cl::kSuccess) return Failed("start a kernel", error);
  }
  return mark == nullptr ? OkStatus() : LimitQueue(mark);
}

Status OpenClQueue::LimitQueue(cl::Event mark) {
  const OpenClApi& cl = context_->cl();
  cl.Flush(context_->queue());
  cl::Event oldest = nullptr;
  {
    MutexLock lock(mutex_);
    marks_.push_back(mark);
    if (marks_.size() > kMostMarks) {
      oldest = marks_.front();
      marks_.pop_front();
    }
  }
  if (oldest == nullptr) return OkStatus();
  const cl::Int error = cl.WaitForEvents(1, &oldest);
  cl.ReleaseEvent(oldest);
  if (error == cl::kSuccess) return OkStatus();
  Status status = ErrorOf("queued work", error, true);
  Keep(status);
  return status;
}

Status OpenClQueue::Copy(const Tensor& from, const Tensor& to) {
  const size_t bytes = from.bytes();
  if (bytes != to.bytes()) return Internal("a copy of ", bytes, " bytes into ", to.bytes());
  if (bytes == 0) return OkStatus();
  ASSIGN_OR_RETURN(const OpenClPlace source, PlaceOf(from.raw_data()));
  ASSIGN_OR_RETURN(const OpenClPlace target, PlaceOf(to.raw_data()));
  MutexLock lock(mutex_);
  RETURN_IF_ERROR(broken_);
  const cl::Int error =
      context_->cl().EnqueueCopyBuffer(context_->queue(), source.buffer, target.buffer,
                                       source.offset, target.offset, bytes, 0, nullptr, nullptr);
  return error == cl::kSuccess ? OkStatus() : Failed("copy within the device", error);
}

void OpenClQueue::OnEvent(cl::Event event, cl::Int status, void* data) {
  const std::unique_ptr<Call> call(static_cast<Call*>(data));
  OpenClQueue& queue = *call->queue;
  const OpenClApi& cl = queue.context_->cl();
  Status ended;
  if (status < 0) {
    ended = queue.ErrorOf("queued work", status, false);
    queue.Keep(ended);
  }
  cl.ReleaseEvent(event);
  call->ended(std::move(ended));
  call->ended = nullptr;
  MutexLock lock(queue.mutex_);
  if (--queue.calls_ == 0) queue.all_ended_.NotifyAll();
}

void OpenClQueue::WhenEnded(cl::Event event, Ended ended) {
  const OpenClApi& cl = context_->cl();
  auto call = std::make_unique<Call>(Call{this, std::move(ended)});
  {
    MutexLock lock(mutex_);
    ++calls_;
  }
  const cl::Int error = cl.SetEventCallback(event, cl::kComplete, OnEvent, call.get());
  if (error == cl::kSuccess) {
    call.release();  // NOLINT: OnEvent's
    cl.Flush(context_->queue());
    return;
  }
  OnEvent(event, cl.WaitForEvents(1, &event), call.release());
}

Status OpenClQueue::Read(const Tensor& from, void* to, Ended ended) {
  ASSIGN_OR_RETURN(const OpenClPlace place, PlaceOf(from.raw_data()));
  cl::Event event = nullptr;
  {
    MutexLock lock(mutex_);
    RETURN_IF_ERROR(broken_);
    const cl::Int error = context_->cl().EnqueueReadBuffer(
        context_->queue(), place.buffer, 0, place.offset, from.bytes(), to, 0, nullptr, &event);
    if (error != cl::kSuccess) return Failed("copy to the host", error);
  }
  WhenEnded(event, std::move(ended));
  return OkStatus();
}

Status OpenClQueue::Write(const void* from, const Tensor& to, Ended ended) {
  ASSIGN_OR_RETURN(const OpenClPlace place, PlaceOf(to.raw_data()));
  cl::Event event = nullptr;
  {
    MutexLock lock(mutex_);
    RETURN_IF_ERROR(broken_);
    const cl::Int error = context_->cl().EnqueueWriteBuffer(
        context_->queue(), place.buffer, 0, place.offset, to.bytes(), from, 0, nullptr, &event);
    if (error != cl::kSuccess) return Failed("copy from the host", error);
  }
  WhenEnded(event, std::move(ended));
  return OkStatus();
}

}  // namespace thalweg
