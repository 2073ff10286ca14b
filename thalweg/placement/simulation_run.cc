// SPDX-License-Identifier: Apache-2.0
#include "thalweg/placement/simulation_run.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

namespace thalweg {

using Home = Workload::Home;

WorkIndex::WorkIndex(const Machine& machine, const Workload& work) {
  const size_t num_nodes = work.nodes.size();
  const size_t num_devices = static_cast<size_t>(machine.num_devices());
  group_seconds.resize(work.groups.size() * num_devices);
  group_state.resize(work.groups.size());
  first_reader.resize(num_nodes + 1);
  double all_bytes = 0;
  for (size_t n = 0; n < num_nodes; ++n) {
    const Workload::Node& node = work.nodes[n];
    first_value.push_back(static_cast<int>(bytes.size()));
    bytes.insert(bytes.end(), node.values.begin(), node.values.end());
    bytes.push_back(0);
    node_of.resize(bytes.size(), static_cast<int>(n));
    first_read.push_back(static_cast<int>(reads.size()));
    for (const Workload::Read& read : node.reads) {
      reads.push_back(read.value == Workload::kOrder ? first_value[read.node + 1] - 1
                                                     : first_value[read.node] + read.value);
      ++first_reader[read.node + 1];
    }
    group_state[node.group] += node.state;
    all_bytes += std::accumulate(node.values.begin(), node.values.end(), node.state);
    if (node.is_source) continue;
    for (size_t d = 0; d < num_devices; ++d) {
      group_seconds[node.group * num_devices + d] += node.seconds[d];
    }
  }
  first_value.push_back(static_cast<int>(bytes.size()));
  first_read.push_back(static_cast<int>(reads.size()));
  std::partial_sum(first_reader.begin(), first_reader.end(), first_reader.begin());
  readers.resize(reads.size());
  std::vector<int> next(first_reader.begin(), first_reader.end() - 1);
  for (size_t n = 0; n < num_nodes; ++n) {
    for (const int value : ReadsOf(static_cast<int>(n))) {
      readers[next[node_of[value]]++] = static_cast<int>(n);
    }
  }
  for (size_t d = 0; d < num_devices; ++d) {
    may_overflow |= all_bytes > machine.device(static_cast<int>(d)).memory_limit;
  }
}

SimulationRun::SimulationRun(const Machine& machine, const Workload& work, const WorkIndex& index,
                             std::vector<int>* device_of_group)
    : machine_(machine),
      work_(work),
      index_(index),
      device_(*device_of_group),
      num_devices_(machine.num_devices()),
      waits_for_(work.nodes.size()),
      readers_left_(work.nodes.size()),
      times_(work.nodes.size()),
      arrival_(index.bytes.size() * static_cast<size_t>(num_devices_), -1.0),
      link_free_(static_cast<size_t>(num_devices_) * static_cast<size_t>(num_devices_)),
      pools_(static_cast<size_t>(machine.num_pools())),
      held_(static_cast<size_t>(num_devices_)) {
  for (size_t p = 0; p < pools_.size(); ++p) pools_[p].free = machine.places(static_cast<int>(p));
  for (size_t n = 0; n < work.nodes.size(); ++n) {
    waits_for_[n] = static_cast<int>(index.ReadsOf(static_cast<int>(n)).size());
    readers_left_[n] = static_cast<int>(index.ReadersOf(static_cast<int>(n)).size());
  }
}

void SimulationRun::Run() {
  for (size_t n = 0; n < work_.nodes.size(); ++n) {
    if (waits_for_[n] == 0) Ready(static_cast<int>(n));
  }
  while (!events_.empty()) {
    const auto [time, what, n] = events_.top();
    events_.pop();
    now_ = time;
    what == What::kFinish ? Finish(n) : Arrive(n);
  }
  // What nobody has read.
  for (size_t g = 0; g < device_.size(); ++g) {
    if (device_[g] < 0) Decide(static_cast<int>(g), ChooseForReader(static_cast<int>(g), 0));
  }
}

int SimulationRun::Home(int n) const {
  return work_.nodes[n].home == Home::kClient ? 0 : device_[work_.nodes[n].group];
}

// All that it reads has been made.
void SimulationRun::Ready(int n) {
  const Workload::Node& node = work_.nodes[n];
  if (node.is_source) {
    events_.emplace(now_, What::kFinish, n);
    return;
  }
  if (device_[node.group] < 0) Decide(node.group, Choose(n));
  const int device = device_[node.group];
  double there = now_;
  for (const int value : index_.ReadsOf(n)) there = std::max(there, Fetch(value, device));
  const DeviceModel& model = machine_.device(device);
  Pool& pool = pools_[model.pool];
  ++pool.committed;
  pool.work_ends =
      std::max(pool.work_ends, now_) + Seconds(n, device) / machine_.places(model.pool);
  events_.emplace(there, What::kArrive, n);
}

void SimulationRun::Arrive(int n) {
  Pool& pool = pools_[machine_.device(device_[work_.nodes[n].group]).pool];
  if (pool.free == 0) {
    pool.queue.push_back(n);
    return;
  }
  --pool.free;
  Start(n);
}

void SimulationRun::Start(int n) {
  times_[n].start = now_;
  if (index_.may_overflow) Hold(n, 1);
  events_.emplace(now_ + Seconds(n, device_[work_.nodes[n].group]), What::kFinish, n);
}

void SimulationRun::Finish(int n) {
  const Workload::Node& node = work_.nodes[n];
  times_[n].finish = now_;
  makespan_ = std::max(makespan_, now_);
  if (node.is_source) {
    times_[n].start = now_;
  } else {
    Pool& pool = pools_[machine_.device(device_[node.group]).pool];
    --pool.committed;
    if (pool.queue.empty()) {
      ++pool.free;
    } else {
      const int next = pool.queue.front();
      pool.queue.pop_front();
      Start(next);
    }
  }
  if (index_.may_overflow) {
    for (const int value : index_.ReadsOf(n)) {
      const int from = index_.node_of[value];
      if (--readers_left_[from] == 0 && !work_.nodes[from].is_kept) Hold(from, -1);
    }
  }
  for (const int reader : index_.ReadersOf(n)) {
    if (--waits_for_[reader] == 0) Ready(reader);
  }
}

double SimulationRun::Fetch(int value, int device) {
  const int from = index_.node_of[value];
  const Workload::Node& node = work_.nodes[from];
  const double made = times_[from].finish;
  if (node.home == Home::kAll || (node.is_source && index_.IsOrder(value))) return made;
  if (node.home == Home::kGroup && device_[node.group] < 0) {
    Decide(node.group, ChooseForReader(node.group, device));
  }
  const int home = Home(from);
  if (home == device) return made;
  double& there = arrival_[static_cast<size_t>(value) * num_devices_ + device];
  if (there >= 0) return there;
  const LinkModel& link = machine_.link(home, device);
  there = made + link.latency;
  ++transfers_;
  if (const double bytes = index_.bytes[value]; bytes > 0) {
    double& link_free = link_free_[home * num_devices_ + device];
    link_free = std::max(made, link_free) + bytes / link.bytes_per_second;
    there = link_free + link.latency;
    transferred_bytes_ += bytes;
    held_[device] += bytes;
  }
  return there;
}

void SimulationRun::Decide(int group, int device) {
  device_[group] = device;
  held_[device] += index_.group_state[group];
}

int SimulationRun::Choose(int n) const {
  const int group = work_.nodes[n].group;
  int best = -1;
  std::pair<double, double> best_cost;
  for (int d = 0; d < num_devices_; ++d) {
    if (!work_.groups[group].may[d]) continue;
    const std::pair<double, double> cost = {MissingOn(n, d), EndOn(n, d)};
    if (best >= 0 && !(cost < best_cost)) continue;
    best = d;
    best_cost = cost;
  }
  return best;
}

double SimulationRun::EndOn(int n, int device) const {
  double there = now_;
  // What this node itself sends over each link, by source.
  std::vector<double> link_free;
  for (const int value : index_.ReadsOf(n)) {
    const int from = index_.node_of[value];
    const Workload::Node& node = work_.nodes[from];
    const double made = times_[from].finish;
    if (node.home == Home::kAll || (node.is_source && index_.IsOrder(value))) continue;
    int home = Home(from);
    if (home < 0) home = ChooseForReader(node.group, device);
    if (home == device) continue;
    double arrives = arrival_[static_cast<size_t>(value) * num_devices_ + device];
    if (arrives < 0) {
      const LinkModel& link = machine_.link(home, device);
      arrives = made + link.latency;
      if (const double bytes = index_.bytes[value]; bytes > 0) {
        if (link_free.empty()) {
          link_free.resize(static_cast<size_t>(num_devices_));
          for (int d = 0; d < num_devices_; ++d)
            link_free[d] = link_free_[d * num_devices_ + device];
        }
        link_free[home] = std::max(made, link_free[home]) + bytes / link.bytes_per_second;
        arrives = link_free[home] + link.latency;
      }
    }
    there = std::max(there, arrives);
  }
  const int number = machine_.device(device).pool;
  const Pool& pool = pools_[number];
  const bool has_place = pool.committed < machine_.places(number);
  const double start = has_place ? there : std::max(there, pool.work_ends);
  return start + index_.group_seconds[work_.nodes[n].group * num_devices_ + device];
}

double SimulationRun::MissingOn(int n, int device) const {
  if (!index_.may_overflow) return 0;
  double bytes = held_[device] + index_.group_state[work_.nodes[n].group];
  for (const double made : work_.nodes[n].values) bytes += made;
  std::vector<int> come_along;  // groups that are not decided yet, once each
  for (const int value : index_.ReadsOf(n)) {
    const int from = index_.node_of[value], group = work_.nodes[from].group;
    if (const int home = Home(from); home < 0) {
      if (std::ranges::find(come_along, group) != come_along.end()) continue;
      come_along.push_back(group);
      bytes += index_.group_state[group];
    } else if (home != device && arrival_[static_cast<size_t>(value) * num_devices_ + device] < 0) {
      bytes += index_.bytes[value];
    }
  }
  return std::max(0.0, bytes - machine_.device(device).memory_limit);
}

// For a source: with its first reader where it may be there and there is room, or else the first
// where that is so.
int SimulationRun::ChooseForReader(int group, int device) const {
  const auto has_room = [&](int d) {
    return held_[d] + index_.group_state[group] <= machine_.device(d).memory_limit;
  };
  const std::vector<bool>& may = work_.groups[group].may;
  if (may[device] && has_room(device)) return device;
  int first = may[device] ? device : -1;
  for (int d = 0; d < num_devices_; ++d) {
    if (!may[d]) continue;
    if (has_room(d)) return d;
    if (first < 0) first = d;
  }
  return first;
}

// What the node's values take, on its device and, once all is over, where they were sent.
void SimulationRun::Hold(int n, double sign) {
  const bool is_source = work_.nodes[n].is_source;
  for (int v = index_.first_value[n]; v < index_.first_value[n + 1]; ++v) {
    if (!is_source) held_[Home(n)] += sign * index_.bytes[v];
    if (sign > 0) continue;
    for (int d = 0; d < num_devices_; ++d) {
      if (arrival_[static_cast<size_t>(v) * num_devices_ + d] >= 0) held_[d] -= index_.bytes[v];
    }
  }
}

std::vector<double> SimulationRun::Peaks() const {
  constexpr double kNever = std::numeric_limits<double>::infinity();
  const size_t num_devices = static_cast<size_t>(num_devices_);
  // When a value is last read on a device; below 0: it is not.
  std::vector<double> last(index_.bytes.size() * num_devices, -1);
  for (size_t n = 0; n < work_.nodes.size(); ++n) {
    const int device = device_[work_.nodes[n].group];
    for (const int value : index_.ReadsOf(static_cast<int>(n))) {
      double& end = last[static_cast<size_t>(value) * num_devices + static_cast<size_t>(device)];
      end = std::max(end, times_[n].finish);
    }
  }
  std::vector<double> peaks(num_devices);
  for (size_t g = 0; g < device_.size(); ++g) peaks[device_[g]] += index_.group_state[g];
  std::vector<std::vector<std::pair<double, double>>> changes(num_devices);  // time, bytes
  for (size_t v = 0; v < index_.bytes.size(); ++v) {
    const double bytes = index_.bytes[v];
    if (bytes == 0) continue;
    const int n = index_.node_of[v];
    const Workload::Node& node = work_.nodes[n];
    const int home = Home(n);
    double free_at_home = node.is_kept ? kNever : times_[n].finish;
    for (size_t d = 0; d < num_devices; ++d) {
      const double end = last[v * num_devices + d], arrived = arrival_[v * num_devices + d];
      if (node.home == Home::kAll) {
        if (end >= 0) peaks[d] += bytes;
      } else if (static_cast<int>(d) == home) {
        free_at_home = std::max(free_at_home, end);
      } else if (arrived >= 0) {
        const LinkModel& link = machine_.link(home, static_cast<int>(d));
        changes[d].emplace_back(arrived - link.latency - bytes / link.bytes_per_second, bytes);
        changes[d].emplace_back(std::max(end, arrived), -bytes);
        free_at_home = std::max(free_at_home, arrived);
      }
    }
    // A variable's value is its state; what is fed stays the client's.
    if (node.home == Home::kClient) peaks[0] += bytes;
    if (node.is_source) continue;
    changes[home].emplace_back(times_[n].start, bytes);
    if (free_at_home < kNever) changes[home].emplace_back(free_at_home, -bytes);
  }
  for (size_t d = 0; d < num_devices; ++d) {
    std::ranges::sort(changes[d]);  // at one moment what is freed comes first
    double held = peaks[d];
    for (const auto& [time, bytes] : changes[d]) peaks[d] = std::max(peaks[d], held += bytes);
  }
  return peaks;
}

Simulation SimulationRun::Report() const {
  Simulation report;
  report.makespan = makespan_;
  report.nodes = times_;
  report.devices.resize(static_cast<size_t>(num_devices_));
  report.transfers = transfers_;
  report.transferred_bytes = transferred_bytes_;
  for (size_t n = 0; n < work_.nodes.size(); ++n) {
    if (work_.nodes[n].is_source) continue;
    const int device = device_[work_.nodes[n].group];
    Simulation::DeviceUse& use = report.devices[device];
    use.busy += Seconds(static_cast<int>(n), device);
    use.finish = std::max(use.finish, times_[n].finish);
  }
  const std::vector<double> peaks = Peaks();
  for (int d = 0; d < num_devices_; ++d) {
    report.devices[d].peak_bytes = peaks[d];
    report.missing_bytes += std::max(0.0, peaks[d] - machine_.device(d).memory_limit);
  }
  return report;
}

}  // namespace thalweg
