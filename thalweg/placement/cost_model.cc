// SPDX-License-Identifier: Apache-2.0
#include "thalweg/placement/cost_model.h"

#include <algorithm>

#include "thalweg/graph/op_costs.h"
#include "thalweg/placement/duration_text.h"

namespace thalweg {
namespace {

// What goes in and out, as far as it is known.
double KnownBytes(const Node& node) {
  double bytes = 0;
  for (const Output& input : node.inputs()) {
    if (input.node != nullptr) bytes += ValueBytes(input.dtype(), input.shape());
  }
  for (int i = 0; i < node.num_outputs(); ++i) {
    bytes += ValueBytes(node.output_type(i), node.output_shape(i));
  }
  return bytes;
}

// An open back edge has no shape to count with.
bool IsOpen(const Node& node) {
  return std::ranges::any_of(node.inputs(), [](const Output& in) { return in.node == nullptr; });
}

}  // namespace

// Of an even number the lower one: what a node takes where nothing disturbs it.
double MeasuredCosts::Latest::Median() const {
  std::array<double, 8> sorted = seconds_;
  const auto size = static_cast<ptrdiff_t>(std::min(count_, sorted.size()));
  const auto median = sorted.begin() + (size - 1) / 2;
  std::nth_element(sorted.begin(), median, sorted.begin() + size);
  return *median;
}

void MeasuredCosts::Add(std::string_view node, std::string_view device, double seconds) {
  if (!(seconds >= 0)) return;
  MutexLock lock(mutex_);
  by_node_[std::string(node)][std::string(device)].Add(seconds);
}

std::optional<double> MeasuredCosts::Find(std::string_view node, std::string_view device) const {
  MutexLock lock(mutex_);
  const auto found = by_node_.find(std::string(node));
  if (found == by_node_.end()) return std::nullopt;
  const auto latest = found->second.find(device);
  if (latest == found->second.end()) return std::nullopt;
  return latest->second.Median();
}

std::map<std::string, double> MeasuredCosts::All(std::string_view node) const {
  MutexLock lock(mutex_);
  std::map<std::string, double> all;
  const auto found = by_node_.find(std::string(node));
  if (found == by_node_.end()) return all;
  for (const auto& [device, latest] : found->second) all[device] = latest.Median();
  return all;
}

bool MeasuredCosts::IsEmpty() const {
  MutexLock lock(mutex_);
  return by_node_.empty();
}

double ValueBytes(DType dtype, const PartialShape& shape) {
  if (!shape.known_rank()) return 0;
  double bytes = static_cast<double>(DTypeStride(dtype));
  for (const int64_t dim : shape.dims()) bytes *= dim < 0 ? 1 : static_cast<double>(dim);
  return bytes;
}

std::vector<double> CostModel::Static(const Node& node) const {
  const double flops = IsOpen(node) ? 0 : CostOf(node).flops.value_or(0);
  const double bytes = KnownBytes(node);
  std::vector<double> seconds;
  for (int d = 0; d < machine_.num_devices(); ++d) {
    const DeviceModel& model = machine_.device(d);
    seconds.push_back(model.node_seconds + std::max(flops / model.flops, bytes / model.bytes));
  }
  return seconds;
}

std::vector<double> CostModel::Seconds(const Node& node) const {
  const int num_devices = machine_.num_devices();
  std::vector<double> seconds = Static(node);
  if (measured_ == nullptr) return seconds;
  const std::map<std::string, double> measured = measured_->All(node.name());
  if (measured.empty()) return seconds;
  // The mean of how far off the estimates were where it was measured.
  double factor = 0;
  int count = 0;
  for (int d = 0; d < num_devices; ++d) {
    const auto found = measured.find(machine_.device(d).name);
    if (found == measured.end() || seconds[d] <= 0) continue;
    factor += found->second / seconds[d];
    ++count;
  }
  for (int d = 0; d < num_devices; ++d) {
    const auto found = measured.find(machine_.device(d).name);
    if (found != measured.end()) {
      seconds[d] = found->second;
    } else if (count > 0) {
      seconds[d] *= factor / count;
    }
  }
  return seconds;
}

std::string CostModel::Why(const Node& node, int device) const {
  const double seconds = Seconds(node, device);
  if (measured_ != nullptr) {
    if (measured_->Find(node.name(), machine_.device(device).name).has_value()) {
      return StrCat(DurationText(seconds), ", measured");
    }
    if (!measured_->All(node.name()).empty()) {
      return StrCat(DurationText(seconds), ", by what was measured elsewhere");
    }
  }
  const NodeCost cost = IsOpen(node) ? NodeCost() : CostOf(node);
  return StrCat(DurationText(seconds), ", from ",
                cost.flops.has_value() ? StrCat(*cost.flops, " operations") : "its fixed time",
                " and ", KnownBytes(node), " bytes");
}

}  // namespace thalweg
