// SPDX-License-Identifier: Apache-2.0
#include "thalweg/compute/linalg/linalg.h"

#include "thalweg/base/component.h"
#include "thalweg/compute/interruption.h"
#include "thalweg/compute/linalg/linalg_api.h"
#include "thalweg/compute/linalg/not_there.h"
#include "thalweg/compute/linalg/ordering.h"
#include "thalweg/tensor/dtype.h"

namespace thalweg::compute {
namespace {

// What the component asks, after as many looks of its own as an Interruption counts: it looks once.
bool IsCancelled() {
  constexpr int kLooksOfInterruption = 32;
  try {
    for (int i = 0; i < kLooksOfInterruption; ++i) Interruption::Look();
  } catch (const Interruption::Stop&) {
    return true;
  }
  return false;
}

template <class... Arguments>
LinalgResult NotThere(Arguments...) {
  return LinalgResult::kNotThere;
}

constexpr LinalgKernels kNoKernels = {
    .cholesky = NotThere,
    .cholesky_gradient = NotThere,
    .lu = NotThere,
    .determinant = NotThere,
    .log_determinant = NotThere,
    .inverse = NotThere,
    .solve = NotThere,
    .triangular_solve = NotThere,
    .least_squares = NotThere,
    .qr = NotThere,
    .svd = NotThere,
    .self_adjoint_eigen = NotThere,
    .eigen = NotThere,
    .square_root = NotThere,
    .exponential = NotThere,
    .logarithm = NotThere,
};
constexpr LinalgApi kNoApi = {kNoKernels, kNoKernels, kNoKernels, kNoKernels, NotThere};

// Open or not for the whole process, whoever asks.
const LinalgApi& Api() {
  static const LinalgApi* const api = [] {
    const auto entry =
        reinterpret_cast<LinalgEntry>(FindComponent("libthalweg_linalg.so", "thalweg_linalg"));
    const LinalgApi* const found = entry == nullptr ? nullptr : entry(kLinalgVersion, IsCancelled);
    return found == nullptr ? &kNoApi : found;
  }();
  return *api;
}

}  // namespace

const LinalgKernels* LinalgKernelsOf(DType dtype) {
  switch (dtype) {
    case DType::kFloat:
      return &Api().of_float;
    case DType::kDouble:
      return &Api().of_double;
    case DType::kComplex64:
      return &Api().of_complex64;
    case DType::kComplex128:
      return &Api().of_complex128;
    default:
      return nullptr;
  }
}

Status NoLinalg() {
  return Unimplemented(
      "decompositions of matrices need libthalweg_linalg.so beside the library: ./dev build makes "
      "it");
}

LinalgResult MinimumDegreeOrder(int32_t n, const int32_t* starts, const int32_t* columns,
                                int32_t* order) {
  return Api().minimum_degree_order(n, starts, columns, order);
}

}  // namespace thalweg::compute
