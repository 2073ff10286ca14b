// SPDX-License-Identifier: Apache-2.0
#include "thalweg/cluster/collectives/collective_schedule.h"

#include <algorithm>
#include <utility>

namespace thalweg {
namespace {

constexpr int64_t kSectionAlignment = 64;  // bytes

// Round the ring each member gets a section from the one before it.
struct Ring {
  int size;
  int rank;
  int at(int steps) const { return (rank + steps + size) % size; }
  // What rank `from` sends of a section: first what is merged so far, then what all get.
  static std::string Name(bool merged, int64_t section, int from) {
    return StrCat(":", merged ? 1 : 0, ":", section, ":", from);
  }
  ScheduleStep::Buffer FromBefore(bool merged, int64_t section) const {
    return {at(-1), Name(merged, section, at(-1))};
  }
  ScheduleStep::Buffer ToNext(bool merged, int64_t section) const {
    return {at(1), Name(merged, section, rank)};
  }
};

// A section starts at the rank of its chunk, is whole at the rank before that one, and goes round
// once more.
std::vector<ScheduleStep> ReduceHops(const Ring& ring, int chunk, int64_t section, bool is_mean) {
  const bool is_first = ring.rank == chunk;
  const bool is_last = ring.at(1) == chunk;
  std::vector<ScheduleStep> hops(1);
  if (!is_first) {
    hops[0].recv = ring.FromBefore(false, section);
    hops[0].merges = true;
  }
  hops[0].divides = is_last && is_mean;
  hops[0].sends = {ring.ToNext(is_last, section)};
  if (is_last) return hops;
  ScheduleStep& result = hops.emplace_back();
  result.recv = ring.FromBefore(true, section);
  if (ring.at(2) != chunk) result.sends = {ring.ToNext(true, section)};
  return hops;
}

std::vector<BufferSection> PlanReduce(const CollectiveCall& call, int64_t elements,
                                      const BufferPlace& place) {
  const int64_t sections = int64_t{place.size} * place.rings;
  const int64_t aligned =
      std::max<int64_t>(1, kSectionAlignment / static_cast<int64_t>(DTypeSize(call.dtype)));
  const int64_t each = ((elements + sections - 1) / sections + aligned - 1) / aligned * aligned;
  const Ring ring{place.size, place.rank};
  std::vector<BufferSection> plan;
  for (int64_t s = 0; s < sections && s * each < elements; ++s) {
    BufferSection& section = plan.emplace_back();
    section.from = section.to = s * each;
    section.count = std::min(each, elements - s * each);
    section.hops = ReduceHops(ring, static_cast<int>(s / place.rings), s, call.is_mean);
  }
  return plan;
}

std::vector<BufferSection> PlanGather(int64_t elements, const BufferPlace& place) {
  const Ring ring{place.size, place.rank};
  std::vector<BufferSection> plan;
  for (int s = 0; s < place.size; ++s) {
    BufferSection& section = plan.emplace_back();
    section.to = s * elements;
    section.count = elements;
    section.begins_empty = s != place.rank;
    ScheduleStep& hop = section.hops.emplace_back();
    if (section.begins_empty) hop.recv = ring.FromBefore(false, s);
    if (ring.at(1) != s) hop.sends = {ring.ToNext(false, s)};
  }
  return plan;
}

// A binary tree of ranks in their order. A source other than rank 0 stands above ranks 0 and 1, and
// is nobody's child.
std::vector<int> TreeChildren(const BufferPlace& place) {
  std::vector<int> children;
  if (place.source != 0 && place.rank == place.source) {
    children.push_back(0);
    if (place.size > 2 && place.source != 1) children.push_back(1);
  }
  const int first = place.source == 0 ? 2 * place.rank + 1 : 2 * (place.rank + 1);
  for (int child = first; child < first + 2 && child < place.size; ++child) {
    if (child != place.source) children.push_back(child);
  }
  return children;
}
int TreeParent(const BufferPlace& place) {
  if (place.source == 0) return (place.rank - 1) / 2;
  return place.rank < 2 ? place.source : place.rank / 2 - 1;
}

std::vector<BufferSection> PlanBroadcast(int64_t elements, const BufferPlace& place) {
  const auto name = [](int from, int to) { return StrCat(":0:", from, ":", to); };
  BufferSection section;
  section.count = elements;
  ScheduleStep& hop = section.hops.emplace_back();
  if (place.rank != place.source) {
    section.begins_empty = true;
    const int parent = TreeParent(place);
    hop.recv = {parent, name(parent, place.rank)};
  }
  for (const int child : TreeChildren(place)) hop.sends.push_back({child, name(place.rank, child)});
  return {std::move(section)};
}

std::vector<BufferSection> PlanExchange(int64_t elements, const BufferPlace& place) {
  const int64_t row = elements / place.size;
  std::vector<BufferSection> plan;
  for (int peer = 0; peer < place.size; ++peer) {
    BufferSection& section = plan.emplace_back();
    section.from = section.to = peer * row;
    section.count = row;
    if (peer == place.rank) continue;
    // No colons here: so the tasks of 2.21 write it.
    section.hops.resize(2);
    section.hops[0].sends = {{peer, StrCat(place.rank, peer)}};
    section.hops[1].recv = {peer, StrCat(peer, place.rank)};
  }
  return plan;
}

}  // namespace

Result<std::vector<BufferSection>> PlanBuffers(const CollectiveCall& call, int64_t elements,
                                               const BufferPlace& place) {
  switch (call.kind) {
    case CollectiveKind::kReduce:
      return PlanReduce(call, elements, place);
    case CollectiveKind::kGather:
      return PlanGather(elements, place);
    case CollectiveKind::kBroadcast:
      if (place.source >= 0 && place.source < place.size) return PlanBroadcast(elements, place);
      return InvalidArgument("a broadcast needs one sender, group ", call.keys.group_key,
                             ", instance ", call.keys.instance_key, " has none among ", place.size,
                             " members");
    case CollectiveKind::kAllToAll:
      return PlanExchange(elements, place);
    case CollectiveKind::kReduceScatter:
      break;
  }
  return Unimplemented("a ", CollectiveKindName(call.kind),
                       " whose members are in several sessions or on tasks of TensorFlow's");
}

}  // namespace thalweg
