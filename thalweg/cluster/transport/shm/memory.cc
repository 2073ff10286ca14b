// SPDX-License-Identifier: Apache-2.0
#include "thalweg/cluster/transport/shm/memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace thalweg {
namespace {

constexpr int kFixedSize = F_SEAL_SHRINK | F_SEAL_GROW;

Result<char*> MapPages(int fd, size_t bytes, int protection, int flags) {
  void* data = mmap(nullptr, bytes, protection, MAP_SHARED | flags, fd, 0);
  if (data == MAP_FAILED) {
    return ResourceExhausted("no room to map ", bytes, " shared bytes: ", strerror(errno));
  }
  return static_cast<char*>(data);
}

// The limit of a file's size holds for shared memory too, and what goes beyond it ends the process
// (SIGXFSZ).
Status CheckFileLimit(size_t bytes) {
  rlimit limit{};
  if (getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur >= bytes) return OkStatus();
  return ResourceExhausted("no ", bytes, " bytes of shared memory: the limit of a file's size is ",
                           limit.rlim_cur);
}

}  // namespace

Result<SharedMemory> SharedMemory::Make(size_t bytes, SharedUse use) {
  RETURN_IF_ERROR(CheckFileLimit(bytes));
  SharedMemory made;
  made.fd_ = UniqueFd(memfd_create("thalweg", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!made.fd_.valid()) return ResourceExhausted("no memfd: ", strerror(errno));
  if (const int error = posix_fallocate(made.fd_.get(), 0, static_cast<off_t>(bytes)); error != 0) {
    return ResourceExhausted("no ", bytes, " bytes of shared memory: ", strerror(error));
  }
  // Faults of pages that exist are cheap, and most of a large piece is used soon.
  ASSIGN_OR_RETURN(made.data_,
                   MapPages(made.fd_.get(), bytes, PROT_READ | PROT_WRITE, MAP_POPULATE));
  made.bytes_ = bytes;
  const int seals =
      kFixedSize | F_SEAL_SEAL | (use == SharedUse::kOwnerWrites ? F_SEAL_FUTURE_WRITE : 0);
  if (fcntl(made.fd_.get(), F_ADD_SEALS, seals) != 0) {
    return FailedPrecondition("shared memory cannot be sealed: ", strerror(errno));
  }
  return made;
}

Result<SharedMemory> SharedMemory::Map(UniqueFd fd, size_t bytes, SharedUse use) {
  const int seals = fcntl(fd.get(), F_GET_SEALS);
  struct stat stat {};
  if (seals < 0 || (seals & kFixedSize) != kFixedSize || fstat(fd.get(), &stat) != 0 ||
      stat.st_size < 0 || static_cast<uint64_t>(stat.st_size) < bytes || bytes == 0) {
    return DataLoss("the other task's shared memory is not sealed memory of ", bytes, " bytes");
  }
  SharedMemory mapped;
  const int protection = use == SharedUse::kBothWrite ? PROT_READ | PROT_WRITE : PROT_READ;
  ASSIGN_OR_RETURN(mapped.data_, MapPages(fd.get(), bytes, protection, 0));
  mapped.bytes_ = bytes;
  return mapped;  // the mapping outlives the descriptor
}

SharedMemory& SharedMemory::operator=(SharedMemory&& other) noexcept {
  std::swap(fd_, other.fd_);
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

SharedMemory::~SharedMemory() {
  if (data_ != nullptr) munmap(data_, bytes_);
}

}  // namespace thalweg
