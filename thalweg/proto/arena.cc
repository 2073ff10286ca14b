// SPDX-License-Identifier: Apache-2.0
#include "thalweg/proto/arena.h"

#include <algorithm>

namespace thalweg {
namespace {
constexpr size_t kMaxBlock = size_t{1} << 20;
}  // namespace

void* Arena::AllocateSlow(size_t bytes) {
  // A large piece gets a block of its own, so that the rest of the current block stays in use.
  const bool own_block = bytes > next_block_ / 4;
  const size_t size = own_block ? bytes : next_block_;
  blocks_.push_back(std::make_unique_for_overwrite<std::byte[]>(size));
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
