// SPDX-License-Identifier: Apache-2.0
// Arena: memory of one message tree, given back in one piece.
//
//   Arena arena;
//   std::string_view kept = arena.Copy(text);   // lives as long as the arena
//
// Ownership: the arena owns every byte it hands out; nothing is freed or destroyed one by one.
// Threads: one at a time.
// Errors: throws std::bad_alloc when the system has no memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace thalweg {

class Arena {
 public:
  Arena() : next_(first_), end_(first_ + sizeof(first_)) {}
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  // Memory aligned to 8 bytes, not initialized.
  void* Allocate(size_t bytes) {
    std::byte* start =
        reinterpret_cast<std::byte*>((reinterpret_cast<uintptr_t>(next_) + 7) & ~uintptr_t{7});
    if (start > end_ || static_cast<size_t>(end_ - start) < bytes) return AllocateSlow(bytes);
    next_ = start + bytes;
    return start;
  }
  // Memory of any alignment, not initialized.
  char* AllocateBytes(size_t bytes) {
    if (static_cast<size_t>(end_ - next_) < bytes) return static_cast<char*>(AllocateSlow(bytes));
    std::byte* start = next_;
    next_ += bytes;
    return reinterpret_cast<char*>(start);
  }
  // Makes the latest allocation larger where it lies; false when it is not the latest or there is
  // no room.
  bool TryExtend(void* latest, size_t old_bytes, size_t new_bytes) {
    std::byte* start = static_cast<std::byte*>(latest);
    if (start + old_bytes != next_ || static_cast<size_t>(end_ - start) < new_bytes) return false;
    next_ = start + new_bytes;
    return true;
  }
  std::string_view Copy(std::string_view bytes) {
    if (bytes.empty()) return {};
    char* copy = AllocateBytes(bytes.size());
    std::memcpy(copy, bytes.data(), bytes.size());
    return {copy, bytes.size()};
  }
  // Takes the string over; the view lives as long as the arena.
  std::string_view Adopt(std::string bytes);
  // The next block will hold at least this much.
  void ExpectBytes(size_t bytes);
  // Bytes taken from the system so far.
  size_t reserved() const { return reserved_; }

 private:
  void* AllocateSlow(size_t bytes);

  std::byte* next_;
  std::byte* end_;
  size_t reserved_ = 0;
  size_t next_block_ = 4096;
  struct FreeBlock {
    void operator()(std::byte* block) const { std::free(block); }
  };
  std::vector<std::unique_ptr<std::byte[], FreeBlock>> blocks_;
  std::vector<std::unique_ptr<std::string>> adopted_;
  alignas(8) std::byte first_[512];
};

}  // namespace thalweg
