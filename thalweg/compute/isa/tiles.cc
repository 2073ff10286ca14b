// SPDX-License-Identifier: Apache-2.0
#include "thalweg/compute/isa/tiles.h"

#include <cpuid.h>
#include <immintrin.h>
#include <sys/syscall.h>
#include <unistd.h>

#define THALWEG_TILES gnu::target("amx-tile")

namespace thalweg::compute {
namespace {

bool Permitted() {
  constexpr long kRequestPermission = 0x1023, kTileData = 18;
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}

struct Has {
  bool bfloat16 = false, bytes = false;
};

// __builtin_cpu_supports does not know these words in every compiler.
Has AskProcessor() {
  unsigned eax, ebx, ecx, edx;
  if (__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) == 0) return {};
  constexpr unsigned kBfloat16 = 1u << 22, kTile = 1u << 24, kBytes = 1u << 25;
  if ((edx & kTile) == 0 || (edx & (kBfloat16 | kBytes)) == 0 || !Permitted()) return {};
  return {(edx & kBfloat16) != 0, (edx & kBytes) != 0};
}

// Static, for the compiler does not see that more of it is read than the first word.
struct alignas(64) Setting {
  uint8_t palette = 1, start = 0, reserved[14] = {};
  uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};
constexpr Setting kSetting;

[[THALWEG_TILES]] void Load() { _tile_loadconfig(&kSetting); }
[[THALWEG_TILES]] void Release() { _tile_release(); }

}  // namespace

bool HasTiles(TileKind kind) {
  static const Has has = AskProcessor();
  return kind == TileKind::kBytes ? has.bytes : has.bfloat16;
}

TileSetting::TileSetting(bool set) : set_(set) {
  if (set_) Load();
}

TileSetting::~TileSetting() {
  if (set_) Release();
}

}  // namespace thalweg::compute
