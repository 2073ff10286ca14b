// SPDX-License-Identifier: Apache-2.0
// Tensors of random numbers from a Philox stream, with TensorFlow's own bits.
//
//   Philox stream(seed, seed2);
//   FillUniform(work, DType::kFloat, stream, out, n);      // [0, 1)
//   stream.Skip(ReservedBlocks(n));                        // as a stateful kernel does afterwards
//
// A block of the generator makes one group: four numbers, or two of 64 bits. Group g depends on
// block g alone (of a truncated normal, on the region of blocks that belongs to it), so the bits do
// not depend on who fills which groups. Types: half, bfloat16, float, double; int32, int64 (also
// unsigned, for FillBits) for the integer fills. Half and bfloat16 normals are floats, rounded.
// Ownership: the output is the caller's; a stream is a copy.
// Threads: any, each with its own Work; PhiloxNumbers one at a time.
// Errors: Unimplemented for another type; those of work.h.
#pragma once

#include <cstdint>

#include "thalweg/base/philox.h"
#include "thalweg/compute/work.h"
#include "thalweg/tensor/dtype.h"

namespace thalweg::compute {

Status FillUniform(Work& work, DType dtype, const Philox& stream, void* out, int64_t n);
Status FillNormal(Work& work, DType dtype, const Philox& stream, void* out, int64_t n);
// Normal numbers of absolute value below 2.
Status FillTruncatedNormal(Work& work, DType dtype, const Philox& stream, void* out, int64_t n);
// Integers in [low, high), for low < high.
Status FillUniformInt(Work& work, DType dtype, const Philox& stream, int64_t low, int64_t high,
                      void* out, int64_t n);
// All bits of an integer type.
Status FillBits(Work& work, DType dtype, const Philox& stream, void* out, int64_t n);

// How far a stateful kernel's stream moves on after n numbers.
inline uint64_t ReservedBlocks(int64_t n) { return static_cast<uint64_t>(n) * 256; }

// The numbers of a stream one by one.
class PhiloxNumbers {
 public:
  explicit PhiloxNumbers(const Philox& stream) : stream_(stream) {}
  uint32_t Next() {
    if (used_ == 4) {
      block_ = stream_.Next();
      used_ = 0;
    }
    return block_[used_++];
  }

 private:
  Philox stream_;
  Philox::Block block_{};
  uint32_t used_ = 4;
};

// [0, 1) from random bits.
float UniformFloat(uint32_t bits);
double UniformDouble(uint32_t high, uint32_t low);

}  // namespace thalweg::compute
