// SPDX-License-Identifier: Apache-2.0
#include "thalweg/trace/memory_curve.h"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <numeric>
#include <set>
#include <tuple>
#include <utility>

namespace thalweg {
namespace {

constexpr size_t kRanks = 8;

// A block that comes or goes; of the same moment what goes comes first.
struct BlockChange {
  int64_t at = 0;
  bool comes = false;
  const MemoryBlock* block = nullptr;
};

std::vector<BlockChange> ChangesOf(const MemoryUse& use) {
  std::vector<BlockChange> changes;
  for (const MemoryBlock& block : use.residents) changes.push_back({block.begin, true, &block});
  for (const MemoryBlock& block : use.blocks) {
    if (block.end <= block.begin && !block.stays) continue;
    changes.push_back({block.begin, true, &block});
    if (!block.stays) changes.push_back({block.end, false, &block});
  }
  std::stable_sort(changes.begin(), changes.end(), [](const auto& a, const auto& b) {
    return std::tie(a.at, a.comes) < std::tie(b.at, b.comes);
  });
  return changes;
}

int64_t Total(const MemoryPoint& point) {
  return std::accumulate(point.bytes.begin(), point.bytes.end(), int64_t{0});
}

}  // namespace

std::vector<MemoryPoint> MemoryCurve(const MemoryUse& use, size_t most) {
  const std::vector<BlockChange> changes = ChangesOf(use);
  const auto ends_moment = [&](size_t i) {
    return i + 1 == changes.size() || changes[i + 1].at != changes[i].at;
  };
  size_t moments = 0;
  for (size_t i = 0; i < changes.size(); ++i) moments += ends_moment(i) ? 1 : 0;
  const size_t parts = most == 0 ? moments : std::min(moments, most);
  std::vector<MemoryPoint> points;
  points.reserve(parts);
  MemoryPoint live;
  size_t moment = 0;
  int64_t highest = 0;
  for (size_t i = 0; i < changes.size(); ++i) {
    const MemoryBlock& block = *changes[i].block;
    live.at = changes[i].at;
    live.bytes[static_cast<size_t>(block.kind)] += changes[i].comes ? block.bytes : -block.bytes;
    if (!ends_moment(i)) continue;
    // Points share the moments out evenly.
    if (moment++ == moments * points.size() / parts) {
      points.push_back(live);
      highest = Total(live);
    } else if (Total(live) > highest) {
      points.back().bytes = live.bytes;
      highest = Total(live);
    }
  }
  return points;
}

std::vector<const MemoryBlock*> LargestHolders(const MemoryUse& use, size_t most) {
  using Held = std::pair<int64_t, const MemoryBlock*>;
  std::set<Held, std::greater<>> live;
  std::set<const MemoryBlock*> found;
  int64_t least = 0;  // of the largest
  const std::vector<BlockChange> changes = ChangesOf(use);
  bool is_new = false;
  for (size_t i = 0; i < changes.size(); ++i) {
    const BlockChange& change = changes[i];
    const Held held(change.block->bytes, change.block);
    change.comes ? (void)live.insert(held) : (void)live.erase(held);
    is_new |= change.block->bytes >= least;
    const bool is_last = i + 1 == changes.size() || changes[i + 1].at != change.at;
    if (!is_last || !is_new) continue;
    is_new = false;
    size_t rank = 0;
    least = 0;
    for (auto each = live.begin(); each != live.end() && rank < kRanks; ++each) {
      found.insert(each->second);
      if (++rank == kRanks) least = each->first;
    }
  }
  std::vector<const MemoryBlock*> holders(found.begin(), found.end());
  if (holders.size() > most) {
    std::stable_sort(holders.begin(), holders.end(),
                     [](const auto* a, const auto* b) { return a->bytes > b->bytes; });
    holders.resize(most);
  }
  std::stable_sort(holders.begin(), holders.end(), [](const auto* a, const auto* b) {
    return std::tie(a->begin, b->bytes) < std::tie(b->begin, a->bytes);
  });
  return holders;
}

}  // namespace thalweg
