// SPDX-License-Identifier: Apache-2.0
// Numbers of other distributions from a Philox stream, one by one, with TensorFlow's own bits where
// the comment says so.
//
//   DoublePairs numbers(stream);                 // at the region that belongs to this number
//   const double x = DrawGamma(numbers, alpha);
//
// Nothing here loops for ever: what needs a number that is not there gives NaN.
// Ownership: a value; DrawTruncatedNormals moves the caller's stream on.
// Threads: one at a time for each object.
// Errors: none; NaN or false for parameters that are none.
#pragma once

#include <cstdint>

#include "thalweg/base/philox.h"

namespace thalweg::compute {

// Uniform and normal doubles of one stream, two from each block, the second first.
class DoublePairs {
 public:
  explicit DoublePairs(const Philox& stream) : stream_(stream) {}
  double Uniform();
  double Normal();

 private:
  Philox stream_;
  double uniform_[2] = {};
  double normal_[2] = {};
  int uniforms_ = 0;
  int normals_ = 0;
};

// How many blocks belong to each number that is drawn.
inline constexpr uint64_t kBlocksOfNumber = 256;

inline Philox StreamAt(Philox stream, uint64_t blocks) {
  stream.Skip(blocks);
  return stream;
}

// Marsaglia and Tsang 2000. TensorFlow's bits. NaN unless alpha > 0 is finite.
double DrawGamma(DoublePairs& numbers, double alpha);
// Knuth's products below 10, Hormann's transformed rejection (PTRS, 1993) above. TensorFlow's bits.
// NaN unless rate >= 0 is finite; `limit`: larger ones are drawn again.
double DrawPoisson(DoublePairs& numbers, double rate, double limit);
// Waiting times below 10 successes, Hormann's BTRS (1993) above; TensorFlow's bits of the latter.
// NaN unless count >= 0 is finite and 0 <= probability <= 1.
double DrawBinomial(DoublePairs& numbers, double count, double probability);

// Normal numbers between bounds. TensorFlow's bits.
struct TruncatedNormalRow {
  double mean = 0, deviation = 1, low = 0, high = 0;
};
// n numbers from `stream`, which moves on to the first block that was not used; T is float or
// double. False: deviation not positive, bounds not in order, both infinite, or numbers that do not
// come within a bounded number of tries.
template <class T>
bool DrawTruncatedNormals(Philox& stream, const TruncatedNormalRow& row, int64_t n, T* out);

// d sample / d alpha of a gamma distributed sample at a fixed probability (implicit
// reparametrization; Figurnov and others 2018).
double GammaSampleDerivative(double alpha, double sample);

}  // namespace thalweg::compute
