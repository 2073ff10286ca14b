// SPDX-License-Identifier: Apache-2.0
#include "thalweg/cluster/master/part_registration.h"

#include <algorithm>
#include <utility>

#include "thalweg/cluster/peers/loop_peers.h"
#include "thalweg/proto/messages.h"
#include "thalweg/session/collective_members.h"

namespace thalweg {

Result<PartRegistration::Registered> PartRegistration::RegisterAll() {
  // Channels know tasks by the names that they were started with.
  if (runner_.options_.cluster != nullptr) {
    RETURN_IF_ERROR(CheckCollectiveMembers(request_.parts));
    RETURN_IF_ERROR(RegisterByCalls());
    return std::move(registered_);
  }
  registered_.lacks_members = CheckCollectiveMembers(request_.parts);
  const bool lacks_members = !registered_.lacks_members.ok();
  registered_.exchanges_buffers = lacks_members || HasForeignCollectives();
  // Channels number their steps themselves.
  Status channels = lacks_members ? registered_.lacks_members : RegisterForChannels();
  if (!channels.ok()) {
    if (is_lost_) return channels;  // to ask once more would only take longer
    registered_.remote.clear();
    registered_.channel_parts.clear();
    RETURN_IF_ERROR(RegisterByCalls());
  }
  return std::move(registered_);
}

Status PartRegistration::RegisterByCalls() {
  for (const StepPartition& part : request_.parts) {
    if (!IsHere(part)) RETURN_IF_ERROR(Register(part, nullptr));
  }
  return OkStatus();
}

std::vector<StepPartition> PartRegistration::PartsHere() const {
  std::vector<StepPartition> here;
  for (const StepPartition& part : request_.parts) {
    if (IsHere(part)) here.push_back(part);
  }
  return here;
}

bool PartRegistration::IsHere(const StepPartition& part) const {
  return static_cast<size_t>(part.device) < runner_.options_.num_local_devices;
}

std::string PartRegistration::TaskOfPart(const StepPartition& part) const {
  return std::string(TaskOf(runner_.options_.device_names[part.device]));
}

bool PartRegistration::HasForeignCollectives() const {
  return std::ranges::any_of(request_.parts, [&](const StepPartition& part) {
    if (IsHere(part)) return false;
    if (runner_.context_.peers.KnownVersion(TaskOfPart(part)) == PeerVersion::kThalweg) {
      return false;
    }
    return std::ranges::any_of(part.step.graph->Nodes(), [](const Node* node) {
      return node->op_name().starts_with("Collective");
    });
  });
}

Status PartRegistration::RegisterForChannels() {
  constexpr std::chrono::nanoseconds kConnectTimeout =
      std::chrono::seconds(3);  // with who is there
  const RunnerContext& context = runner_.context_;
  std::vector<std::string> tasks;
  for (const StepPartition& part : request_.parts) {
    if (!IsHere(part)) tasks.push_back(TaskOfPart(part));
  }
  CancellationManager calls(&runner_.stopping_);
  const BudgetCancellation cancelled_with(request_.work, calls);
  const Health::Watch watch(context.health, {.tasks = std::move(tasks)},
                            [&](const Status& why) { calls.Cancel(why); });
  ChannelPlanner planner(context.channels, context.peers.self(),
                         {.timeout = std::min(Timeout(), kConnectTimeout), .cancellation = &calls});
  RETURN_IF_ERROR(context.channels.steps().AddSession(runner_.SessionNumber()));
  for (const StepPartition& part : request_.parts) {
    Status status = IsHere(part) ? planner.AddHere(*part.step.graph) : Register(part, &planner);
    if (status.ok()) continue;
    if (is_lost_ || !calls.IsCancelled()) return status;
    is_lost_ = true;
    return calls.Reason();
  }
  registered_.edges = planner.edges();
  return OkStatus();
}

std::chrono::nanoseconds PartRegistration::Timeout() const {
  const WorkBudget* const work = request_.work;
  const std::chrono::nanoseconds most = runner_.options_.register_timeout;
  if (work == nullptr || work->deadline().IsNever()) return most;
  const std::chrono::nanoseconds left = work->deadline().Remaining(*work->limits().clock);
  return std::clamp(left, std::chrono::nanoseconds(1), most);
}

Status PartRegistration::Register(const StepPartition& part, ChannelPlanner* planner) {
  namespace Request = pb::RegisterGraphRequest;
  const RunnerContext& context = runner_.context_;
  RemotePart remote{.task = TaskOfPart(part)};
  RETURN_IF_ERROR(CheckLoopVersions(*part.step.graph, remote.task, context.peers));
  ASSIGN_OR_RETURN(const OwnedMessage def, runner_.graphs_.Make(part, &remote));
  RemoteStepPart through_channel;
  if (planner != nullptr) {
    ASSIGN_OR_RETURN(through_channel, planner->MarkPart(remote.task, def.get()));
  }
  OwnedMessage request(Request::Descriptor());
  request->SetString(Request::kSessionHandle, runner_.options_.session);
  request->SetBool(Request::kCreateWorkerSessionCalled, true);
  request->Mutable(Request::kGraphDef)->CopyFrom(*def);
  request->Mutable(Request::kGraphOptions);
  request->Mutable(Request::kDebugOptions);
  // Any number: it only says that there are collective operations. The steps' numbers are this
  // master's.
  if (registered_.exchanges_buffers) request->SetInt(Request::kCollectiveGraphKey, 1);
  CancellationManager calls(&runner_.stopping_);
  const BudgetCancellation cancelled_with(request_.work, calls);
  const Health::Watch watch(context.health, {.tasks = {remote.task}},
                            [&](const Status& why) { calls.Cancel(why); });
  Result<OwnedMessage> answer = context.peers.Call(remote.task, "RegisterGraph", *request,
                                                   pb::RegisterGraphResponse::Descriptor(),
                                                   {.timeout = Timeout(), .cancellation = &calls});
  if (!answer.ok() && request_.work != nullptr) RETURN_IF_ERROR(request_.work->Look());
  if (!answer.ok() && calls.IsCancelled()) {
    is_lost_ = true;
    return calls.Reason().WithContext(StrCat("while ", remote.task, " was given its graph"));
  }
  if (!answer.ok()) return context.health.WithTaskDiagnostics(answer.status(), remote.task);
  remote.graph_handle = (*answer)->GetString(pb::RegisterGraphResponse::kGraphHandle);
  through_channel.plan = NumberOfHandle(remote.graph_handle);
  through_channel.incarnation = runner_.options_.device_incarnations[part.device];
  if (planner != nullptr) registered_.channel_parts.push_back(std::move(through_channel));
  registered_.remote.push_back(std::move(remote));
  return OkStatus();
}

}  // namespace thalweg
