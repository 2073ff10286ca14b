// SPDX-License-Identifier: Apache-2.0
// The exponential of a matrix. Compiled once per element type.
#include <Eigen/LU>
#include <algorithm>
#include <cmath>

#include "thalweg/compute/linalg/finite.h"

namespace thalweg::compute {
namespace {

using T = THALWEG_LINALG_TYPE;
using Real = ::Eigen::NumTraits<T>::Real;
using Matrix = RowMatrix<T>;

}  // namespace

// Scaling and squaring with the [13/13] Pade approximant (Higham 2005).
template <>
LinalgResult Function<T>::Exponential(int64_t n, const void* a, void* out) {
  return OfFinite<T>(n, a, out, [n](const auto& x, auto& y) {
    static constexpr double kPade[14] = {64764752532480000.,
                                         32382376266240000.,
                                         7771770303897600.,
                                         1187353796428800.,
                                         129060195264000.,
                                         10559470521600.,
                                         670442572800.,
                                         33522128640.,
                                         1323241920.,
                                         40840800.,
                                         960960.,
                                         16380.,
                                         182.,
                                         1.};
    const Real norm = x.cwiseAbs().colwise().sum().maxCoeff();
    int squarings = 0;
    std::frexp(norm / Real(4.25), &squarings);
    squarings = std::max(squarings, 0);
    const Matrix scaled = x * std::ldexp(Real(1), -squarings);
    const Matrix square = scaled * scaled;
    Matrix odd = Matrix::Zero(n, n), even = Matrix::Zero(n, n);
    for (int k = 12; k >= 0; k -= 2) {  // Horner, in the square
      odd = (odd * square).eval();
      even = (even * square).eval();
      odd.diagonal().array() += T(static_cast<Real>(kPade[k + 1] / kPade[0]));
      even.diagonal().array() += T(static_cast<Real>(kPade[k] / kPade[0]));
    }
    odd = (scaled * odd).eval();
    Matrix power = ::Eigen::PartialPivLU<Matrix>(even - odd).solve(even + odd);
    for (int k = 0; k < squarings; ++k) power = (power * power).eval();
    y = power;
  });
}

}  // namespace thalweg::compute
