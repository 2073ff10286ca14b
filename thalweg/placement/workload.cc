// SPDX-License-Identifier: Apache-2.0
#include "thalweg/placement/workload.h"

#include <algorithm>
#include <cmath>

namespace thalweg {
namespace {

bool IsAmount(double value) { return value >= 0 && std::isfinite(value); }

Status CheckNode(const Workload& work, int n, size_t num_devices) {
  const Workload::Node& node = work.nodes[n];
  if (node.group < 0 || node.group >= static_cast<int>(work.groups.size())) {
    return InvalidArgument("Workload: node ", n, " is of group ", node.group, ", there are ",
                           work.groups.size());
  }
  if (!node.is_source && node.seconds.size() != num_devices) {
    return InvalidArgument("Workload: node ", n, " has times for ", node.seconds.size(),
                           " devices, there are ", num_devices);
  }
  if (!std::ranges::all_of(node.seconds, IsAmount) || !std::ranges::all_of(node.values, IsAmount) ||
      !IsAmount(node.state)) {
    return InvalidArgument("Workload: node ", n, " has a time or size that is no amount");
  }
  for (const Workload::Read& read : node.reads) {
    if (read.node < 0 || read.node >= n) {
      return InvalidArgument("Workload: node ", n, " reads node ", read.node,
                             ", which does not come before it");
    }
    const Workload::Node& from = work.nodes[read.node];
    if (read.value < Workload::kOrder || read.value >= static_cast<int>(from.values.size())) {
      return InvalidArgument("Workload: node ", n, " reads value ", read.value, " of node ",
                             read.node, ", which has ", from.values.size());
    }
    if (node.is_source && (!from.is_source || from.group != node.group)) {
      return InvalidArgument("Workload: node ", n, " is a source and reads node ", read.node,
                             ", which is none of its group");
    }
  }
  return OkStatus();
}

}  // namespace

Status Workload::Validate(const Machine& machine) const {
  const size_t num_devices = static_cast<size_t>(machine.num_devices());
  for (size_t g = 0; g < groups.size(); ++g) {
    if (groups[g].may.size() != num_devices) {
      return InvalidArgument("Workload: group ", g, " says of ", groups[g].may.size(),
                             " devices whether it may be there, there are ", num_devices);
    }
    if (std::ranges::find(groups[g].may, true) == groups[g].may.end()) {
      return InvalidArgument("Workload: group ", g, " may be on no device");
    }
  }
  for (size_t n = 0; n < nodes.size(); ++n) {
    RETURN_IF_ERROR(CheckNode(*this, static_cast<int>(n), num_devices));
  }
  return OkStatus();
}

}  // namespace thalweg
