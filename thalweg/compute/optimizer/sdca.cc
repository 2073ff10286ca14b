// SPDX-License-Identifier: Apache-2.0
#include "thalweg/compute/optimizer/sdca.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "thalweg/compute/random/philox_fill.h"

namespace thalweg::compute {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// The root of a rising function in [low, high], by Newton's steps; where they leave the bracket, it
// is halved.
template <class F, class Slope>
double RisingRoot(double low, double high, const F& f, const Slope& slope) {
  double x = (low + high) / 2;
  for (int i = 0; i < 100; ++i) {
    const double at = f(x);
    (at > 0 ? high : low) = x;
    double next = x - at / slope(x);
    if (!(next > low && next < high)) next = (low + high) / 2;
    if (next == x) break;
    x = next;
  }
  return x;
}

// One example: its label, how much it counts, and the sum of weights times features.
struct Example {
  double label, weight, sum;
  double sign() const { return 2 * label - 1; }  // of classes
};

// The dual variable that is best for one example alone. `slope`: how much `sum` moves with it.
double BestDual(SdcaLoss loss, const Example& e, double dual, double slope) {
  const double y = e.sign();
  switch (loss) {
    case SdcaLoss::kSquared:
      return dual + (e.label - dual - e.sum) / (1 + slope);
    case SdcaLoss::kHinge:
      if (e.sum == y) return dual;
      return y * std::clamp(y * (dual + (y - e.sum) / slope), 0.0, 1.0);
    case SdcaLoss::kSmoothHinge:
      return y * std::clamp(y * (dual + (y - e.sum - dual) / (slope + 1)), 0.0, 1.0);
    case SdcaLoss::kLogistic: {
      // p of the class, such that p + sigmoid(margin after the step) = 1.
      const auto sigmoid = [&](double p) {
        return 1 / (1 + std::exp(-y * (e.sum + slope * (y * p - dual))));
      };
      return y * RisingRoot(
                     0, 1, [&](double p) { return p - 1 + sigmoid(p); },
                     [&](double p) {
                       const double s = sigmoid(p);
                       return 1 + slope * s * (1 - s);
                     });
    }
    case SdcaLoss::kPoisson: {
      // label - dual is exp(sum after the step); u is its logarithm.
      const double most = e.sum + slope * (e.label - dual);
      const double u = RisingRoot(
          std::min(-750.0, most), most, [&](double x) { return x + slope * std::exp(x) - most; },
          [&](double x) { return 1 + slope * std::exp(x); });
      return e.label - std::exp(u);
    }
  }
  return dual;
}

double PrimalLoss(SdcaLoss loss, const Example& e) {
  const double margin = e.sign() * e.sum;
  switch (loss) {
    case SdcaLoss::kSquared:
      return e.weight * (e.sum - e.label) * (e.sum - e.label) / 2;
    case SdcaLoss::kHinge:
      return e.weight * std::max(0.0, 1 - margin);
    case SdcaLoss::kSmoothHinge:
      if (margin >= 1) return 0;
      return e.weight * (margin <= 0 ? 0.5 - margin : (1 - margin) * (1 - margin) / 2);
    case SdcaLoss::kLogistic:
      return e.weight * (std::log1p(std::exp(-std::abs(margin))) + std::max(0.0, -margin));
    case SdcaLoss::kPoisson:
      return e.weight * (std::exp(e.sum) - e.sum * e.label);
  }
  return 0;
}

double TimesLog(double x) { return x > 0 ? x * std::log(x) : 0; }

double DualLoss(SdcaLoss loss, const Example& e, double dual) {
  const double share = e.sign() * dual;
  switch (loss) {
    case SdcaLoss::kSquared:
      return e.weight * dual * (dual / 2 - e.label);
    case SdcaLoss::kHinge:
      return share < 0 || share > 1 ? kInfinity : -e.weight * share;
    case SdcaLoss::kSmoothHinge:
      return share < 0 || share > 1 ? kInfinity : e.weight * (share * share / 2 - share);
    case SdcaLoss::kLogistic:
      return e.weight * (TimesLog(share) + TimesLog(1 - share));
    case SdcaLoss::kPoisson:
      if (dual > e.label) return kInfinity;
      return e.weight * (TimesLog(e.label - dual) - (e.label - dual));
  }
  return 0;
}

// What the dual variable would be were `sum` optimal.
double DualOfSum(SdcaLoss loss, const Example& e) {
  const double y = e.sign(), margin = y * e.sum;
  switch (loss) {
    case SdcaLoss::kSquared:
      return e.label - e.sum;
    case SdcaLoss::kHinge:
      return margin < 1 ? y : 0;
    case SdcaLoss::kSmoothHinge:
      return y * std::clamp(1 - margin, 0.0, 1.0);
    case SdcaLoss::kLogistic:
      return y / (1 + std::exp(margin));
    case SdcaLoss::kPoisson:
      return e.label - std::exp(e.sum);
  }
  return 0;
}

class Ascent {
 public:
  explicit Ascent(const SdcaProblem& p)
      : p_(p),
        amount_(p.l1 / p.l2),
        duals_(static_cast<size_t>(p.examples)),
        norms_(duals_.size()),
        moved_(p.weights.size()) {}

