// SPDX-License-Identifier: Apache-2.0
#include "thalweg/compute/signal/fft.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace thalweg::compute {
namespace {

using Number = FftPlan::Number;
constexpr int64_t kLargestFactor = 61;  // of a mixed-radix transform: its cost grows with them

// exp(-2 pi i k / n), the angle brought below an eighth of a turn first.
Number Root(int64_t k, int64_t n) {
  k %= n;
  const double turn = 2 * std::numbers::pi / static_cast<double>(n);
  const auto at = [&](int64_t j) {
    const double angle = turn * static_cast<double>(j);
    return Number(std::cos(angle), -std::sin(angle));
  };
  if (8 * k <= n) return at(k);
  if (2 * k > n) return std::conj(Root(n - k, n));
  if (4 * k > n) {  // mirrored at a quarter turn: k -> n/2 - k
    const double angle = turn * (static_cast<double>(n) / 2 - static_cast<double>(k));
    return Number(-std::cos(angle), -std::sin(angle));
  }
  const double angle = turn * (static_cast<double>(n) / 4 - static_cast<double>(k));
  return Number(std::sin(angle), -std::cos(angle));
}

Number Product(Number a, Number b) {
  return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}

std::vector<int64_t> FactorsOf(int64_t n) {
  std::vector<int64_t> factors;
  for (; n % 4 == 0; n /= 4) factors.push_back(4);
  for (int64_t p = 2; p * p <= n; ++p) {
    for (; n % p == 0; n /= p) factors.push_back(p);
  }
  if (n > 1) factors.push_back(n);
  return factors;
}

bool IsSmooth(const std::vector<int64_t>& factors) {
  return factors.empty() || factors.back() <= kLargestFactor;
}
// Bluestein's: a power of two.
int64_t PaddedLength(int64_t n) {
  int64_t padded = 1;
  while (padded < 2 * n - 1) padded *= 2;
  return padded;
}

// y[k + s (p j + q)] = w_(pm)^(jq) * sum over r of x[k + s (j + m r)] w_p^(qr).
void Stage(int64_t p, int64_t m, int64_t s, const Number* roots, const Number* x, Number* y) {
  const int64_t n = p * m * s;
  std::vector<Number> turned(static_cast<size_t>(p * p));
  for (int64_t q = 0; q < p; ++q) {
    for (int64_t r = 0; r < p; ++r) turned[q * p + r] = roots[q * r % p * (n / p)];
  }
  for (int64_t j = 0; j < m; ++j) {
    for (int64_t k = 0; k < s; ++k) {
      const Number* from = x + k + s * j;
      Number* to = y + k + s * p * j;
      for (int64_t q = 0; q < p; ++q) {
        Number sum = from[0];
        for (int64_t r = 1; r < p; ++r) sum += Product(from[s * m * r], turned[q * p + r]);
        to[s * q] = Product(sum, roots[j * q * s]);
      }
    }
  }
}

void Stage2(int64_t m, int64_t s, const Number* roots, const Number* x, Number* y) {
  for (int64_t j = 0; j < m; ++j) {
    const Number w = roots[j * s];
    for (int64_t k = 0; k < s; ++k) {
      const Number a = x[k + s * j], b = x[k + s * (j + m)];
      y[k + s * 2 * j] = a + b;
      y[k + s * (2 * j + 1)] = Product(a - b, w);
    }
  }
}

void Stage4(int64_t m, int64_t s, const Number* roots, const Number* x, Number* y) {
  for (int64_t j = 0; j < m; ++j) {
    const Number w1 = roots[j * s], w2 = roots[2 * j * s], w3 = roots[3 * j * s];
    for (int64_t k = 0; k < s; ++k) {
      const Number a = x[k + s * j], b = x[k + s * (j + m)], c = x[k + s * (j + 2 * m)],
                   d = x[k + s * (j + 3 * m)];
      const Number even = a + c, odd = a - c, sum = b + d;
      const Number turned(b.imag() - d.imag(), d.real() - b.real());  // -i (b - d)
      Number* to = y + k + s * 4 * j;
      to[0] = even + sum;
      to[s] = Product(odd + turned, w1);
      to[2 * s] = Product(even - sum, w2);
      to[3 * s] = Product(odd - turned, w3);
    }
  }
}

}  // namespace

int64_t FftPlan::TableNumbers(int64_t n) {
  const std::vector<int64_t> factors = FactorsOf(n);
  if (IsSmooth(factors)) return n;
  // The chirp, which grows; the filter, the roots of its length, scratch.
  return 2 * n + 3 * PaddedLength(n);
}

