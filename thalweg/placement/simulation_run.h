// SPDX-License-Identifier: Apache-2.0
// SimulationRun: one run of a Simulator: its clock, its queues, and what is where. WorkIndex: a
// workload as the arrays that runs look things up in.
//
//   const WorkIndex index(machine, work);
//   SimulationRun run(machine, work, index, &device_of_group);   // -1: to be decided on the way
//   run.Run();
//
// A decision is taken at an event, from what is known by then, and a run for which it stood from
// the beginning comes to the same events: what greedy placement saw is what a simulation reports.
// Ownership: all that it is made with outlives it.
// Threads: one.
// Errors: none.
#pragma once

#include <deque>
#include <queue>
#include <span>
#include <tuple>
#include <vector>

#include "thalweg/placement/simulator.h"

namespace thalweg {

struct WorkIndex {
  WorkIndex(const Machine& machine, const Workload& work);

  // Values are numbered through; behind those of a node comes one for its order.
  std::vector<int> first_value;       // by node, and the end
  std::vector<int> node_of;           // by value
  std::vector<double> bytes;          // by value
  std::vector<int> first_read;        // by node, and the end
  std::vector<int> reads;             // values
  std::vector<int> first_reader;      // by node, and the end
  std::vector<int> readers;           // nodes, as often as they read
  std::vector<double> group_seconds;  // by group and device: all of its nodes
  std::vector<double> group_state;    // by group: bytes
  bool may_overflow = false;          // whether any placement could reach a memory limit

  std::span<const int> ReadsOf(int n) const {
    return {reads.data() + first_read[n], static_cast<size_t>(first_read[n + 1] - first_read[n])};
  }
  std::span<const int> ReadersOf(int n) const {
    return {readers.data() + first_reader[n],
            static_cast<size_t>(first_reader[n + 1] - first_reader[n])};
  }
  bool IsOrder(int value) const { return value + 1 == first_value[node_of[value] + 1]; }
};

class SimulationRun {
 public:
  SimulationRun(const Machine& machine, const Workload& work, const WorkIndex& index,
                std::vector<int>* device_of_group);
  void Run();
  double makespan() const { return makespan_; }
  // The bytes that a device holds at most, each.
  std::vector<double> Peaks() const;
  Simulation Report() const;

 private:
  enum class What : uint8_t { kFinish, kArrive };  // at the same moment the first comes first
  using Event = std::tuple<double, What, int>;     // time, what, node
  struct Pool {
    int free = 1;
    int committed = 0;     // nodes that wait or run
    double work_ends = 0;  // when these have run, if none waits for its values
    std::deque<int> queue;
  };

  int Home(int n) const;
  void Ready(int n);
  void Arrive(int n);
  void Start(int n);
  void Finish(int n);
  // When the value is on the device; sends it there if it was not.
  double Fetch(int value, int device);
  void Decide(int group, int device);
  int Choose(int n) const;
  // When the node, and its group after it, would end on the device.
  double EndOn(int n, int device) const;
  // By how much that would be too much for the device's memory.
  double MissingOn(int n, int device) const;
  int ChooseForReader(int group, int device) const;
  double Seconds(int n, int device) const {
    return work_.nodes[n].is_source ? 0 : work_.nodes[n].seconds[device];
  }
  void Hold(int n, double sign);

  const Machine& machine_;
  const Workload& work_;
  const WorkIndex& index_;
  std::vector<int>& device_;  // by group
  const int num_devices_;
  double now_ = 0;
  double makespan_ = 0;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  std::vector<int> waits_for_;     // by node: reads of nodes that have not ended
  std::vector<int> readers_left_;  // by node: that have not ended
  std::vector<Simulation::Times> times_;
  std::vector<double> arrival_;    // by value and device; below 0: not sent
  std::vector<double> link_free_;  // by source and destination
  std::vector<Pool> pools_;
  std::vector<double> held_;  // by device: bytes, as far as is known; only where it matters
  int transfers_ = 0;
  double transferred_bytes_ = 0;
};

}  // namespace thalweg
