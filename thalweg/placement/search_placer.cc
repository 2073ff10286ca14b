// SPDX-License-Identifier: Apache-2.0
#include "thalweg/placement/search_placer.h"

#include <algorithm>
#include <random>
#include <utility>

namespace thalweg {
namespace {

constexpr double kFirstSlack = 0.02;  // by how much a step may be longer at the beginning
constexpr size_t kMaxBlock = 16;      // groups that move together

// One search over the placements of a workload.
class Search {
 public:
  Search(const Simulator& simulator, const SearchOptions& options)
      : simulator_(simulator),
        options_(options),
        work_(simulator.work()),
        num_devices_(simulator.machine().num_devices()),
        random_(options.seed),
        neighbors_(work_.groups.size()) {
    for (size_t g = 0; g < work_.groups.size(); ++g) {
      if (std::ranges::count(work_.groups[g].may, true) > 1)
        movable_.push_back(static_cast<int>(g));
    }
    for (const Workload::Node& node : work_.nodes) {
      for (const Workload::Read& read : node.reads) {
        const Workload::Node& from = work_.nodes[read.node];
        if (from.group == node.group || from.home == Workload::Home::kAll) continue;
        edges_.emplace_back(from.group, node.group);
        neighbors_[from.group].push_back(node.group);
        neighbors_[node.group].push_back(from.group);
      }
    }
  }

  SearchedPlacement Run() {
    best_.device_of_group = simulator_.PlaceGreedily();
    best_.score = Score(best_.device_of_group);
    if (movable_.empty()) return best_;
    const std::vector<int> greedy = best_.device_of_group;
    if (IsSmall()) {
      TryAll(greedy);
      return best_;
    }
    for (const std::vector<int>& start : options_.starts) Try(start);
    for (int d = 0; d < num_devices_; ++d) Try(AllOn(d, greedy));
    Try(Dealt(greedy));
    Try(InStretches(greedy));
    Improve();
    return best_;
  }

 private:
  bool IsOver() const {
    return best_.evaluations >= options_.evaluations ||
           (options_.clock != nullptr && options_.clock->Now() >= options_.end);
  }
  PlacementScore Score(const std::vector<int>& device) {
    ++best_.evaluations;
    return simulator_.Score(device);
  }
  void Try(const std::vector<int>& device) {
    if (!IsOver()) Note(device, Score(device));
  }
  void Note(const std::vector<int>& device, const PlacementScore& score) {
    if (!(score < best_.score)) return;
    best_.score = score;
    best_.device_of_group = device;
  }
  size_t Below(size_t bound) { return random_() % bound; }

  std::vector<int> AllOn(int d, const std::vector<int>& otherwise) const {
    std::vector<int> device = otherwise;
    for (size_t g = 0; g < device.size(); ++g) {
      if (work_.groups[g].may[d]) device[g] = d;
    }
    return device;
  }

  // One after the other to the devices in turn, as layers of a network come.
  std::vector<int> Dealt(const std::vector<int>& otherwise) const {
    std::vector<int> device = otherwise;
    for (size_t g = 0; g < device.size(); ++g) {
      const int d = static_cast<int>(g) % num_devices_;
      if (work_.groups[g].may[d]) device[g] = d;
    }
    return device;
  }

  // The first part to the first device, and so on.
  std::vector<int> InStretches(const std::vector<int>& otherwise) const {
    std::vector<int> device = otherwise;
    for (size_t g = 0; g < device.size(); ++g) {
      const size_t d = g * static_cast<size_t>(num_devices_) / device.size();
      if (work_.groups[g].may[d]) device[g] = static_cast<int>(d);
    }
    return device;
  }

  bool IsSmall() const {
    int64_t placements = 1;
    for (const int g : movable_) {
      placements *= std::ranges::count(work_.groups[g].may, true);
      if (placements > options_.evaluations) return false;
    }
    return true;
  }

  // Counts through the devices of the movable groups.
  void TryAll(std::vector<int> device) {
    const auto next = [&](int g, int after) {
      while (++after < num_devices_ && !work_.groups[g].may[after]) {
      }
      return after;
    };
    for (const int g : movable_) device[g] = next(g, -1);
    for (bool more = true; more && !IsOver();) {
      Note(device, Score(device));
      more = false;
      for (const int g : movable_) {
        device[g] = next(g, device[g]);
        more = device[g] < num_devices_;
        if (more) break;
        device[g] = next(g, -1);
      }
    }
  }

  void Improve() {
    std::vector<int> device = best_.device_of_group;
    PlacementScore score = best_.score;
    const int first = best_.evaluations;
    while (!IsOver()) {
      std::vector<int> other = device;
      Change(&other);
      if (other == device) {
        ++best_.evaluations;  // an end, also where every change changes nothing
        continue;
      }
      const double left = 1 - static_cast<double>(best_.evaluations - first) /
                                  static_cast<double>(options_.evaluations - first);
      const PlacementScore found = Score(other);
      Note(other, found);
      const double most = score.makespan * (1 + kFirstSlack * left * left);
      if (found.missing_bytes > score.missing_bytes ||
          (found.missing_bytes == score.missing_bytes && found.makespan > most)) {
        continue;
      }
      device = std::move(other);
      score = found;
    }
  }

  void Change(std::vector<int>* device) {
    const auto move = [&](int g, int to) {
      if (work_.groups[g].may[to]) (*device)[g] = to;
    };
    const size_t kind = Below(3);
    if (kind == 0 && !edges_.empty()) {
      const auto [from, to] = edges_[Below(edges_.size())];
      if ((*device)[from] != (*device)[to]) {
        Below(2) == 0 ? move(from, (*device)[to]) : move(to, (*device)[from]);
        return;
      }
    }
    const int group = movable_[Below(movable_.size())];
    const int to = static_cast<int>(Below(static_cast<size_t>(num_devices_)));
    if (kind == 1) {
      for (const int g : Block(group, 2 + Below(kMaxBlock - 1), *device)) move(g, to);
      return;
    }
    move(group, to);
  }

  // Groups around one that are on its device.
  std::vector<int> Block(int group, size_t size, const std::vector<int>& device) const {
    std::vector<int> block = {group};
    for (size_t i = 0; i < block.size() && block.size() < size; ++i) {
      for (const int next : neighbors_[block[i]]) {
        if (block.size() >= size) break;
        if (device[next] != device[group] || std::ranges::find(block, next) != block.end())
          continue;
        block.push_back(next);
      }
    }
    return block;
  }

  const Simulator& simulator_;
  const SearchOptions& options_;
  const Workload& work_;
  const int num_devices_;
  std::mt19937_64 random_;
  std::vector<int> movable_;
  std::vector<std::pair<int, int>> edges_;   // between groups
  std::vector<std::vector<int>> neighbors_;  // of groups
  SearchedPlacement best_;
};

}  // namespace

SearchedPlacement SearchPlacer::Place(const Simulator& simulator) const {
  return Search(simulator, options_).Run();
}

}  // namespace thalweg
