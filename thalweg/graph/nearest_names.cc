// SPDX-License-Identifier: Apache-2.0
#include "thalweg/graph/nearest_names.h"

#include <algorithm>

namespace thalweg {
namespace {

// Longer names are compared by their beginning only, so that a hostile one costs no more.
constexpr size_t kCompared = 128;

char Lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

}  // namespace

NearestNames::NearestNames(std::string_view wanted) : wanted_(wanted.substr(0, kCompared)) {
  std::transform(wanted_.begin(), wanted_.end(), wanted_.begin(), Lower);
  limit_ = static_cast<int>((wanted_.size() + 2) / 3);
}

int NearestNames::Distance(std::string_view candidate, int limit) {
  row_.resize(wanted_.size() + 1);
  for (size_t i = 0; i < row_.size(); ++i) row_[i] = static_cast<int>(i);
  for (size_t j = 0; j < candidate.size(); ++j) {
    const char c = Lower(candidate[j]);
    int diagonal = row_[0];
    row_[0] = static_cast<int>(j) + 1;
    int smallest = row_[0];
    for (size_t i = 1; i < row_.size(); ++i) {
      const int replaced = diagonal + (wanted_[i - 1] == c ? 0 : 1);
      diagonal = row_[i];
      row_[i] = std::min({replaced, row_[i] + 1, row_[i - 1] + 1});
      smallest = std::min(smallest, row_[i]);
    }
    if (smallest > limit) return smallest;
  }
  return row_.back();
}

void NearestNames::Add(std::string_view candidate) {
  candidate = candidate.substr(0, kCompared);
  const int limit = best_.size() == kKept ? best_.back().first - 1 : limit_;
  const auto length = static_cast<int>(candidate.size()) - static_cast<int>(wanted_.size());
  if (length > limit || -length > limit) return;
  const int distance = Distance(candidate, limit);
  if (distance > limit) return;
  auto place = std::upper_bound(best_.begin(), best_.end(), distance,
                                [](int d, const auto& kept) { return d < kept.first; });
  best_.emplace(place, distance, candidate);
  if (best_.size() > kKept) best_.pop_back();
}

std::string NearestNames::Listed() const {
  std::string text;
  for (const auto& [distance, name] : best_) {
    text.append(text.empty() ? "'" : ", '").append(name).append("'");
  }
  return text;
}

std::string NearestNames::ToString() const { return best_.empty() ? "" : "; nearest: " + Listed(); }

}  // namespace thalweg
