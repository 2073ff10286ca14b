// SPDX-License-Identifier: Apache-2.0
// FrameIds: the numbers by which TensorFlow's releases name the loop frames of a step in the keys
// of tensors. 1.15 hashes the path from the outermost frame, 2.21 combines the hashes of its parts;
// tags of ours (executor/frames.h) know neither. Holds the frames of one step in one task.
//
//   FrameIds ids;
//   ids.Open(tag, parent_tag, "w/while_context");
//   ids.Find(PeerVersion::k1_15, tag + 3);       // 11525919660353993287, in iteration 3
//   ids.TagOf(11525919660353993287u);            // tag, by either rule
//
// Ownership: a value of numbers; names are not kept.
// Threads: one at a time.
// Errors: none: a frame that is not open has no number.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

namespace thalweg {

// Whose rules a task follows.
enum class PeerVersion : uint8_t { kThalweg, k1_15, k2_21 };
std::string_view PeerVersionName(PeerVersion version);

class FrameIds {
 public:
  // Tags as FrameObserver has them. The same frame may be opened again: by another part of the
  // task.
  void Open(uint64_t tag, uint64_t parent, std::string_view name);
  // The number of the frame of `tag`, whatever its iteration; none for a frame that is not open.
  std::optional<uint64_t> Find(PeerVersion version, uint64_t tag) const;
  // The tag of iteration 0.
  std::optional<uint64_t> TagOf(uint64_t id) const;

 private:
  struct Frame {
    std::string path;  // as 1.15 hashes it
    uint64_t of_1_15 = 0;
    uint64_t of_2_21 = 0;
  };
  std::unordered_map<uint64_t, Frame> frames_;   // by tag
  std::unordered_map<uint64_t, uint64_t> tags_;  // by number
};

}  // namespace thalweg
