// SPDX-License-Identifier: Apache-2.0
// Discrete Fourier transforms over the last dimensions of a tensor, of any length: mixed radix, and
// Bluestein's algorithm where a prime factor is large. Computed in double whatever the type, so
// that complex64 results are rounded once.
//
//   FftPlan plan(work, n);
//   plan.Run(row, scratch, /*inverse=*/false);       // row[k] = sum over j of row[j] w^(jk)
//   RETURN_IF_ERROR(Fft(work, problem, in, out));
//
// Ownership: a plan owns its tables and points at its Work; rows and scratch are the caller's.
// Threads: any, each with its own Work; Run of one plan from several.
// Errors: those of work.h; a plan that was cancelled is unfinished, which the Work tells.
#pragma once

#include <complex>
#include <cstdint>
#include <vector>

#include "thalweg/compute/work.h"
#include "thalweg/tensor/dtype.h"

namespace thalweg::compute {

// A transform of one length. Where the work is cancelled, the plan or the row is left unfinished.
// Threads: Run from any.
class FftPlan {
 public:
  using Number = std::complex<double>;
  FftPlan(const Work& work, int64_t n);  // which outlives the plan
  // Numbers that the tables of a plan take, and what makes them. They lie outside of the work's
  // scratch: who makes a plan asks for as much first and holds it as long.
  static int64_t TableNumbers(int64_t n);
  // Numbers of scratch that Run wants.
  int64_t scratch() const { return padded_ > 0 ? 2 * padded_ : n_; }
  // In place, not scaled.
  void Run(Number* row, Number* scratch, bool inverse) const;

 private:
  // Asked for now and then in what is long.
  bool Stops(int64_t i) const { return i % kLong == 0 && n_ >= kLong && work_->cancelled(); }
  void Mixed(Number* row, Number* scratch) const;
  void Bluestein(Number* row, Number* scratch) const;

  static constexpr int64_t kLong = int64_t{1} << 16;

  const Work* work_;
  int64_t n_;
  std::vector<int64_t> factors_;
  std::vector<Number> roots_;  // w^k of the n-th root of one
  int64_t padded_ = 0;         // Bluestein: a power of two
  std::vector<Number> chirp_, filter_;
  std::vector<FftPlan> power_;  // of the padded length; one or none
};

enum class FftKind { kComplex, kRealToComplex, kComplexToReal };

struct FftProblem {
  FftKind kind = FftKind::kComplex;
  bool inverse = false;  // kComplexToReal: always; inverse transforms are scaled by 1/n
  bool is_double = false;
  int64_t batch = 1;
  // Up to three dimensions of one element of the batch: those of the input, and of the transform.
  // The input is cut where it is longer. Of complex-to-real the last input dimension counts half
  // the length and one; so does the last of a real-to-complex output.
  std::vector<int64_t> input, length;
};

// Sizes are checked by the caller: nothing negative, no input shorter than needed.
Status Fft(Work& work, const FftProblem& problem, const void* in, void* out);

}  // namespace thalweg::compute
