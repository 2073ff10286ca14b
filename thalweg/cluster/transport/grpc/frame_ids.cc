// SPDX-License-Identifier: Apache-2.0
#include "thalweg/cluster/transport/grpc/frame_ids.h"

#include <bit>
#include <cstring>

#include "thalweg/base/str_cat.h"

namespace thalweg {
namespace {

constexpr uint64_t kIterations = 0xffffffffu;

// MurmurHash2, the 64-bit variant "64A", of little-endian words.
uint64_t Hash(std::string_view text) {
  constexpr uint64_t kMultiplier = 0xc6a4a7935bd1e995u;
  constexpr uint64_t kSeed = 0xDECAFCAFFEu;
  uint64_t hash = kSeed ^ (text.size() * kMultiplier);
  while (text.size() >= 8) {
    uint64_t word;
    std::memcpy(&word, text.data(), 8);
    word *= kMultiplier;
    word ^= word >> 47;
    hash = (hash ^ (word * kMultiplier)) * kMultiplier;
    text.remove_prefix(8);
  }
  if (!text.empty()) {
    uint64_t rest = 0;
    std::memcpy(&rest, text.data(), text.size());
    hash = (hash ^ rest) * kMultiplier;
  }
  hash ^= hash >> 47;
  hash *= kMultiplier;
  return hash ^ (hash >> 47);
}
static_assert(std::endian::native == std::endian::little);

uint64_t Combine(uint64_t a, uint64_t b) {
  return a ^ (b + 0x9e3779b97f4a7800u + (a << 10) + (a >> 4));
}

}  // namespace

std::string_view PeerVersionName(PeerVersion version) {
  switch (version) {
    case PeerVersion::kThalweg:
      return "Thalweg";
    case PeerVersion::k1_15:
      return "TensorFlow 1.15";
    case PeerVersion::k2_21:
      break;
  }
  return "TensorFlow 2";
}

void FrameIds::Open(uint64_t tag, uint64_t parent, std::string_view name) {
  const auto [at, is_new] = frames_.try_emplace(tag);
  if (!is_new) return;
  static const Frame kRoot;
  const auto found = frames_.find(parent & ~kIterations);
  const Frame& outer = found == frames_.end() ? kRoot : found->second;
  const uint64_t iteration = parent & kIterations;
  Frame& frame = at->second;
  frame.path = StrCat(outer.path, ";", iteration, ";", name);
  frame.of_1_15 = Hash(frame.path);
  frame.of_2_21 = Combine(outer.of_2_21, Combine(iteration, Hash(name)));
  tags_[frame.of_1_15] = tag;
  tags_[frame.of_2_21] = tag;
}

std::optional<uint64_t> FrameIds::Find(PeerVersion version, uint64_t tag) const {
  const auto found = frames_.find(tag & ~kIterations);
  if (found == frames_.end()) return std::nullopt;
  if (version == PeerVersion::kThalweg) return found->first >> 32;
  return version == PeerVersion::k1_15 ? found->second.of_1_15 : found->second.of_2_21;
}

std::optional<uint64_t> FrameIds::TagOf(uint64_t id) const {
  const auto found = tags_.find(id);
  if (found == tags_.end()) return std::nullopt;
  return found->second;
}

}  // namespace thalweg
