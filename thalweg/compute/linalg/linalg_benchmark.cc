// SPDX-License-Identifier: Apache-2.0
// linalg_benchmark [FILTER]: the kernels of linalg.h on one matrix of each type and size, in one
// thread. Each row: the 10th percentile of its times, and how far the answer is from solving the
// problem, in units of the type's rounding and the matrix's norm.
#include <time.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdio>
#include <functional>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "thalweg/compute/linalg/linalg.h"
#include "thalweg/tensor/dtype.h"

namespace thalweg::compute {
namespace {

constexpr double kSecondsARow = 0.3;
constexpr int64_t kRowsLookedAt = 16;  // of a product that would take longer than what made it

double Now() {
  timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

double Time(const std::function<void()>& call) {
  std::vector<double> times;
  const double start = Now();
  for (double before = start; before - start < kSecondsARow;) {
    call();
    const double after = Now();
    times.push_back(after - before);
    before = after;
  }
  std::sort(times.begin(), times.end());
  return times[times.size() / 10];
}

using Wide = std::complex<double>;
using Matrix = std::vector<Wide>;  // row-major

template <class T>
struct Typed {
  using Real = decltype(std::abs(T()));
  static constexpr bool kComplex = !std::is_same_v<T, Real>;

  static std::vector<T> Narrow(const Matrix& m) {
    std::vector<T> narrow;
    for (const Wide& x : m) {
      if constexpr (kComplex) {
        narrow.emplace_back(static_cast<Real>(x.real()), static_cast<Real>(x.imag()));
      } else {
        narrow.push_back(static_cast<Real>(x.real()));
      }
    }
    return narrow;
  }
  static Matrix Widen(const std::vector<T>& m) { return Matrix(m.begin(), m.end()); }
};

Matrix Random(int64_t n) {
  std::minstd_rand engine(static_cast<unsigned>(n));
  std::uniform_real_distribution<double> uniform(-1, 1);
  Matrix m(static_cast<size_t>(n * n));
  for (Wide& x : m) {
    const double re = uniform(engine);
    x = Wide(re, uniform(engine));
  }
  return m;
}

Matrix SelfAdjoint(int64_t n, double diagonal) {
  const Matrix a = Random(n);
  Matrix m = a;
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j < n; ++j) m[i * n + j] = 0.5 * (a[i * n + j] + std::conj(a[j * n + i]));
    m[i * n + i] += diagonal;
  }
  return m;
}

// The largest difference of some rows of a and x diag(d) y, or x diag(d) y^H.
double Difference(int64_t n, const Matrix& a, const Matrix& x, const Matrix& d, const Matrix& y,
                  bool adjoint) {
  double largest = 0, norm = 0;
  for (const Wide& v : a) norm += std::norm(v);
  for (int64_t i = 0; i < n; i += std::max<int64_t>(1, n / kRowsLookedAt)) {
    for (int64_t j = 0; j < n; ++j) {
      Wide sum = 0;
      for (int64_t k = 0; k < n; ++k) {
        sum += x[i * n + k] * d[k] * (adjoint ? std::conj(y[j * n + k]) : y[k * n + j]);
      }
      largest = std::max(largest, std::abs(sum - a[i * n + j]));
    }
  }
  return largest / std::sqrt(norm);
}

template <class T>
class Rows {
 public:
  Rows(const char* type, const char* filter, DType dtype)
      : type_(type), filter_(filter), kernels_(*LinalgKernelsOf(dtype)) {}

  void Run(int64_t n) {
    n_ = n;
    const Matrix ones(static_cast<size_t>(n), Wide(1));
    const Matrix general = Narrowed(Random(n)), hermitian = Narrowed(SelfAdjoint(n, 0)),
                 definite = Narrowed(SelfAdjoint(n, static_cast<double>(n)));
    const auto a = Typed<T>::Narrow(general), h = Typed<T>::Narrow(hermitian),
               p = Typed<T>::Narrow(definite);
    const size_t size = static_cast<size_t>(n * n);
    std::vector<T> x(size), y(size), e(static_cast<size_t>(n)), b(static_cast<size_t>(n), T(1));
    const auto wide = [](const std::vector<T>& m) { return Typed<T>::Widen(m); };
    Row(
        "cholesky", [&] { kernels_.cholesky(n, p.data(), x.data()); },
        [&] { return Difference(n, definite, wide(x), ones, wide(x), true); });
    Row(
        "solve", [&] { kernels_.solve(n, 1, p.data(), b.data(), false, e.data()); }, nullptr);
    Row(
        "inverse", [&] { kernels_.inverse(n, p.data(), false, x.data()); }, nullptr);
    Row(
        "qr", [&] { kernels_.qr(n, n, a.data(), false, x.data(), y.data()); },
        [&] { return Difference(n, general, wide(x), ones, wide(y), false); });
    Row(
        "svd_values", [&] { kernels_.svd(n, n, a.data(), false, e.data(), nullptr, nullptr); },
        nullptr);
    Row(
        "svd", [&] { kernels_.svd(n, n, a.data(), false, e.data(), x.data(), y.data()); },
        [&] { return Difference(n, general, wide(x), wide(e), wide(y), true); });
    Row(
        "eigh", [&] { kernels_.self_adjoint_eigen(n, h.data(), e.data(), x.data()); },
        [&] { return Difference(n, hermitian, wide(x), wide(e), wide(x), true); });
    std::vector<std::complex<typename Typed<T>::Real>> values(e.size()), vectors(size);
    Row(
        "eig", [&] { kernels_.eigen(n, a.data(), values.data(), vectors.data()); }, nullptr);
    Row(
        "square_root", [&] { kernels_.square_root(n, p.data(), x.data()); },
        [&] { return Difference(n, definite, wide(x), ones, wide(x), false); });
    Row(
        "exponential", [&] { kernels_.exponential(n, a.data(), x.data()); }, nullptr);
    if (Typed<T>::kComplex) {
      Row(
          "logarithm", [&] { kernels_.logarithm(n, p.data(), x.data()); }, nullptr);
    }
  }

 private:
  Matrix Narrowed(const Matrix& m) { return Typed<T>::Widen(Typed<T>::Narrow(m)); }

  void Row(const char* what, const std::function<void()>& call,
           const std::function<double()>& error) {
    const std::string name = std::string(type_) + "_" + what + "_" + std::to_string(n_);
    if (name.find(filter_) == std::string::npos) return;
    const double seconds = Time(call);
    std::printf("%-32s %12.1f us", name.c_str(), seconds * 1e6);
    if (error) {
      std::printf("%8.2f eps", error() / std::numeric_limits<typename Typed<T>::Real>::epsilon());
    }
    std::printf("\n");
    std::fflush(stdout);
  }

  const char* type_;
  const char* filter_;
  const LinalgKernels& kernels_;
  int64_t n_ = 0;
};

void RunAll(const char* filter) {
  for (const int64_t n : {4, 32, 100, 1000}) {
    Rows<float>("float", filter, DType::kFloat).Run(n);
    Rows<double>("double", filter, DType::kDouble).Run(n);
    Rows<std::complex<float>>("complex64", filter, DType::kComplex64).Run(n);
    Rows<std::complex<double>>("complex128", filter, DType::kComplex128).Run(n);
  }
}

}  // namespace
}  // namespace thalweg::compute

int main(int argc, char** argv) {
  thalweg::compute::RunAll(argc > 1 ? argv[1] : "");
  return 0;
}
