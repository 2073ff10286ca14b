// SPDX-License-Identifier: Apache-2.0
#include "thalweg/devices/gpu/gpu_queue.h"

#include <utility>

#include "thalweg/kernel/losable.h"

namespace thalweg {
namespace {

// Launches between two marks, and marks that may be open: what a program may be ahead.
constexpr int64_t kLaunchesOfAMark = 256;
constexpr size_t kMostMarks = 16;

}  // namespace

GpuQueue::~GpuQueue() {
  driver_->Finish();
  MutexLock lock(mutex_);
  while (calls_ > 0) all_ended_.Wait(mutex_);
  for (const GpuEvent mark : marks_) driver_->ReleaseEvent(mark);
}

Result<GpuPlace> GpuQueue::PlaceOf(const void* address) const {
  const GpuPlace place = memory_->PlaceOf(address);
  if (place.buffer != nullptr) return place;
  return Internal("a kernel of ", driver_->traits().ToString(),
                  " got a tensor that is not in the device's memory");
}

Status GpuQueue::CheckGroups(const WorkSize& items, const WorkSize& group) const {
  const WorkSize& most = driver_->traits().most_groups;
  for (size_t d = 0; d < items.size(); ++d) {
    if (items[d] / group[d] <= most[d]) continue;
    return Unimplemented(driver_->traits().ToString(), " runs up to ", most[d],
                         " groups of work items in dimension ", d, ", this launch has ",
                         items[d] / group[d]);
  }
  return OkStatus();
}

Status GpuQueue::ErrorOf(std::string_view what, int error, bool may_wait) const {
  Status status =
      driver_->ErrorOf(StrCat(what, " on device '", driver_->traits().name, "'"), error, may_wait);
  return status.code() == Code::kUnavailable ? LostDevice(name_, status.message()) : status;
}

Status GpuQueue::broken() const {
  MutexLock lock(mutex_);
  return broken_;
}

Status GpuQueue::Failed(std::string_view what, int error) {
  Status status = ErrorOf(what, error, true);
  if (status.code() == Code::kUnavailable) Keep(status);
  return status;
}

void GpuQueue::Keep(const Status& error) {
  MutexLock lock(mutex_);
  if (broken_.ok()) broken_ = error;
}

Status GpuQueue::Run(const GpuLaunch& launch, WorkSize items, WorkSize group) {
  WorkSize whole{};
  for (size_t d = 0; d < 3; ++d) {
    if (items[d] == 0) return OkStatus();
    whole[d] = (items[d] + group[d] - 1) / group[d] * group[d];
  }
  RETURN_IF_ERROR(CheckGroups(whole, group));
  std::array<GpuArgument, GpuLaunch::kMost> arguments;
  const char* value = launch.values_.data();
  for (size_t i = 0; i < launch.count_; ++i) {
    const GpuLaunch::Argument& argument = launch.arguments_[i];
    arguments[i].size = argument.size;
    if (argument.is_tensor) {
      ASSIGN_OR_RETURN(arguments[i].place, PlaceOf(argument.address));
    } else {
      arguments[i].value = value;
      value += argument.size;
    }
  }
  GpuEvent mark = nullptr;
  int error = 0;
  {
    MutexLock lock(mutex_);
    RETURN_IF_ERROR(broken_);
    const bool marked = ++launched_ == kLaunchesOfAMark;
    if (marked) launched_ = 0;
    error = driver_->Launch(launch.function_, std::span(arguments.data(), launch.count_), whole,
                            group, marked ? &mark : nullptr);
  }
  if (error != 0) return Failed("start a kernel", error);
  return mark == nullptr ? OkStatus() : LimitQueue(mark);
}

Status GpuQueue::LimitQueue(GpuEvent mark) {
  driver_->Flush();
  GpuEvent oldest = nullptr;
  {
    MutexLock lock(mutex_);
    marks_.push_back(mark);
    if (marks_.size() > kMostMarks) {
      oldest = marks_.front();
      marks_.pop_front();
    }
  }
  if (oldest == nullptr) return OkStatus();
  const int error = driver_->Wait(oldest);
  driver_->ReleaseEvent(oldest);
  if (error == 0) return OkStatus();
  Status status = ErrorOf("queued work", error, true);
  Keep(status);
  return status;
}

Status GpuQueue::Multiply(const GpuProduct& product, const Tensor& a, const Tensor& b,
                          const Tensor& c) {
  ASSIGN_OR_RETURN(const GpuPlace of_a, PlaceOf(a.raw_data()));
  ASSIGN_OR_RETURN(const GpuPlace of_b, PlaceOf(b.raw_data()));
  ASSIGN_OR_RETURN(const GpuPlace of_c, PlaceOf(c.raw_data()));
  int error = 0;
  {
    MutexLock lock(mutex_);
    RETURN_IF_ERROR(broken_);
    error = driver_->Multiply(product, of_a, of_b, of_c);
  }
  return error == 0 ? OkStatus() : Failed("multiply matrices", error);
}

Status GpuQueue::Copy(const Tensor& from, const Tensor& to) {
  const size_t bytes = from.bytes();
  if (bytes != to.bytes()) return Internal("a copy of ", bytes, " bytes into ", to.bytes());
  if (bytes == 0) return OkStatus();
  ASSIGN_OR_RETURN(const GpuPlace source, PlaceOf(from.raw_data()));
  ASSIGN_OR_RETURN(const GpuPlace target, PlaceOf(to.raw_data()));
  int error = 0;
  {
    MutexLock lock(mutex_);
    RETURN_IF_ERROR(broken_);
    error = driver_->CopyWithin(source, target, bytes);
  }
  return error == 0 ? OkStatus() : Failed("copy within the device", error);
}

Result<GpuDriver::Ended> GpuQueue::Expect(Ended ended) {
  MutexLock lock(mutex_);
  RETURN_IF_ERROR(broken_);
  ++calls_;
  return GpuDriver::Ended([this, ended = std::move(ended)](int error) mutable {
    Status status;
    if (error != 0) {
      status = ErrorOf("queued work", error, false);
      Keep(status);
    }
    ended(std::move(status));
    ended = nullptr;  // what it holds goes before the queue may
    CallEnded();
  });
}

void GpuQueue::CallEnded() {
  MutexLock lock(mutex_);
  if (--calls_ == 0) all_ended_.NotifyAll();
}

Status GpuQueue::Read(const Tensor& from, void* to, Ended ended) {
  ASSIGN_OR_RETURN(const GpuPlace place, PlaceOf(from.raw_data()));
  ASSIGN_OR_RETURN(GpuDriver::Ended call, Expect(std::move(ended)));
  const int error = driver_->Read(place, to, from.bytes(), std::move(call));
  if (error == 0) return OkStatus();
  Status status = Failed("copy to the host", error);
  CallEnded();
  return status;
}

Status GpuQueue::Write(const void* from, const Tensor& to, GpuReaders readers, Ended ended) {
  ASSIGN_OR_RETURN(const GpuPlace place, PlaceOf(to.raw_data()));
  ASSIGN_OR_RETURN(GpuDriver::Ended call, Expect(std::move(ended)));
  const int error = driver_->Write(from, place, to.bytes(), readers, std::move(call));
  if (error == 0) return OkStatus();
  Status status = Failed("copy from the host", error);
  CallEnded();
  return status;
}

}  // namespace thalweg
