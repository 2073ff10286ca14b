// SPDX-License-Identifier: Apache-2.0
#include "thalweg/cluster/collectives/collective_leader.h"

#include <algorithm>
#include <utility>

#include "thalweg/kernel/device_name.h"

namespace thalweg {
namespace {

constexpr size_t kMostGroups = 10'000;
constexpr size_t kMostInstances = 10'000;

template <class T>
void Reply(const CollectiveLeader::Waiter<T>& waiter, Result<T> answer,
           CollectiveLeader::Answers* answers) {
  answers->push_back([done = waiter.done, answer = std::move(answer)] { done(answer); });
}

template <class Members, class T>
void ReplyAll(const Members& members, const Result<T>& answer, CollectiveLeader::Answers* answers) {
  for (const auto& member : members) Reply<T>(member.waiter, answer, answers);
}

template <class Member>
bool HasGone(const Member& member) {
  return !member.waiter.waits();
}
template <class Members>
bool HasCome(const Members& members, const std::string& device) {
  return std::any_of(members.begin(), members.end(),
                     [&](const auto& member) { return member.device == device; });
}

}  // namespace

bool CollectiveLeader::ComesBefore(const std::string& a, const std::string& b) {
  const Result<DeviceName> x = DeviceName::Parse(a);
  const Result<DeviceName> y = DeviceName::Parse(b);
  if (!x.ok() || !y.ok()) return a < b;
  return std::tie(x->job, x->replica, x->task, x->type, x->index) <
         std::tie(y->job, y->replica, y->task, y->type, y->index);
}

Status CollectiveLeader::FitsGroup(const Group& asked, const std::string& device,
                                   const OpenGroup& open) const {
  const Group& known = open.group;
  if (asked.size != known.size) {
    return InvalidArgument("group ", asked.key, " has ", known.size, " members, ", device, " says ",
                           asked.size);
  }
  if (asked.device_type != known.device_type) {
    return InvalidArgument("group ", asked.key, " is of devices of type ", known.device_type, ", ",
                           device, " says ", asked.device_type);
  }
  const bool is_member = std::any_of(known.devices.begin(), known.devices.end(),
                                     [&](const Device& d) { return d.name == device; });
  if (!open.complete || is_member) return OkStatus();
  return InvalidArgument(device, " is none of the ", known.size, " members of group ", asked.key);
}

bool CollectiveLeader::JoinGroup(const Group& asked, Device device, Waiter<Group> waiter,
                                 Answers* answers) {
  const Result<DeviceName> name = DeviceName::Parse(device.name);
  if (!name.ok() || !name->IsFull() || asked.size < 1) {
    Reply<Group>(waiter,
                 InvalidArgument("a group needs full names of devices and a size, got '",
                                 device.name, "' and ", asked.size),
                 answers);
    return false;
  }
  MutexLock lock(mutex_);
  if (groups_.size() >= kMostGroups && !groups_.contains(asked.key) && !DropGroup()) {
    Reply<Group>(
        waiter, ResourceExhausted(kMostGroups, " groups of collective operations wait for members"),
        answers);
    return false;
  }
  OpenGroup& open = groups_.try_emplace(asked.key, OpenGroup{.group = asked}).first->second;
  open.asked = ++calls_;
  std::vector<Device>& devices = open.group.devices;
  std::erase_if(open.members, HasGone<Member<Group>>);
  if (!open.complete) {
    std::erase_if(devices, [&](const Device& d) { return !HasCome(open.members, d.name); });
  }
  if (open.members.empty() && !open.complete) open.group = asked;  // all others have gone
  if (const Status fits = FitsGroup(asked, device.name, open); !fits.ok()) {
    Reply<Group>(waiter, fits, answers);
    if (open.complete) return false;
    ReplyAll<std::vector<Member<Group>>, Group>(open.members, fits, answers);
    groups_.erase(asked.key);
    return false;
  }
  std::string member = device.name;
  const bool has_restarted =
      open.complete && std::ranges::any_of(devices, [&](const Device& known) {
        return known.name == device.name && known.attributes != device.attributes &&
               !known.attributes.empty() && !device.attributes.empty();
      });
  std::erase_if(devices, [&](const Device& d) { return d.name == device.name; });
  devices.push_back(std::move(device));
  std::ranges::sort(devices, ComesBefore, &Device::name);
  open.members.push_back({std::move(member), std::move(waiter)});
  if (static_cast<int64_t>(devices.size()) < open.group.size) return false;
  open.complete = true;
  ReplyAll<std::vector<Member<Group>>, Group>(open.members, open.group, answers);
  open.members.clear();
  return has_restarted;
}

bool CollectiveLeader::DropGroup() {
  auto oldest = groups_.end();
  for (auto at = groups_.begin(); at != groups_.end(); ++at) {
    std::erase_if(at->second.members, HasGone<Member<Group>>);
    if (!at->second.members.empty()) continue;
    if (oldest == groups_.end() || at->second.asked < oldest->second.asked) oldest = at;
  }
  if (oldest == groups_.end()) return false;
  groups_.erase(oldest);
  return true;
}

Result<int> CollectiveLeader::RankIn(const Instance& asked, const std::string& device) const {
  const auto group = groups_.find(asked.group_key);
  if (group == groups_.end() || !group->second.complete) {
    return FailedPrecondition("group ", asked.group_key, " of instance ", asked.instance_key,
                              " is not complete here: CompleteGroup comes first");
  }
  if (group->second.group.size != asked.group_size) {
    return InvalidArgument("group ", asked.group_key, " has ", group->second.group.size,
                           " members, ", device, " says ", asked.group_size);
  }
  const std::vector<Device>& devices = group->second.group.devices;
  for (size_t rank = 0; rank < devices.size(); ++rank) {
    if (devices[rank].name == device) return static_cast<int>(rank);
  }
  return InvalidArgument(device, " is none of the members of group ", asked.group_key);
}

Status CollectiveLeader::FitsInstance(const Instance& asked, const std::string& device,
                                      bool is_source, const OpenInstance& open) const {
  const Instance& known = open.instance;
  const auto differs = [&](std::string_view what, const auto& own, const auto& other) {
    return InvalidArgument("instance ", asked.instance_key, " of group ", asked.group_key, ": ",
                           device, " says ", what, " ", own, ", others ", other,
                           open.complete ? ", as this server has known it since all had come: "
                                           "where the program is a new one, start the servers anew"
                                         : "");
  };
  if (asked.type != known.type) return differs("kind", asked.type, known.type);
  if (asked.dtype != known.dtype) return differs("type", asked.dtype, known.dtype);
  if (!asked.shape.IsCompatibleWith(known.shape)) {
    return differs("shape", asked.shape, known.shape);
  }
  for (const auto& [other, sends] : open.sources) {
    if (!is_source || !sends || other == device) continue;
    return InvalidArgument("instance ", asked.instance_key, " of group ", asked.group_key,
                           " has two sources, ", other, " and ", device);
  }
  return OkStatus();
}

void CollectiveLeader::JoinInstance(const Instance& asked, const std::string& device,
                                    bool is_source, Waiter<int> waiter, Answers* answers) {
  MutexLock lock(mutex_);
  const Result<int> rank = RankIn(asked, device);
  if (!rank.ok()) return Reply<int>(waiter, rank.status(), answers);
  const InstanceKey key(asked.group_key, asked.instance_key, asked.step_id);
  const auto [at, is_new] = instances_.try_emplace(key);
  OpenInstance& open = at->second;
  if (is_new) Keep(key, answers);
  std::erase_if(open.members, HasGone<Member<int>>);
  if (!open.complete) {
    std::erase_if(open.sources,
                  [&](const auto& source) { return !HasCome(open.members, source.first); });
  }
  if (open.sources.empty()) open.instance = asked;
  if (const Status fits = FitsInstance(asked, device, is_source, open); !fits.ok()) {
    Reply<int>(waiter, fits, answers);
    if (open.complete) return;
    ReplyAll<std::vector<Member<int>>, int>(open.members, fits, answers);
    open = {};
    return;
  }
  open.sources[device] = is_source;
  if (is_source) open.source_rank = *rank;
  open.members.push_back({device, std::move(waiter)});
  if (static_cast<int64_t>(open.sources.size()) < asked.group_size) return;
  open.complete = true;
  ReplyAll<std::vector<Member<int>>, int>(open.members, open.source_rank, answers);
  open.members.clear();
}

void CollectiveLeader::Keep(const InstanceKey& key, Answers* answers) {
  in_order_.push_back(key);
  if (in_order_.size() <= kMostInstances) return;
  const auto oldest = instances_.find(in_order_.front());
  ReplyAll<std::vector<Member<int>>, int>(
      oldest->second.members, Aborted("too many instances have come meanwhile"), answers);
  instances_.erase(oldest);
  in_order_.pop_front();
}

}  // namespace thalweg
