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

#include <array>
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
  // The median of the latest eight counts: of a first step, whose memory is cold, and of one in
  // which the thread had to wait for its processor, it takes no notice. What took less than no time
  // is left out.
  void Add(std::string_view node, std::string_view device, double seconds) EXCLUDES(mutex_);
  std::optional<double> Find(std::string_view node, std::string_view device) const EXCLUDES(mutex_);
  // By device.
  std::map<std::string, double> All(std::string_view node) const EXCLUDES(mutex_);
  bool IsEmpty() const EXCLUDES(mutex_);

 private:
  class Latest {
   public:
    void Add(double seconds) { seconds_[count_++ % seconds_.size()] = seconds; }
    double Median() const;

   private:
    std::array<double, 8> seconds_{};
    size_t count_ = 0;
  };
  mutable Mutex mutex_;
  std::unordered_map<std::string, std::map<std::string, Latest, std::less<>>> by_node_
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
