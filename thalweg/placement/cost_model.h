// SPDX-License-Identifier: Apache-2.0
// CostModel: what a node takes on a device of a machine: measured where it was, and from its shapes
// elsewhere (papers A3.2.1). MeasuredCosts: what traced steps of a graph took, node by node.
//
//   MeasuredCosts measured;
//   measured.Add("dense/MatMul", "/job:localhost/replica:0/task:0/device:CPU:0", 3e-4);
//   const CostModel costs(machine, &measured);
//   costs.Seconds(*node, 0);
//
// From shapes: a fixed time, and the longer of what its arithmetic and its bytes take at the
// device's rates, both as graph/op_costs.h counts them. A measurement on one device corrects the
// estimates for the others by the same factor.
// Ownership: machine and measurements outlive a CostModel.
// Threads: MeasuredCosts: all calls from any thread; CostModel: const members from any.
// Errors: none; what is not known counts as nothing.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "thalweg/base/mutex.h"
#include "thalweg/graph/graph.h"
#include "thalweg/placement/machine.h"

namespace thalweg {

class MeasuredCosts {
 public:
  // A mean in which the latest weigh most: an eighth, once there are so many. What took less than
  // no time is left out.
  void Add(std::string_view node, std::string_view device, double seconds) EXCLUDES(mutex_);
  std::optional<double> Find(std::string_view node, std::string_view device) const EXCLUDES(mutex_);
  // By device.
  std::map<std::string, double> All(std::string_view node) const EXCLUDES(mutex_);
  bool IsEmpty() const EXCLUDES(mutex_);

 private:
  struct Mean {
    double seconds = 0;
    int count = 0;
  };
  mutable Mutex mutex_;
  std::unordered_map<std::string, std::map<std::string, Mean, std::less<>>> by_node_
      GUARDED_BY(mutex_);
};

// Bytes of a value; dimensions that are not known count once.
double ValueBytes(DType dtype, const PartialShape& shape);

class CostModel {
 public:
  explicit CostModel(const Machine& machine, const MeasuredCosts* measured = nullptr)
      : machine_(machine), measured_(measured) {}

  // By device.
  std::vector<double> Seconds(const Node& node) const;
  double Seconds(const Node& node, int device) const { return Seconds(node)[device]; }
  // "measured on ...: 0.3 ms", or what its shapes say: for people.
  std::string Why(const Node& node, int device) const;

 private:
  // From shapes alone.
  std::vector<double> Static(const Node& node) const;

  const Machine& machine_;
  const MeasuredCosts* const measured_;
};

}  // namespace thalweg
