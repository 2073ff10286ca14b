// SPDX-License-Identifier: Apache-2.0
// Cholesky factors of sparse matrices: l l^H = p a p^T, where row i of p a p^T is row order[i] of
// a. Of a, the lower part counts.
//
//   ASSIGN_OR_RETURN(const SparseCholesky plan, SparseCholesky::Plan(work, a, order));
//   RETURN_IF_ERROR(plan.Factor(work, dtype, places, values));   // plan.starts().back() of each
//
// `order` is a permutation, a square: the caller has checked both. Types: float, double and their
// complex numbers.
// Ownership: a plan owns the pattern; matrix, order and factor are the caller's.
// Threads: the caller's alone; Cancelled between rows.
// Errors: ResourceExhausted for more than 2^31 - 1 values, InvalidArgument for a matrix that is not
// positive definite.
#pragma once

#include <vector>

#include "thalweg/compute/sparse/csr.h"
#include "thalweg/compute/work.h"

namespace thalweg::compute {

class SparseCholesky {
 public:
  // `a` and `order` must live as long as the plan.
  static Result<SparseCholesky> Plan(Work& work, const CsrView& a, const int32_t* order);
  // Where the rows of l begin, and the last one ends.
  const std::vector<int32_t>& starts() const { return starts_; }
  // Columns of each row rise.
  Status Factor(Work& work, DType dtype, int32_t* places, void* values) const;

 private:
  // An element of the lower part of p a p^T.
  struct Element {
    int32_t column = 0;
    int32_t source = 0;   // which value of a
    bool turned = false;  // it is the conjugate
  };

  void Permute(const int32_t* order);
  template <class F>
  void ForRowOfFactor(int64_t row, std::vector<int32_t>& mark, const F& f) const;
  template <class T>
  Status FactorAs(Work& work, int32_t* places, T* values) const;

  CsrView a_;
  std::vector<int32_t> row_starts_;
  std::vector<Element> elements_;
  std::vector<int32_t> parents_;  // of the elimination tree; -1: a root
  std::vector<int32_t> starts_;
};

}  // namespace thalweg::compute
