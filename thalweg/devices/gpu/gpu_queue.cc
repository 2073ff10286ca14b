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

Status GpuQueue::ErrorOf(GpuDriver& driver, std::string_view name, std::string_view what, int error,
                         bool may_wait) {
  Status status =
      driver.ErrorOf(StrCat(what, " on device '", driver.traits().name, "'"), error, may_wait);
  return status.code() == Code::kUnavailable ? LostDevice(name, status.message()) : status;
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

Status GpuQueue::Convolved(std::string_view what, int error) {
  if (error == 0) return OkStatus();
  if (error != GpuDriver::kUnsupported) return Failed(what, error);
  return Unimplemented("the library of ", driver_->traits().ToString(),
                       " has nothing for this convolution");
}

Result<size_t> GpuQueue::FindWorkspace(const GpuConvolution& convolution, size_t most) {
  RETURN_IF_ERROR(broken());
  size_t bytes = 0;
  RETURN_IF_ERROR(
      Convolved("choose how to convolve", driver_->FindWorkspace(convolution, most, &bytes)));
  return bytes;
}

Status GpuQueue::Convolve(const GpuConvolution& convolution, const GpuConvolutionTensors& tensors) {
  GpuConvolutionPlaces places;
  ASSIGN_OR_RETURN(places.image, PlaceOf(tensors.image.raw_data()));
  ASSIGN_OR_RETURN(places.filter, PlaceOf(tensors.filter.raw_data()));
  ASSIGN_OR_RETURN(places.output, PlaceOf(tensors.output.raw_data()));
  if (!tensors.workspace.empty()) {
    places.workspace_bytes = tensors.workspace.bytes();
    ASSIGN_OR_RETURN(places.workspace, PlaceOf(tensors.workspace.raw_data()));
  }
  int error = 0;
  {
    MutexLock lock(mutex_);
    RETURN_IF_ERROR(broken_);
    error = driver_->Convolve(convolution, places);
  }
  return Convolved("convolve", error);
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

Result<GpuEvent> GpuQueue::Mark() {
  GpuEvent mark = nullptr;
  int error = 0;
  {
    MutexLock lock(mutex_);
    RETURN_IF_ERROR(broken_);
    error = driver_->Mark(&mark);
  }
  if (error != 0) return Failed("mark the end of the queue", error);
  return mark;
}

Status GpuQueue::Follow(GpuEvent mark) {
  int error = 0;
  {
    MutexLock lock(mutex_);
    RETURN_IF_ERROR(broken_);
    error = driver_->Follow(mark);
  }
  return error == 0 ? OkStatus() : Failed("wait for a copy to another device", error);
}

Status GpuQueue::Check() {
  RETURN_IF_ERROR(broken());
  const int error = driver_->QueuedError();
  return error == 0 ? OkStatus() : Failed("queued work", error);
}

GpuQueue::Names GpuQueue::Makers() {
  Names makers;
  MutexLock lock(mutex_);
  AddMakers(&makers);
  return makers;
}

void GpuQueue::AddMakers(Names* makers) const {
  makers->emplace(driver_, name_);
  for (const auto& [driver, source] : sources_) makers->emplace(driver, source.name);
}

void GpuQueue::DependOn(const Names& makers) {
  ++copies_;
  for (const auto& [driver, name] : makers) {
    if (driver != driver_) sources_[driver] = {name, copies_};
  }
}

int GpuQueue::CopyBetween(GpuQueue& other, const Names& sources, GpuEvent written,
                          const GpuPlace& from, const GpuPlace& to, size_t bytes,
                          GpuEvent* copied) {
  if (const int error = driver_->Follow(written); error != 0) return error;
  if (const int error = driver_->CopyFrom(*other.driver_, from, to, bytes); error != 0) {
    return error;
  }
  DependOn(sources);
  return driver_->Mark(copied);
}

Status GpuQueue::FailedWith(GpuQueue& other, std::string_view what, int error) {
  RETURN_IF_ERROR(other.Check());
  return Failed(what, error);
}

Status GpuQueue::CopyFrom(GpuQueue& other, const Tensor& from, const Tensor& to) {
  const size_t bytes = from.bytes();
  if (bytes != to.bytes()) return Internal("a copy of ", bytes, " bytes into ", to.bytes());
  if (bytes == 0) return OkStatus();
  ASSIGN_OR_RETURN(const GpuPlace source, other.PlaceOf(from.raw_data()));
  ASSIGN_OR_RETURN(const GpuPlace target, PlaceOf(to.raw_data()));
  ASSIGN_OR_RETURN(const GpuEvent written, other.Mark());
  const Names sources = other.Makers();
  GpuEvent copied = nullptr;
  int error = 0;
  Status status;
  {
    MutexLock lock(mutex_);
    status = broken_;
    if (status.ok()) error = CopyBetween(other, sources, written, source, target, bytes, &copied);
  }
  other.driver_->ReleaseEvent(written);
  if (error != 0) status = FailedWith(other, StrCat("copy from ", other.name_), error);
  if (status.ok()) status = other.Follow(copied);
  if (copied != nullptr) driver_->ReleaseEvent(copied);
  // A copy may be on its way, and nobody holds its memory from here on.
  if (!status.ok()) driver_->Finish();
  return status;
}

struct GpuQueue::Collecting {
  const GpuCollective& collective;
  std::span<const GpuShare> shares;
  std::vector<GpuCollectivePart> parts;
  Names makers;
  int error = 0;
};

Status GpuQueue::CollectFrom(size_t rank, Collecting& collecting) {
  if (rank == collecting.shares.size()) {
    collecting.error =
        collecting.parts.front().driver->Collect(collecting.collective, collecting.parts);
    return OkStatus();
  }
  GpuQueue& queue = *collecting.shares[rank].queue;
  MutexLock lock(queue.mutex_);
  RETURN_IF_ERROR(queue.broken_);
  queue.AddMakers(&collecting.makers);
  RETURN_IF_ERROR(CollectFrom(rank + 1, collecting));
  queue.DependOn(collecting.makers);
  return OkStatus();
}

Status GpuQueue::Collect(const GpuCollective& collective, std::span<const GpuShare> shares) {
  Collecting collecting{collective, shares, {}, {}};
  for (const GpuShare& share : shares) {
    GpuCollectivePart part{share.queue->driver_.get(), {}, {}};
    ASSIGN_OR_RETURN(part.to, share.queue->PlaceOf(share.to.raw_data()));
    part.from = part.to;
    if (!share.from.empty()) {
      ASSIGN_OR_RETURN(part.from, share.queue->PlaceOf(share.from.raw_data()));
    }
    collecting.parts.push_back(part);
  }
  GpuQueue& first = *shares.front().queue;
  std::string_view what = "prepare collective operations";
  collecting.error = first.driver_->PrepareToCollect(collecting.parts);
  if (collecting.error == 0) {
    what = "a collective operation";
    RETURN_IF_ERROR(CollectFrom(0, collecting));
  }
  if (collecting.error == 0) return OkStatus();
  // It may be under way on some of them, and nobody holds its memory from here on.
  for (const GpuShare& share : shares) share.queue->driver_->Finish();
  for (const GpuShare& share : shares) RETURN_IF_ERROR(share.queue->Check());
  return first.Failed(what, collecting.error);
}

Status GpuQueue::CheckSources(int64_t copies) {
  std::map<std::shared_ptr<GpuDriver>, Source> sources;
  {
    MutexLock lock(mutex_);
    if (sources_.empty()) return OkStatus();
    sources = sources_;
  }
  Status failed;
  for (const auto& [driver, source] : sources) {
    if (const int error = driver->QueuedError(); error != 0) {
      failed = ErrorOf(*driver, source.name, "queued work", error, false);
    }
  }
  if (!failed.ok()) {
    Keep(failed);
    return failed;
  }
  MutexLock lock(mutex_);
  std::erase_if(sources_, [=](const auto& source) { return source.second.last_copy <= copies; });
  return OkStatus();
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
  int64_t copies = 0;
  {
    MutexLock lock(mutex_);
    copies = copies_;
  }
  ASSIGN_OR_RETURN(GpuDriver::Ended call,
                   Expect([this, copies, ended = std::move(ended)](const Status& status) {
                     ended(status.ok() ? CheckSources(copies) : status);
                   }));
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
