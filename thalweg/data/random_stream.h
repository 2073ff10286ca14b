// SPDX-License-Identifier: Apache-2.0
// RandomStream: 32 random bits after the other, from two seeds, as TensorFlow's datasets draw them.
// Ownership: a value.
// Threads: one at a time.
// Errors: none.
#pragma once

#include "thalweg/base/philox.h"
#include "thalweg/base/status.h"
#include "thalweg/data/state.h"

namespace thalweg {

class RandomStream {
 public:
  RandomStream() = default;
  RandomStream(uint64_t seed, uint64_t seed2) : philox_(seed, seed2) {}

  uint32_t Next() {
    if (used_ == block_.size()) {
      block_ = philox_.Next();
      used_ = 0;
    }
    ++drawn_;
    return block_[used_++];
  }

  // How many were drawn; as many are drawn again when that is restored in a fresh stream.
  int64_t drawn() const { return drawn_; }
  void Skip(int64_t drawn) {
    philox_.Skip(static_cast<uint64_t>(drawn) / block_.size());
    drawn_ = drawn - drawn % static_cast<int64_t>(block_.size());
    while (drawn_ < drawn) Next();
  }

 private:
  Philox philox_;
  Philox::Block block_{};
  size_t used_ = 4;
  int64_t drawn_ = 0;
};

}  // namespace thalweg