  // Everything but the dual variables goes out.
  void Begin(float* state) {
    for (int64_t i = 0; i < p_.examples; ++i) {
      const Example e = At(i, 0);
      const auto dual = static_cast<double>(state[i * 4]);
      duals_[static_cast<size_t>(i)] = dual;
      double& norm = norms_[static_cast<size_t>(i)];
      ForFeatures(i, [&](int64_t, double value) { norm += value * value; });
      norm /= p_.l2;
      state[i * 4 + 1] = static_cast<float>(PrimalLoss(p_.loss, e));
      state[i * 4 + 2] = static_cast<float>(DualLoss(p_.loss, e, dual));
      state[i * 4 + 3] = static_cast<float>(e.weight);
    }
  }

  void Move(int64_t i) {
    const Example e = At(i, p_.partitions);
    double& dual = duals_[static_cast<size_t>(i)];
    const double slope = p_.partitions * norms_[static_cast<size_t>(i)] * e.weight;
    const double best = BestDual(p_.loss, e, dual, slope);
    const double step = (best - dual) * e.weight / p_.l2;
    ForFeatures(i,
                [&](int64_t w, double value) { moved_[static_cast<size_t>(w)] += step * value; });
    dual = best;
  }

  // Sums of what each example is drawn by.
  std::vector<double> Urgencies() const {
    std::vector<double> sums;
    double sum = 0;
    for (int64_t i = 0; i < p_.examples; ++i) {
      const auto k = static_cast<size_t>(i);
      const double away = std::abs(DualOfSum(p_.loss, At(i, p_.partitions)) - duals_[k]);
      const double urgency = away * std::sqrt(norms_[k] + 1);
      sum += std::isfinite(urgency) ? urgency : 0;
      sums.push_back(sum);
    }
    return sums;
  }

  void End(float* state, float* deltas) const {
    for (int64_t i = 0; i < p_.examples; ++i) {
      state[i * 4] = static_cast<float>(duals_[static_cast<size_t>(i)]);
    }
    std::transform(moved_.begin(), moved_.end(), deltas,
                   [](double delta) { return static_cast<float>(delta); });
  }

 private:
  template <class F>
  void ForFeatures(int64_t i, const F& f) const {
    for (int64_t k = p_.starts[i]; k < p_.starts[i + 1]; ++k) {
      f(p_.features[k].weight, static_cast<double>(p_.features[k].value));
    }
  }
  // With the weights moved by `times` what this call has moved them.
  Example At(int64_t i, double times) const {
    double sum = 0;
    ForFeatures(i, [&](int64_t w, double value) {
      const auto k = static_cast<size_t>(w);
      const auto before = static_cast<double>(p_.weights[k]);
      sum += value * ShrinkWeight(before + times * moved_[k], amount_);
    });
    return {static_cast<double>(p_.labels[i]), static_cast<double>(p_.example_weights[i]), sum};
  }

  const SdcaProblem& p_;
  const double amount_;
  std::vector<double> duals_, norms_;  // norms: squared, over l2
  std::vector<double> moved_;
};

double NextUniform(PhiloxNumbers& numbers) {
  const uint32_t high = numbers.Next();
  return UniformDouble(high, numbers.Next());
}

// A whole number below n.
int64_t NextBelow(PhiloxNumbers& numbers, int64_t n) {
  return std::min(static_cast<int64_t>(NextUniform(numbers) * static_cast<double>(n)), n - 1);
}

}  // namespace

double ShrinkWeight(double weight, double amount) {
  if (weight == 0) return weight;
  return std::copysign(1.0, weight) * std::max(std::abs(weight) - amount, 0.0);
}

Status RunSdca(Work& work, const SdcaProblem& problem, float* state, float* deltas) {
  Ascent ascent(problem);
  ascent.Begin(state);
  PhiloxNumbers numbers{Philox(0x5dca)};
  std::vector<int64_t> order(static_cast<size_t>(problem.examples));
  for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int64_t>(i);
  for (int64_t round = 0; round < problem.iterations && !order.empty(); ++round) {
    if (work.cancelled()) return CancelledStep();
    if (problem.adaptive) {
      const std::vector<double> sums = ascent.Urgencies();
      if (!(sums.back() > 0)) break;  // all are optimal
      for (size_t i = 0; i < order.size(); ++i) {
        const auto it =
            std::upper_bound(sums.begin(), sums.end(), NextUniform(numbers) * sums.back());
        ascent.Move(std::min<int64_t>(it - sums.begin(), problem.examples - 1));
      }
      continue;
    }
    for (size_t i = order.size() - 1; i > 0; --i) {
      std::swap(order[i],
                order[static_cast<size_t>(NextBelow(numbers, static_cast<int64_t>(i) + 1))]);
    }
    for (const int64_t i : order) ascent.Move(i);
  }
  ascent.End(state, deltas);
  return OkStatus();
}

}  // namespace thalweg::compute
