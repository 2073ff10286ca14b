// SPDX-License-Identifier: Apache-2.0
#include "thalweg/compute/ctc/ctc.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <limits>
#include <memory>
#include <set>
#include <unordered_map>

namespace thalweg::compute {
namespace {

constexpr double kZero = -std::numeric_limits<double>::infinity();  // log 0

double LogSum(double a, double b) {
  if (a == kZero) return b;
  if (b == kZero) return a;
  return std::max(a, b) + std::log1p(std::exp(-std::abs(a - b)));
}

// log softmax of one row.
template <class T>
void LogProbabilities(const T* row, int64_t n, double* to) {
  double largest = kZero, sum = 0;
  for (int64_t c = 0; c < n; ++c) largest = std::max(largest, static_cast<double>(row[c]));
  for (int64_t c = 0; c < n; ++c) sum += std::exp(static_cast<double>(row[c]) - largest);
  const double offset = largest + std::log(sum);
  for (int64_t c = 0; c < n; ++c) to[c] = static_cast<double>(row[c]) - offset;
}

// Labels with blanks before, between and behind them, and which of them a path
// may reach: itself, the next, and the one after a blank when that is another
// label.
class Lattice {
 public:
  Lattice(const std::vector<int32_t>& labels, int64_t blank, bool merge_repeated)
      : places_(2 * labels.size() + 1, blank), merge_(merge_repeated) {
    for (size_t i = 0; i < labels.size(); ++i) places_[2 * i + 1] = labels[i];
    blank_ = blank;
  }
  size_t size() const { return places_.size(); }
  int64_t label(size_t u) const { return places_[u]; }
  bool MayStay(size_t u) const { return merge_ || places_[u] == blank_; }
  bool MaySkipTo(size_t u) const {
    return u > 1 && places_[u] != blank_ && !(merge_ && places_[u] == places_[u - 2]);
  }

 private:
  std::vector<int64_t> places_;
  int64_t blank_;
  const bool merge_;
};

// alpha[t][u]: log probability of the paths that are at u after step t. `alpha` has steps times
// lattice.size() numbers. Ends early when it is cancelled.
void Forward(Work& work, const Lattice& lattice, const double* y, int64_t steps, int64_t classes,
             double* alpha) {
  const size_t n = lattice.size();
  std::fill_n(alpha, n, kZero);
  for (size_t u = 0; u < std::min<size_t>(2, n); ++u) {
    alpha[u] = y[static_cast<size_t>(lattice.label(u))];
  }
  for (int64_t t = 1; t < steps && !work.cancelled(); ++t) {
    const double* before = alpha + static_cast<size_t>(t - 1) * n;
    for (size_t u = 0; u < n; ++u) {
      double sum = lattice.MayStay(u) ? before[u] : kZero;
      if (u > 0) sum = LogSum(sum, before[u - 1]);
      if (lattice.MaySkipTo(u)) sum = LogSum(sum, before[u - 2]);
      alpha[static_cast<size_t>(t) * n + u] =
          sum + y[static_cast<size_t>(t * classes + lattice.label(u))];
    }
  }
}

// beta[t][u]: log probability of the rest of the paths that are at u after step t.
void Backward(Work& work, const Lattice& lattice, const double* y, int64_t steps, int64_t classes,
              double* beta) {
  const size_t n = lattice.size();
  double* last = beta + static_cast<size_t>(steps - 1) * n;
  std::fill_n(last, n, kZero);
  last[n - 1] = 0;
  if (n > 1) last[n - 2] = 0;
  for (int64_t t = steps - 2; t >= 0 && !work.cancelled(); --t) {
    const double* after = beta + static_cast<size_t>(t + 1) * n;
    const double* p = y + static_cast<size_t>((t + 1) * classes);
    for (size_t u = 0; u < n; ++u) {
      double sum = lattice.MayStay(u) ? after[u] + p[lattice.label(u)] : kZero;
      if (u + 1 < n) sum = LogSum(sum, after[u + 1] + p[lattice.label(u + 1)]);
      if (u + 2 < n && lattice.MaySkipTo(u + 2)) {
        sum = LogSum(sum, after[u + 2] + p[lattice.label(u + 2)]);
      }
      beta[static_cast<size_t>(t) * n + u] = sum;
    }
  }
}

struct Probability {
  double total = kZero, blank = kZero,
         label = kZero;  // of all paths; of those that end so
};

// A sequence of labels: its last, and the sequence before it.
struct Entry {
  Entry* parent = nullptr;
  int64_t label = -1;
  Probability before, now;
  std::unordered_map<int64_t, Entry*> children;
  int64_t number = 0;  // in the order in which they were made