FftPlan::FftPlan(const Work& work, int64_t n) : work_(&work), n_(n), factors_(FactorsOf(n)) {
  if (IsSmooth(factors_)) {
    roots_.resize(static_cast<size_t>(n));
    for (int64_t k = 0; k < n && !Stops(k); ++k) roots_[static_cast<size_t>(k)] = Root(k, n);
    return;
  }
  padded_ = PaddedLength(n);
  power_.emplace_back(work, padded_);
  // w^(k^2/2); the square is kept below 2n.
  for (int64_t k = 0, square = 0; k < n; ++k) {
    chirp_.push_back(Root(square, 2 * n));
    square = (square + 2 * k + 1) % (2 * n);
  }
  if (work.cancelled()) return;
  filter_.assign(static_cast<size_t>(padded_), Number());
  for (int64_t k = 0; k < n; ++k) {
    filter_[static_cast<size_t>(k)] = std::conj(chirp_[static_cast<size_t>(k)]);
    if (k > 0) filter_[static_cast<size_t>(padded_ - k)] = filter_[static_cast<size_t>(k)];
  }
  std::vector<Number> scratch(static_cast<size_t>(power_[0].scratch()));
  power_[0].Run(filter_.data(), scratch.data(), false);
}

void FftPlan::Run(Number* row, Number* scratch, bool inverse) const {
  // The inverse is the conjugate of the transform of the conjugate.
  if (inverse) std::transform(row, row + n_, row, [](Number x) { return std::conj(x); });
  if (padded_ > 0) {
    Bluestein(row, scratch);
  } else {
    Mixed(row, scratch);
  }
  if (inverse) std::transform(row, row + n_, row, [](Number x) { return std::conj(x); });
}

void FftPlan::Mixed(Number* row, Number* scratch) const {
  Number *from = row, *to = scratch;
  int64_t s = 1, left = n_;
  for (const int64_t p : factors_) {
    if (Stops(0)) return;
    left /= p;
    if (p == 4) {
      Stage4(left, s, roots_.data(), from, to);
    } else if (p == 2) {
      Stage2(left, s, roots_.data(), from, to);
    } else {
      Stage(p, left, s, roots_.data(), from, to);
    }
    s *= p;
    std::swap(from, to);
  }
  if (from != row) std::copy_n(from, n_, row);
}

// w^(jk) = w^(j^2/2) w^(k^2/2) / w^((j-k)^2/2): a convolution.
void FftPlan::Bluestein(Number* row, Number* scratch) const {
  Number *const padded = scratch, *const rest = scratch + padded_;
  for (int64_t k = 0; k < n_; ++k) padded[k] = Product(row[k], chirp_[static_cast<size_t>(k)]);
  std::fill(padded + n_, padded + padded_, Number());
  power_[0].Run(padded, rest, false);
  for (int64_t k = 0; k < padded_; ++k) {
    padded[k] = Product(padded[k], filter_[static_cast<size_t>(k)]);
  }
  power_[0].Run(padded, rest, true);
  const double scale = 1 / static_cast<double>(padded_);
  for (int64_t k = 0; k < n_; ++k) {
    row[k] = Product(padded[k], chirp_[static_cast<size_t>(k)]) * scale;
  }
}

namespace {

int64_t ProductOf(const std::vector<int64_t>& sizes) {
  int64_t product = 1;
  for (const int64_t size : sizes) product *= size;
  return product;
}

// One element of the batch, its own block of numbers [length...] (or half of the last).
class Block {
 public:
  Block(const Work& work, const FftProblem& problem, const std::vector<FftPlan>& plans,
        Number* numbers, Number* row)
      : work_(work), problem_(problem), plans_(plans), numbers_(numbers), row_(row) {}

  template <class T>
  void Run(const void* in, void* out) {
    Load<T>(in);
    const int rank = static_cast<int>(problem_.length.size());
    const bool to_real = problem_.kind == FftKind::kComplexToReal;
    for (int axis = 0; axis < rank; ++axis) {
      if (!to_real || axis + 1 < rank) Along(axis, problem_.inverse);
    }
    double scale = 1;
    if (problem_.inverse) scale = 1 / static_cast<double>(ProductOf(problem_.length));
    if (to_real) {
      StoreReal(static_cast<T*>(out), scale);
    } else {
      Store(static_cast<std::complex<T>*>(out), scale);
    }
  }

  // Numbers held: of complex-to-real about half.
  static std::vector<int64_t> Held(const FftProblem& problem) {
    std::vector<int64_t> held = problem.length;
    if (problem.kind == FftKind::kComplexToReal) held.back() = held.back() / 2 + 1;
    return held;
  }

 private:
  template <class T>
  void Load(const void* in) {
    const int64_t width = held_.back(), in_width = problem_.input.back();
    const int64_t rows = ProductOf(held_) / std::max<int64_t>(width, 1);
    for (int64_t row = 0; row < rows; ++row) {
      const int64_t from = InputRow(row) * in_width;
      for (int64_t j = 0; j < width; ++j) {
        Number& to = numbers_[row * width + j];
        if (problem_.kind == FftKind::kRealToComplex) {
          to = static_cast<double>(static_cast<const T*>(in)[from + j]);
        } else {
          const std::complex<T> x = static_cast<const std::complex<T>*>(in)[from + j];
          to = {static_cast<double>(x.real()), static_cast<double>(x.imag())};
        }
      }
    }
  }

