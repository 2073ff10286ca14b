// SPDX-License-Identifier: Apache-2.0
#include "thalweg/compute/image/suppress.h"

#include <algorithm>
#include <cmath>

#include "thalweg/compute/sort.h"

namespace thalweg::compute {

Result<std::vector<Selected>> Suppress(const Work& work, int64_t n, const float* scores,
                                       const SuppressRule& rule,
                                       const std::function<float(int64_t, int64_t)>& overlap) {
  std::vector<Selected> left, kept;
  for (int64_t i = 0; i < n; ++i) {
    if (scores[i] > rule.score) left.push_back({i, scores[i]});
  }
  const auto before = [](const Selected& a, const Selected& b) {
    return a.score != b.score ? a.score > b.score : a.index < b.index;
  };
  RETURN_IF_ERROR(Sort(work, left.begin(), left.end(), before));
  const float scale = rule.soft_sigma > 0 ? -0.5f / rule.soft_sigma : 0;
  while (!left.empty() && static_cast<int64_t>(kept.size()) < rule.most) {
    if (work.cancelled()) return CancelledStep();
    const Selected best = left.front();
    kept.push_back(best);
    size_t stay = 0;
    for (size_t i = 1; i < left.size(); ++i) {
      Selected next = left[i];
      const float common = overlap(next.index, best.index);
      if (scale == 0 && common > rule.overlap) continue;
      if (scale != 0) next.score *= std::exp(scale * common * common);
      if (next.score > rule.score) left[stay++] = next;
    }
    left.resize(stay);
    if (scale != 0) RETURN_IF_ERROR(Sort(work, left.begin(), left.end(), before));
  }
  return kept;
}

float BoxOverlap(const float* a, const float* b) {
  const auto side = [](const float* box, int d) {
    return std::pair(std::min(box[d], box[d + 2]), std::max(box[d], box[d + 2]));
  };
  const auto [a_top, a_bottom] = side(a, 0);
  const auto [a_left, a_right] = side(a, 1);
  const auto [b_top, b_bottom] = side(b, 0);
  const auto [b_left, b_right] = side(b, 1);
  const float of_a = (a_bottom - a_top) * (a_right - a_left);
  const float of_b = (b_bottom - b_top) * (b_right - b_left);
  if (!(of_a > 0 && of_b > 0)) return 0;
  const float height = std::max(std::min(a_bottom, b_bottom) - std::max(a_top, b_top), 0.0f);
  const float width = std::max(std::min(a_right, b_right) - std::max(a_left, b_left), 0.0f);
  const float common = height * width;
  return common / (of_a + of_b - common);
}

}  // namespace thalweg::compute
