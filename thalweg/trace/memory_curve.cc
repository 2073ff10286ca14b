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
  std::vector<MemoryPoint> points;
  MemoryPoint live;
  for (const BlockChange& change : ChangesOf(use)) {
    live.at = change.at;
    live.bytes[static_cast<size_t>(change.block->kind)] +=
        change.comes ? change.block->bytes : -change.block->bytes;
    if (!points.empty() && points.back().at == change.at) {
      points.back() = live;
    } else {
      points.push_back(live);
    }
  }
  if (points.size() <= most || most == 0) return points;
  std::vector<MemoryPoint> merged;
  for (size_t part = 0; part < most; ++part) {
    const auto first = points.begin() + static_cast<std::ptrdiff_t>(points.size() * part / most);
    const auto last =
        points.begin() + static_cast<std::ptrdiff_t>(points.size() * (part + 1) / most);
    merged.push_back(*std::max_element(
        first, last, [](const auto& a, const auto& b) { return Total(a) < Total(b); }));
    merged.back().at = first->at;
  }
  return merged;
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
