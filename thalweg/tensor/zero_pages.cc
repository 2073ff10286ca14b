// SPDX-License-Identifier: Apache-2.0
#include "thalweg/tensor/zero_pages.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>

namespace thalweg {

bool ReleaseToZeros(void* block, size_t bytes) {
  if (bytes < kZeroPagesFrom) return false;
  const auto page = static_cast<size_t>(sysconf(_SC_PAGE_SIZE));
  char* const begin = static_cast<char*>(block);
  const size_t head = (page - reinterpret_cast<uintptr_t>(begin) % page) % page;
  const size_t whole = (bytes - head) / page * page;
  // With huge pages one row would bring in two megabytes.
  madvise(begin + head, whole, MADV_NOHUGEPAGE);
  if (madvise(begin + head, whole, MADV_DONTNEED) != 0) return false;
  std::memset(begin, 0, head);
  std::memset(begin + head + whole, 0, bytes - head - whole);
  return true;
}

}  // namespace thalweg
