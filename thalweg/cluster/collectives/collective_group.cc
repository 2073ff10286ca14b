// SPDX-License-Identifier: Apache-2.0
#include "thalweg/cluster/collectives/collective_group.h"

#include <algorithm>

#include "thalweg/base/first_error.h"
#include "thalweg/cluster/collectives/collective_leader.h"
#include "thalweg/kernel/device_name.h"
#include "thalweg/kernel/kernel_registry.h"
#include "thalweg/proto/messages.h"
#include "thalweg/tensor/tensor_proto.h"

namespace thalweg {
namespace {

// How long a member's task may take to say who it is.
constexpr std::chrono::seconds kStatusTimeout{10};

// As TensorFlow numbers them; a reduction is 0.
int64_t NumberOf(CollectiveKind kind) {
  switch (kind) {
    case CollectiveKind::kBroadcast:
      return 1;
    case CollectiveKind::kGather:
      return 2;
    case CollectiveKind::kAllToAll:
      return 4;
    default:
      return 0;
  }
}

// A gather's is that of its result.
Result<PartialShape> InstanceShape(const CollectiveCall& call) {
  if (call.kind != CollectiveKind::kGather) return call.shape;
  Dims dims = call.value.shape().dims();
  if (__builtin_mul_overflow(dims[0], call.keys.group_size, &dims[0])) {
    return InvalidArgument("the members' values joined have more than 2^63 rows");
  }
  ASSIGN_OR_RETURN(const Shape shape, Shape::Make(dims));
  return PartialShape(shape);
}

// InvalidArgument and Unimplemented for groups whose members cannot exchange buffers.
Status CheckMembers(const CollectiveGroup& group) {
  std::vector<std::string_view> tasks;
  for (const CollectiveGroup::Member& member : group.members) {
    const std::string_view task = TaskOf(member.device);
    if (std::ranges::count(tasks, task) > 0) {
      return Unimplemented(group.Kind(), " has two devices of ", task,
                           ": collective operations support only one of a task there");
    }
    tasks.push_back(task);
  }
  if (!group.Has(PeerVersion::k1_15) || !group.Has(PeerVersion::k2_21)) return OkStatus();
  std::string text;
  for (const CollectiveGroup::Member& member : group.members) {
    text += StrCat(text.empty() ? "" : ", ", TaskOf(member.device), " (",
                   PeerVersionName(member.version), ")");
  }
  return Unimplemented(
      "TensorFlow's releases name the buffers of collective operations "
      "differently, so their tasks cannot be members of one group: ",
      text);
}

}  // namespace

int CollectiveGroup::RankOf(const std::string& device) const {
  for (size_t rank = 0; rank < members.size(); ++rank) {
    if (members[rank].device == device) return static_cast<int>(rank);
  }
  return -1;
}

bool CollectiveGroup::Has(PeerVersion version) const {
  return std::ranges::any_of(members,
                             [&](const Member& member) { return member.version == version; });
}

std::string_view CollectiveGroup::Kind() const {
  return Has(PeerVersion::k1_15) || Has(PeerVersion::k2_21)
             ? "a group with tasks of TensorFlow's"
             : "a group whose members are in several sessions";
}

// One member's way to what it must know. Shared by the callbacks of its calls.
struct CollectiveGroups::Search {
  uint32_t session = 0;
  std::string leader;
  CollectiveCall call;  // without its value
  bool is_source = false;
  Result<PartialShape> shape = PartialShape();
  CancellationManager* cancellation = nullptr;
  FoundDone done;
  CollectiveGroup group;
  Found found;
  Mutex mutex;
  size_t open GUARDED_BY(mutex) = 0;
  Status failed GUARDED_BY(mutex);
};

void CollectiveGroups::Ask(const std::string& task, std::string_view method, const Message& request,
                           CancellationManager* cancellation, Answered done) {
  if (task == peers_.self()) return ask_self_(method, request, cancellation, std::move(done));
  const MessageDescriptor& response = method == "CompleteGroup"
                                          ? pb::CompleteGroupResponse::Descriptor()
                                          : pb::CompleteInstanceResponse::Descriptor();
  peers_.Call(task, method, request, response, {.cancellation = cancellation}, std::move(done));
}

void CollectiveGroups::Find(uint32_t session, const std::string& leader, const CollectiveCall& call,
                            CancellationManager* cancellation, FoundDone done) {
  const auto search = std::make_shared<Search>();
  search->session = session;
  search->leader = leader;
  search->shape = InstanceShape(call);
  search->is_source = call.kind == CollectiveKind::kBroadcast && !call.is_receiver();
  search->call = call;
  search->call.value = Tensor();
  search->cancellation = cancellation;
  search->done = std::move(done);
  if (!search->shape.ok()) return search->done(search->shape.status());
  {
    MutexLock lock(mutex_);
    open_.emplace(GroupKey(session, call.keys.group_key), call.keys.group_size);
    const auto group = groups_.find({session, call.keys.group_key});
    if (group != groups_.end()) search->found.group = group->second;
  }
  if (search->found.group == nullptr) return AskGroup(search);
  AskInstance(search);
}

void CollectiveGroups::AskGroup(const std::shared_ptr<Search>& search) {
  namespace Request = pb::CompleteGroupRequest;
  const CollectiveCall& call = search->call;
  const std::string name = call.device.ToString();
  const Device* const device = environment_.FindDevice(name);
  if (device == nullptr) return End(*search, InvalidArgument(peers_.self(), " has no ", name));
  OwnedMessage request(Request::Descriptor());
  request->SetInt(Request::kGroupKey, call.keys.group_key);
  request->SetInt(Request::kGroupSize, call.keys.group_size);
  request->SetString(Request::kDeviceType, device->type());
  request->AddString(Request::kDeviceName, name);  // 1.15 reads this, 2.21 what follows
  Message* const attributes = request->Mutable(Request::kDeviceAttributes);
  attributes->SetString(pb::DeviceAttributes::kName, name);
  attributes->SetString(pb::DeviceAttributes::kDeviceType, device->type());
  attributes->SetUint(pb::DeviceAttributes::kIncarnation, device->incarnation());
  Ask(search->leader, "CompleteGroup", *request, search->cancellation,
      [this, search](Result<OwnedMessage> response) {
        Status taken = response.ok() ? TakeGroup(**response, *search) : response.status();
        if (!taken.ok()) return End(*search, std::move(taken));
        AskMembers(search);
      });
}

Status CollectiveGroups::TakeGroup(const Message& response, Search& search) {
  namespace Response = pb::CompleteGroupResponse;
  std::vector<CollectiveGroup::Member>& members = search.group.members;
  const auto names = response.Repeated<std::string_view>(Response::kDeviceName);
  // 1.15 says names, in the order in which members came; 2.21 describes the devices by rank; a
  // leader of ours does both where it can.
  for (const std::string_view name : names) members.push_back({.device = std::string(name)});
  std::ranges::sort(members, CollectiveLeader::ComesBefore, &CollectiveGroup::Member::device);
  for (const Message* device : response.Messages(Response::kDeviceAttributes)) {
    const std::string name(device->GetString(pb::DeviceAttributes::kName));
    int rank = search.group.RankOf(name);
    if (rank < 0 && names.empty()) {
      rank = static_cast<int>(members.size());
      members.push_back({.device = name});
    }
    if (rank < 0) continue;
    members[static_cast<size_t>(rank)].incarnation =
        device->GetUint(pb::DeviceAttributes::kIncarnation);
  }
  const std::string self = search.call.device.ToString();
  if (static_cast<int64_t>(members.size()) == search.call.keys.group_size &&
      search.group.RankOf(self) >= 0) {
    return OkStatus();
  }
  return Internal("the leader ", search.leader, " says that group ", search.call.keys.group_key,
                  " has ", members.size(), " members, expected ", search.call.keys.group_size,
                  " with ", self, " among them");
}

// Who serves each member's task, and in which of its lives.
void CollectiveGroups::AskMembers(const std::shared_ptr<Search>& search) {
  std::vector<CollectiveGroup::Member>& members = search->group.members;
  {
    MutexLock lock(search->mutex);
    search->open = members.size();
  }
  const OwnedMessage ask(pb::GetStatusRequest::Descriptor());
  const auto ended = [this, search](Status status) {
    {
      MutexLock lock(search->mutex);
      KeepFirstError(std::move(status), &search->failed);
      if (--search->open > 0) return;
      status = search->failed;
    }
    if (status.ok()) status = CheckMembers(search->group);
    if (!status.ok()) return End(*search, std::move(status));
    search->found.group = std::make_shared<const CollectiveGroup>(std::move(search->group));
    AskInstance(search);
  };
  for (size_t i = 0, n = members.size(); i < n; ++i) {
    const std::string task(TaskOf(members[i].device));
    if (task == peers_.self()) {
      if (const Device* const device = environment_.FindDevice(members[i].device)) {
        members[i].incarnation = device->incarnation();
      }
      ended(OkStatus());
      continue;
    }
    peers_.Call(task, "GetStatus", *ask, pb::GetStatusResponse::Descriptor(),
                {.timeout = kStatusTimeout, .cancellation = search->cancellation},
                [this, search, i, task, ended](const Result<OwnedMessage>& status) {
                  if (!status.ok()) return ended(status.status());
                  peers_.NoteStatus(task, **status);
                  CollectiveGroup::Member& member = search->group.members[i];
                  member.version = PeerVersionOf(**status);
                  for (const Message* device :
                       (*status)->Messages(pb::GetStatusResponse::kDeviceAttributes)) {
                    if (device->GetString(pb::DeviceAttributes::kName) != member.device) continue;
                    const uint64_t now = device->GetUint(pb::DeviceAttributes::kIncarnation);
                    if (member.incarnation == 0) member.incarnation = now;
                    if (member.incarnation == now) return ended(OkStatus());
                  }
                  ended(Aborted(task, " has restarted since group ", search->call.keys.group_key,
                                " of collective operations was made"));
                });
  }
}

void CollectiveGroups::AskInstance(const std::shared_ptr<Search>& search) {
  namespace Request = pb::CompleteInstanceRequest;
  const CollectiveCall& call = search->call;
  const InstanceKey key(search->session, call.keys.group_key, call.keys.instance_key);
  bool is_known = false;
  {
    MutexLock lock(mutex_);
    groups_.emplace(GroupKey(search->session, call.keys.group_key), search->found.group);
    const auto source = sources_.find(key);
    is_known = source != sources_.end();
    if (is_known) search->found.source = source->second;
  }
  if (is_known) return End(*search, search->found);
  OwnedMessage request(Request::Descriptor());
  request->SetString(Request::kName, CollectiveKindName(call.kind));
  request->SetInt(Request::kType, NumberOf(call.kind));
  request->SetInt(Request::kDataType, static_cast<int64_t>(call.dtype));
  ShapeToProto(*search->shape, request->Mutable(Request::kShape));
  request->SetInt(Request::kGroupKey, call.keys.group_key);
  request->SetInt(Request::kGroupSize, call.keys.group_size);
  request->SetInt(Request::kInstanceKey, call.keys.instance_key);
  request->SetString(Request::kDeviceType, kCpu);
  // A leader of TensorFlow's tells the others the rings of whoever asks first. Where each task has
  // one device, the offsets change no order.
  for (int i = 0; i < call.num_rings; ++i) request->AddInt(Request::kSubdivOffset, 0);
  request->SetString(Request::kDevice, call.device.ToString());
  request->SetBool(Request::kIsSource, search->is_source);
  Ask(search->leader, "CompleteInstance", *request, search->cancellation,
      [this, search, key](const Result<OwnedMessage>& response) {
        if (!response.ok()) return End(*search, response.status());
        search->found.source =
            static_cast<int>((*response)->GetInt(pb::CompleteInstanceResponse::kSourceRank));
        {
          MutexLock lock(mutex_);
          sources_.emplace(key, search->found.source);
        }
        End(*search, search->found);
      });
}

void CollectiveGroups::End(Search& search, Result<Found> found) {
  {
    MutexLock lock(mutex_);
    open_.erase(open_.find({search.session, search.call.keys.group_key}));
  }
  search.done(std::move(found));
}

CollectiveGroups::Sought CollectiveGroups::SoughtBy(uint32_t session) {
  Sought sought;
  MutexLock lock(mutex_);
  for (const auto& [key, size] : open_) {
    if (key.first != session) continue;
    ++sought.open;
    if (!groups_.contains(key)) sought.size = std::max(sought.size, size);
  }
  for (const auto& [key, group] : groups_) {
    if (key.first != session) continue;
    sought.members.insert(sought.members.end(), group->members.begin(), group->members.end());
  }
  return sought;
}

void CollectiveGroups::Forget(uint32_t session) {
  MutexLock lock(mutex_);
  std::erase_if(groups_, [&](const auto& entry) { return entry.first.first == session; });
  std::erase_if(sources_, [&](const auto& entry) { return std::get<0>(entry.first) == session; });
}

}  // namespace thalweg
