// SPDX-License-Identifier: Apache-2.0
#include "thalweg/base/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "thalweg/base/bus_errors.h"
#include "thalweg/base/errno_status.h"

namespace thalweg {
namespace {

int64_t ModifiedNanos(const struct stat& info) {
  return int64_t{info.st_mtim.tv_sec} * 1'000'000'000 + info.st_mtim.tv_nsec;
}

}  // namespace

Result<std::shared_ptr<const MappedFile>> MappedFile::Open(const std::string& path) {
  std::shared_ptr<MappedFile> file(new MappedFile(path));
  RETURN_IF_ERROR(file->Map());
  return std::shared_ptr<const MappedFile>(std::move(file));
}

Status MappedFile::Map() {
  fd_ = open(path_.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd_ < 0) return UnreadableStatus(path_, errno);
  struct stat info {};
  if (fstat(fd_, &info) != 0) return ErrnoStatus("look at", path_, errno);
  if (!S_ISREG(info.st_mode) || info.st_size == 0) {
    return InvalidArgument(path_, " is no file with contents, which alone can be mapped");
  }
  modified_nanos_ = ModifiedNanos(info);
  const auto size = static_cast<size_t>(info.st_size);
  void* const data = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd_, 0);
  if (data == MAP_FAILED) return ErrnoStatus("map", path_, errno);
  data_ = static_cast<const char*>(data);
  size_ = size;
  ASSIGN_OR_RETURN(slot_, BusErrors::Add(data_, size_));
  return OkStatus();
}

MappedFile::~MappedFile() {
  if (slot_ >= 0) BusErrors::Remove(slot_);
  if (data_ != nullptr) munmap(const_cast<char*>(data_), size_);
  if (fd_ >= 0) close(fd_);
}

void MappedFile::Forget(std::string_view part) const {
  const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto begin = (reinterpret_cast<uintptr_t>(part.data()) + page - 1) / page * page;
  const auto end = reinterpret_cast<uintptr_t>(part.data() + part.size()) / page * page;
  // A failure costs memory alone.
  if (begin < end) madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
}

Status MappedFile::Check() const {
  if (BusErrors::IsBroken(slot_)) {
    return DataLoss(path_,
                    ": pages of it are gone that values are mapped from: it was cut short, or "
                    "cannot be read any more");
  }
  struct stat info {};
  if (!has_changed_.load(std::memory_order_relaxed)) {
    if (fstat(fd_, &info) != 0) return ErrnoStatus("look at", path_, errno);
    if (static_cast<size_t>(info.st_size) == size_ && ModifiedNanos(info) == modified_nanos_) {
      return OkStatus();
    }
    has_changed_.store(true, std::memory_order_relaxed);
  }
  return DataLoss(path_,
                  ": it was written into while values are mapped from it: replace such files "
                  "by others of the same name");
}

MappedFiles::~MappedFiles() {
  for (Node* node = first_.load(std::memory_order_acquire); node != nullptr;) {
    delete std::exchange(node, node->next);
  }
}

Result<std::shared_ptr<const MappedFile>> MappedFiles::Map(const std::string& path) {
  const MutexLock lock(mutex_);
  for (const Node* node = first_.load(std::memory_order_acquire); node != nullptr;
       node = node->next) {
    if (node->file->path() == path) return node->file;
  }
  ASSIGN_OR_RETURN(std::shared_ptr<const MappedFile> file, MappedFile::Open(path));
  first_.store(new Node{file, first_.load(std::memory_order_relaxed)}, std::memory_order_release);
  return file;
}

bool MappedFiles::Hold(const void* at) const {
  const auto address = reinterpret_cast<uintptr_t>(at);
  for (const Node* node = first_.load(std::memory_order_acquire); node != nullptr;
       node = node->next) {
    const std::string_view bytes = node->file->bytes();
    const auto begin = reinterpret_cast<uintptr_t>(bytes.data());
    if (address >= begin && address - begin < bytes.size()) return true;
  }
  return false;
}

Status MappedFiles::Check() const {
  const Node* node = first_.load(std::memory_order_acquire);
  if (node != nullptr) BusErrors::Watch();
  for (; node != nullptr; node = node->next) RETURN_IF_ERROR(node->file->Check());
  return OkStatus();
}

}  // namespace thalweg