  bool active() const { return now.total != kZero; }
};

// The best entries, best first; of equal ones the older is better.
struct IsBetter {
  bool operator()(const Entry* a, const Entry* b) const {
    if (a->now.total != b->now.total) return a->now.total > b->now.total;
    return a->number < b->number;
  }
};

class Beam {
 public:
  Beam(Work& work, int64_t width, int64_t classes)
      : work_(work), width_(static_cast<size_t>(width)), classes_(classes) {
    root_.now = {0, 0, kZero};
    leaves_.insert(&root_);
  }

  Status Step(const double* y) {
    const std::vector<Entry*> branches(leaves_.begin(), leaves_.end());
    leaves_.clear();
    const int64_t blank = classes_ - 1;
    for (Entry* b : branches) b->before = b->now;
    for (Entry* b : branches) {
      if (b->parent != nullptr) {
        if (b->parent->active()) {
          const Probability& p = b->parent->before;
          b->now.label = LogSum(b->now.label, b->label == b->parent->label ? p.blank : p.total);
        }
        b->now.label += y[b->label];
      }
      b->now.blank = b->before.total + y[blank];
      b->now.total = LogSum(b->now.blank, b->now.label);
      leaves_.insert(b);
    }
    for (Entry* b : branches) {
      if (work_.cancelled()) return CancelledStep();
      if (!IsCandidate(b->before.total) || Grow(*b, y)) continue;
      return work_.cancelled() ? CancelledStep() : OutOfScratch();
    }
    return OkStatus();
  }

  const std::set<Entry*, IsBetter>& leaves() const { return leaves_; }

 private:
  bool IsCandidate(double total) const {
    return total > kZero && (leaves_.size() < width_ || total > (*leaves_.rbegin())->now.total);
  }

  // Whether there is room for one more entry. They stay until the search ends, so what they take is
  // asked for, some of them at once.
  bool HasRoom() {
    constexpr int64_t kEntries = 4096, kEntryBytes = sizeof(Entry) + 64;  // with its map node
    if (made_ % kEntries != 0) return true;
    rooms_.push_back(std::make_unique<Scratch<char>>(work_, kEntries * kEntryBytes));
    return static_cast<bool>(*rooms_.back());
  }

  // False: there is no memory, or the work is cancelled.
  bool Grow(Entry& b, const double* y) {
    for (int64_t label = 0; label + 1 < classes_; ++label) {
      if (label % kLabelsPerLook == kLabelsPerLook - 1 && work_.cancelled()) return false;
      const double total = y[label] + (label == b.label ? b.before.blank : b.before.total);
      const auto found = b.children.find(label);
      if (found != b.children.end() && found->second->active()) continue;
      if (!IsCandidate(total)) {
        if (found != b.children.end()) found->second->before = found->second->now = Probability();
        continue;
      }
      Entry*& child = b.children[label];
      if (child == nullptr) {
        if (!HasRoom()) return false;
        child = &entries_.emplace_back();
        child->parent = &b;
        child->label = label;
        child->number = ++made_;
      }
      child->now = {total, kZero, total};
      if (leaves_.size() == width_) {
        Entry* const worst = *leaves_.rbegin();
        leaves_.erase(std::prev(leaves_.end()));
        worst->now = Probability();
      }
      leaves_.insert(child);
    }
    return true;
  }

  static constexpr int64_t kLabelsPerLook = 4096;

