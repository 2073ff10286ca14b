// SPDX-License-Identifier: Apache-2.0
#include "thalweg/proto/arena.h"

#include <sys/mman.h>

#include <algorithm>
#include <new>

namespace thalweg {
namespace {

constexpr size_t kMaxBlock = size_t{2} << 20;
constexpr size_t kHugePage = size_t{2} << 20;

// A large tree touches new memory all the time: with huge pages the system hands it over several
// times as fast.
std::byte* NewBlock(size_t size) {
  if (size > SIZE_MAX / 2) throw std::bad_alloc();
  const bool huge = size >= kHugePage;
  if (huge) size = (size + kHugePage - 1) / kHugePage * kHugePage;
  void* block = huge ? std::aligned_alloc(kHugePage, size) : std::malloc(size);
  if (block == nullptr) throw std::bad_alloc();
  if (huge) madvise(block, size, MADV_HUGEPAGE);  // a hint: failing is fine
  return static_cast<std::byte*>(block);
}

}  // namespace

void* Arena::AllocateSlow(size_t bytes) {
  // A large piece gets a block of its own, so that the rest of the current block stays in use.
  const bool own_block = bytes > next_block_ / 4;
  const size_t size = own_block ? bytes : next_block_;
  blocks_.emplace_back(NewBlock(size));
  reserved_ += size;
  std::byte* start = blocks_.back().get();
  if (!own_block) {
    next_ = start + bytes;
    end_ = start + size;
    next_block_ = std::min(next_block_ * 2, kMaxBlock);
  }
  return start;
}

std::string_view Arena::Adopt(std::string bytes) {
  reserved_ += bytes.size();
  adopted_.push_back(std::make_unique<std::string>(std::move(bytes)));
  return *adopted_.back();
}

void Arena::ExpectBytes(size_t bytes) { next_block_ = std::clamp(bytes, next_block_, kMaxBlock); }

}  // namespace thalweg
