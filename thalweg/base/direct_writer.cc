// SPDX-License-Identifier: Apache-2.0
#include "thalweg/base/direct_writer.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <system_error>
#include <utility>

#include "thalweg/base/errno_status.h"
#include "thalweg/base/first_error.h"

namespace thalweg {
namespace {

constexpr size_t kBufferBytes = size_t{8} << 20;
constexpr int kBuffers = 4;  // so that neither side waits for the other to be scheduled
// Each has a thread and 32 MiB; more at once would gain nothing on one disk.
constexpr int kMostWriters = 4;
std::atomic<int> num_writers{0};

bool SetDirect(int fd, bool direct) {
  const int flags = ::fcntl(fd, F_GETFL);
  if (flags < 0) return false;
  return ::fcntl(fd, F_SETFL, direct ? flags | O_DIRECT : flags & ~O_DIRECT) == 0;
}

}  // namespace

std::unique_ptr<DirectWriter> DirectWriter::Begin(int fd, const std::string& path, size_t size) {
  if (size % kAlignment != 0) return nullptr;
  std::unique_ptr<DirectWriter> writer(new DirectWriter(fd, path));
  if (writer->number_ > kMostWriters || !SetDirect(fd, true)) return nullptr;
  bool has_memory = true;
  {
    const MutexLock lock(writer->mutex_);
    for (int i = 0; i < kBuffers; ++i) {
      Buffer buffer;
      buffer.memory.reset(static_cast<char*>(std::aligned_alloc(kAlignment, kBufferBytes)));
      has_memory = has_memory && buffer.memory != nullptr;
      writer->free_.push_back(std::move(buffer));
    }
    writer->filling_ = std::move(writer->free_.back());
    writer->free_.pop_back();
  }
  try {
    if (has_memory)
      writer->thread_ = Thread("write", [raw = writer.get()] { raw->WriteBuffers(); });
  } catch (const std::system_error&) {  // no thread is to be had
  }
  if (writer->thread_.IsHere()) return writer;
  SetDirect(fd, false);
  return nullptr;
}

DirectWriter::DirectWriter(int fd, std::string path)
    : fd_(fd), path_(std::move(path)), number_(num_writers.fetch_add(1) + 1) {}

DirectWriter::~DirectWriter() {
  num_writers.fetch_sub(1);
  if (!thread_.IsHere()) return;
  {
    const MutexLock lock(mutex_);
    ends_ = true;
    changed_->NotifyAll();
  }
  thread_.Join();
}

void DirectWriter::WriteBuffers() {
  mutex_.Lock();
  while (true) {
    while (full_.empty() && !ends_) changed_->Wait(mutex_);
    if (full_.empty()) break;
    const Buffer& buffer = full_.front();  // which stays where it is
    const bool goes_on = status_.ok();
    mutex_.Unlock();
    Status status = goes_on ? WriteAll(buffer.memory.get(), buffer.size) : OkStatus();
    mutex_.Lock();
    KeepFirstError(std::move(status), &status_);
    free_.push_back(std::move(full_.front()));
    full_.pop_front();
    changed_->NotifyAll();
  }
  mutex_.Unlock();
}

Status DirectWriter::WriteAll(const char* data, size_t size) const {
  for (bool direct = true; size > 0;) {
    const ssize_t put = ::write(fd_, data, size);
    if (put < 0 && errno == EINTR) continue;
    if (put < 0 && errno == EINVAL && direct) {  // not so aligned as this file system wants
      direct = false;
      if (SetDirect(fd_, false)) continue;
      errno = EINVAL;
    }
    if (put < 0) return ErrnoStatus("write", path_, errno);
    data += put;
    size -= static_cast<size_t>(put);
  }
  return OkStatus();
}

Status DirectWriter::CheckProcess() const {
  if (thread_.IsHere()) return OkStatus();
  return Aborted("'", path_, "' is written by the process that this one was forked from");
}

Status DirectWriter::HandOver() {
  RETURN_IF_ERROR(CheckProcess());
  const MutexLock lock(mutex_);
  while (free_.empty()) changed_->Wait(mutex_);
  RETURN_IF_ERROR(status_);
  full_.push_back(std::move(filling_));
  filling_ = std::move(free_.back());
  filling_.size = 0;
  free_.pop_back();
  changed_->NotifyAll();
  return OkStatus();
}

Status DirectWriter::Append(std::string_view data) {
  while (!data.empty()) {
    const size_t n = std::min(data.size(), kBufferBytes - filling_.size);
    std::memcpy(filling_.memory.get() + filling_.size, data.data(), n);
    filling_.size += n;
    data.remove_prefix(n);
    if (filling_.size == kBufferBytes) RETURN_IF_ERROR(HandOver());
  }
  return OkStatus();
}

Status DirectWriter::Drain() {
  RETURN_IF_ERROR(CheckProcess());
  {
    const MutexLock lock(mutex_);
    while (!full_.empty()) changed_->Wait(mutex_);
    RETURN_IF_ERROR(status_);
  }
  SetDirect(fd_, false);  // the end is seldom at a multiple
  const size_t size = std::exchange(filling_.size, 0);
  return WriteAll(filling_.memory.get(), size);
}

}  // namespace thalweg
