// SPDX-License-Identifier: Apache-2.0
#include "thalweg/compute/summary/histogram.h"

#include <algorithm>
#include <cmath>

#include "thalweg/compute/arithmetic.h"
#include "thalweg/compute/cancel_looks.h"

namespace thalweg::compute {
namespace {

const std::vector<double>& Limits() {
  static const std::vector<double>* const limits = [] {
    std::vector<double> positive;
    for (double v = 1e-12; v < 1e20; v *= 1.1) positive.push_back(v);
    positive.push_back(std::numeric_limits<double>::max());
    auto* all = new std::vector<double>;
    for (auto v = positive.rbegin(); v != positive.rend(); ++v) all->push_back(-*v);
    all->push_back(0);
    all->insert(all->end(), positive.begin(), positive.end());
    return all;
  }();
  return *limits;
}

template <class T>
Status Count(const Work& work, const T* values, int64_t count, Histogram& h,
             std::vector<double>& buckets) {
  const std::vector<double>& limits = Limits();
  CancelLooks looks(work);
  for (int64_t i = 0; i < count; ++i) {
    RETURN_IF_ERROR(looks.Did());
    const auto x = static_cast<double>(ValueOf(values[i]));
    if (std::isnan(x)) return InvalidArgument("Nan in summary histogram");
    if (std::isinf(x)) return InvalidArgument("Infinity in summary histogram");
    // The largest double of all belongs to the last bucket too.
    const auto bucket = std::upper_bound(limits.begin(), limits.end() - 1, x) - limits.begin();
    buckets[static_cast<size_t>(bucket)] += 1;
    h.min = std::min(h.min, x);
    h.max = std::max(h.max, x);
    h.sum += x;
    h.sum_squares += x * x;
  }
  h.num = static_cast<double>(count);
  return OkStatus();
}

}  // namespace

Result<Histogram> HistogramOf(const Work& work, DType dtype, const void* values, int64_t count) {
  Histogram h;
  const std::vector<double>& limits = Limits();
  std::vector<double> buckets(limits.size());
  RETURN_IF_ERROR(WithType<RealTypes>(dtype, "a histogram", [&]<class T>() {
    return Count(work, static_cast<const T*>(values), count, h, buckets);
  }));
  for (size_t i = 0; i < limits.size(); ++i) {
    const bool last_of_empty = i + 1 == limits.size() || buckets[i + 1] > 0;
    if (buckets[i] == 0 && !last_of_empty) continue;
    h.limits.push_back(limits[i]);
    h.counts.push_back(buckets[i]);
  }
  return h;
}

}  // namespace thalweg::compute