  Work& work_;
  std::vector<std::unique_ptr<Scratch<char>>> rooms_;
  const size_t width_;
  const int64_t classes_;
  Entry root_;
  std::deque<Entry> entries_;  // all but the root: a path of them may be as long as the input
  int64_t made_ = 0;
  std::set<Entry*, IsBetter> leaves_;
};

std::vector<int64_t> LabelsOf(const Entry& leaf, bool merge_repeated) {
  std::vector<int64_t> labels;
  int64_t before = -1;
  for (const Entry* e = &leaf; e->parent != nullptr; e = e->parent) {
    if (!merge_repeated || e->label != before) labels.push_back(e->label);
    before = e->label;
  }
  std::reverse(labels.begin(), labels.end());
  return labels;
}

}  // namespace

template <class T>
Result<double> CtcLoss(Work& work, const CtcLogits<T>& logits, const std::vector<int32_t>& labels,
                       bool merge_repeated, T* gradient) {
  const int64_t steps = logits.steps, classes = logits.classes;
  const Lattice lattice(labels, classes - 1, merge_repeated);
  const size_t n = lattice.size();
  int64_t places = 0;
  if (__builtin_mul_overflow(steps, static_cast<int64_t>(n), &places) ||
      places > std::numeric_limits<int64_t>::max() / 8) {
    return OutOfScratch();
  }
  Scratch<double> y(work, steps * classes), alpha(work, places), beta(work, places);
  if (!y || !alpha || !beta) return OutOfScratch();
  for (int64_t t = 0; t < steps && !work.cancelled(); ++t) {
    LogProbabilities(logits.row(t), classes, y.get() + t * classes);
  }
  Forward(work, lattice, y.get(), steps, classes, alpha.get());
  Backward(work, lattice, y.get(), steps, classes, beta.get());
  if (work.cancelled()) return CancelledStep();
  const double *const before = alpha.get(), *const after = beta.get();
  double log_p = kZero;
  for (size_t u = 0; u < n; ++u) log_p = LogSum(log_p, before[u] + after[u]);
  if (log_p == kZero) {
    for (int64_t t = 0; t < steps; ++t) std::fill_n(gradient + t * logits.stride, classes, T(0));
    return -kZero;
  }
  std::vector<double> share(static_cast<size_t>(classes));
  for (int64_t t = 0; t < steps; ++t) {
    if (work.cancelled()) return CancelledStep();
    std::fill(share.begin(), share.end(), kZero);
    for (size_t u = 0; u < n; ++u) {
      double& sum = share[static_cast<size_t>(lattice.label(u))];
      const size_t at = static_cast<size_t>(t) * n + u;
      sum = LogSum(sum, before[at] + after[at]);
    }
    for (int64_t c = 0; c < classes; ++c) {
      gradient[t * logits.stride + c] = static_cast<T>(
          std::exp(y[t * classes + c]) - std::exp(share[static_cast<size_t>(c)] - log_p));
    }
  }
  return -log_p;
}

template <class T>
Result<std::vector<CtcPath>> CtcBeamSearch(Work& work, const CtcLogits<T>& logits, int64_t width,
                                           int64_t paths, bool merge_repeated) {
  Beam beam(work, width, logits.classes);
  std::vector<double> y(static_cast<size_t>(logits.classes));
  for (int64_t t = 0; t < logits.steps; ++t) {
    LogProbabilities(logits.row(t), logits.classes, y.data());
    RETURN_IF_ERROR(beam.Step(y.data()));
  }
  std::vector<CtcPath> found;
  for (const Entry* leaf : beam.leaves()) {
    if (static_cast<int64_t>(found.size()) == paths) break;
    found.push_back({LabelsOf(*leaf, merge_repeated), leaf->now.total});
  }
  return found;
}

template Result<double> CtcLoss(Work&, const CtcLogits<float>&, const std::vector<int32_t>&, bool,
                                float*);
template Result<double> CtcLoss(Work&, const CtcLogits<double>&, const std::vector<int32_t>&, bool,
                                double*);
template Result<std::vector<CtcPath>> CtcBeamSearch(Work&, const CtcLogits<float>&, int64_t,
                                                    int64_t, bool);
template Result<std::vector<CtcPath>> CtcBeamSearch(Work&, const CtcLogits<double>&, int64_t,
                                                    int64_t, bool);

}  // namespace thalweg::compute
