// SPDX-License-Identifier: Apache-2.0
// The processor's tiles (AMX): eight registers of 16 rows of 64 bytes.
//
//   if (HasTiles(TileKind::kBytes)) ...       // once the system has permitted them
//   const TileSetting setting(true);          // in the thread that uses them: all eight, whole
//
// Ownership: none.
// Threads: HasTiles: any; a TileSetting is its thread's.
// Errors: none.
#pragma once

#include <cstdint>

namespace thalweg::compute {

// What the products of their elements are of.
enum class TileKind : uint8_t { kBfloat16, kBytes };

bool HasTiles(TileKind kind);

// The tiles of one thread, for as long as it lives, if it is to have them; those that are
// configured make what follows in the thread dearer.
class TileSetting {
 public:
  explicit TileSetting(bool set);
  TileSetting(const TileSetting&) = delete;
  TileSetting& operator=(const TileSetting&) = delete;
  ~TileSetting();

 private:
  const bool set_;
};

}  // namespace thalweg::compute
