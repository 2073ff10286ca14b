// SPDX-License-Identifier: Apache-2.0
// Distributions over classes that candidate samplers draw from, with TensorFlow's bits.
// Ownership: owns its weights.
// Threads: one at a time for each object.
// Errors: none; whoever makes one has checked the weights.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "thalweg/compute/random/philox_fill.h"

namespace thalweg {

// An even number below n.
inline uint32_t EvenBelow(compute::PhiloxNumbers& numbers, uint32_t n) {
  if ((n & (n - 1)) == 0) return numbers.Next() & (n - 1);
  const uint32_t rest = UINT32_MAX % n + 1;
  for (;;) {
    const uint32_t x = numbers.Next();
    if (x >= rest) return x % n;
  }
}
inline uint64_t EvenBelow64(compute::PhiloxNumbers& numbers, uint64_t n) {
  const auto next = [&] {
    const uint64_t low = numbers.Next();
    return low | static_cast<uint64_t>(numbers.Next()) << 32;
  };
  if ((n & (n - 1)) == 0) return next() & (n - 1);
  const uint64_t rest = UINT64_MAX % n + 1;
  for (;;) {
    const uint64_t x = next();
    if (x >= rest) return x % n;
  }
}

// One call at a time.
class ClassDistribution {
 public:
  virtual ~ClassDistribution() = default;
  virtual int64_t Draw(compute::PhiloxNumbers& numbers) = 0;
  virtual double Probability(int64_t value) const = 0;
  // Called after each step with the classes that were true.
  virtual void Learn(const int64_t*, int64_t) {}
};

class EvenClasses final : public ClassDistribution {
 public:
  explicit EvenClasses(int64_t range) : range_(range) {}
  int64_t Draw(compute::PhiloxNumbers& numbers) override {
    return static_cast<int64_t>(EvenBelow64(numbers, static_cast<uint64_t>(range_)));
  }
  double Probability(int64_t) const override { return 1.0f / static_cast<float>(range_); }

 private:
  const int64_t range_;
};

class ZipfClasses final : public ClassDistribution {
 public:
  explicit ZipfClasses(int64_t range)
      : range_(range), log_range_(std::log1p(static_cast<double>(range))) {}
  int64_t Draw(compute::PhiloxNumbers& numbers) override {
    const uint32_t high = numbers.Next();
    const double uniform = compute::UniformDouble(high, numbers.Next());
    return (static_cast<int64_t>(std::exp(uniform * log_range_)) - 1) % range_;
  }
  double Probability(int64_t value) const override {
    const auto v = static_cast<double>(value);
    return std::log((v + 2) / (v + 1)) / log_range_;
  }

 private:
  const int64_t range_;
  const double log_range_;
};

// Walker's alias method.
class WeightedClasses final : public ClassDistribution {
 public:
  // Weights are finite, not negative, and not all zero.
  explicit WeightedClasses(const std::vector<float>& weights)
      : weights_(weights), keep_(weights.size()), other_(weights.size()) {
    for (float w : weights) total_ += w;
    std::vector<size_t> less, more;
    for (size_t i = 0; i < weights.size(); ++i) {
      keep_[i] = weights[i] * static_cast<double>(weights.size()) / total_;
      other_[i] = static_cast<int64_t>(i);
      (keep_[i] < 1 ? less : more).push_back(i);
    }
    while (!less.empty() && !more.empty()) {
      const size_t l = less.back(), m = more.back();
      less.pop_back();
      more.pop_back();
      other_[l] = static_cast<int64_t>(m);
      keep_[m] -= 1 - keep_[l];
      (keep_[m] < 1 ? less : more).push_back(m);
    }
    for (size_t i : less) keep_[i] = 1;
    for (size_t i : more) keep_[i] = 1;
  }
  int64_t Draw(compute::PhiloxNumbers& numbers) override {
    const float threshold = compute::UniformFloat(numbers.Next());
    const uint32_t i = EvenBelow(numbers, static_cast<uint32_t>(keep_.size()));
    return threshold < keep_[i] ? i : other_[i];
  }
  double Probability(int64_t value) const override {
    if (value < 0 || value >= static_cast<int64_t>(weights_.size())) return 0;
    return weights_[static_cast<size_t>(value)] / total_;
  }

 private:
  const std::vector<float> weights_;
  double total_ = 0;
  std::vector<double> keep_;
  std::vector<int64_t> other_;
};

// Counts of what was true, from one each; a Fenwick tree of their sums.
class LearnedClasses final : public ClassDistribution {
 public:
  explicit LearnedClasses(int64_t range)
      : range_(range),
        count_(static_cast<size_t>(range), 1),
        sums_(static_cast<size_t>(range) + 1) {
    for (int64_t i = 1; i <= range; ++i) sums_[static_cast<size_t>(i)] = i & -i;
    total_ = range;
  }
  int64_t Draw(compute::PhiloxNumbers& numbers) override {
    int64_t left = EvenBelow(numbers, static_cast<uint32_t>(total_)), at = 0;
    int64_t step = 1;
    while (step * 2 <= range_) step *= 2;
    for (; step > 0; step /= 2) {
      if (at + step <= range_ && sums_[static_cast<size_t>(at + step)] <= left) {
        at += step;
        left -= sums_[static_cast<size_t>(at)];
      }
    }
    return at;
  }
  double Probability(int64_t value) const override {
    if (value < 0 || value >= range_) return 0;
    return static_cast<double>(count_[static_cast<size_t>(value)]) / static_cast<double>(total_);
  }
  void Learn(const int64_t* values, int64_t n) override {
    for (int64_t k = 0; k < n; ++k) {
      if (values[k] < 0 || values[k] >= range_ || total_ >= INT32_MAX) continue;
      ++count_[static_cast<size_t>(values[k])];
      ++total_;
      for (int64_t i = values[k] + 1; i <= range_; i += i & -i) ++sums_[static_cast<size_t>(i)];
    }
  }

 private:
  const int64_t range_;
  std::vector<int64_t> count_;
  std::vector<int64_t> sums_;
  int64_t total_ = 0;
};

}  // namespace thalweg