  // The row of the input that becomes row `row` of the block.
  int64_t InputRow(int64_t row) const {
    int64_t from = 0, stride = 1;
    for (int d = static_cast<int>(held_.size()) - 2; d >= 0; --d) {
      from += row % held_[static_cast<size_t>(d)] * stride;
      row /= held_[static_cast<size_t>(d)];
      stride *= problem_.input[static_cast<size_t>(d)];
    }
    return from;
  }

  void Along(int axis, bool inverse) {
    const auto at = static_cast<size_t>(axis);
    const int64_t n = held_[at];
    int64_t inner = 1;
    for (size_t d = at + 1; d < held_.size(); ++d) inner *= held_[d];
    const int64_t outer = ProductOf(held_) / (n * inner);
    for (int64_t o = 0; o < outer; ++o) {
      for (int64_t i = 0; i < inner; ++i) {
        if (i % kRows == 0 && (inner > 1 || o % kRows == 0) && work_.cancelled()) return;
        Number* const first = numbers_ + o * n * inner + i;
        if (inner == 1) {
          plans_[at].Run(first, row_ + n, inverse);
          continue;
        }
        for (int64_t k = 0; k < n; ++k) row_[k] = first[k * inner];
        plans_[at].Run(row_, row_ + n, inverse);
        for (int64_t k = 0; k < n; ++k) first[k * inner] = row_[k];
      }
    }
  }

  template <class T>
  void Store(std::complex<T>* out, double scale) const {
    const int64_t width = held_.back();
    const int64_t kept = problem_.kind == FftKind::kRealToComplex ? width / 2 + 1 : width;
    for (int64_t row = 0; row < ProductOf(held_) / std::max<int64_t>(width, 1); ++row) {
      for (int64_t j = 0; j < kept; ++j) {
        const Number x = numbers_[row * width + j] * scale;
        *out++ = {static_cast<T>(x.real()), static_cast<T>(x.imag())};
      }
    }
  }

  // Each row of the half spectrum, completed by its conjugates; the parts that must be real are
  // taken as real.
  template <class T>
  void StoreReal(T* out, double scale) {
    const int64_t width = held_.back(), n = problem_.length.back();
    for (int64_t row = 0; row < ProductOf(held_) / width; ++row) {
      const Number* from = numbers_ + row * width;
      row_[0] = from[0].real();
      for (int64_t k = 1; k < n; ++k) row_[k] = 2 * k <= n ? from[k] : std::conj(from[n - k]);
      if (n % 2 == 0) row_[n / 2] = from[n / 2].real();
      plans_.back().Run(row_, row_ + n, true);
      for (int64_t j = 0; j < n; ++j) *out++ = static_cast<T>(row_[j].real() * scale);
    }
  }

  static constexpr int64_t kRows = 64;  // from look to look

  const Work& work_;
  const FftProblem& problem_;
  const std::vector<FftPlan>& plans_;
  const std::vector<int64_t> held_ = Held(problem_);
  Number* const numbers_;
  Number* const row_;  // the longest row, then scratch
};

template <class T>
Status Run(Work& work, const FftProblem& problem, const void* in, void* out) {
  int64_t numbers = 0;
  for (const int64_t n : problem.length) numbers += FftPlan::TableNumbers(n);
  const Scratch<Number> tables(work, numbers);
  if (!tables) return OutOfScratch();
  std::vector<FftPlan> plans;
  int64_t row = 0;
  for (const int64_t n : problem.length) {
    plans.emplace_back(work, n);
    row = std::max(row, n + plans.back().scratch());
  }
  if (work.cancelled()) return CancelledStep();
  const bool from_real = problem.kind == FftKind::kRealToComplex;
  const bool to_real = problem.kind == FftKind::kComplexToReal;
  int64_t written = ProductOf(problem.length);
  if (from_real) written = written / problem.length.back() * (problem.length.back() / 2 + 1);
  const int64_t read_bytes =
      ProductOf(problem.input) * static_cast<int64_t>(from_real ? sizeof(T) : 2 * sizeof(T));
  const int64_t written_bytes = written * static_cast<int64_t>(to_real ? sizeof(T) : 2 * sizeof(T));
  const int64_t held = ProductOf(Block::Held(problem));
  return ForShards(work, problem.batch, [&](int64_t i) {
    Scratch<double> scratch(work, 2 * (held + row));
    if (!scratch) return false;
    auto* const numbers = reinterpret_cast<Number*>(scratch.get());
    Block block(work, problem, plans, numbers, numbers + held);
    block.template Run<T>(static_cast<const char*>(in) + i * read_bytes,
                          static_cast<char*>(out) + i * written_bytes);
    return true;
  });
}

}  // namespace

Status Fft(Work& work, const FftProblem& problem, const void* in, void* out) {
  if (problem.batch == 0 || ProductOf(problem.length) == 0) return OkStatus();
  return problem.is_double ? Run<double>(work, problem, in, out)
                           : Run<float>(work, problem, in, out);
}

}  // namespace thalweg::compute
