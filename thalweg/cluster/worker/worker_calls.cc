// SPDX-License-Identifier: Apache-2.0
// The methods of a worker that run nothing: the ends of steps, what they left, tensors for other
// tasks.
#include <algorithm>

#include "thalweg/base/entropy.h"
#include "thalweg/cluster/worker/waiting_answer.h"
#include "thalweg/cluster/worker/worker.h"
#include "thalweg/kernel/peer_copies.h"
#include "thalweg/proto/messages.h"
#include "thalweg/session/run_metadata_message.h"
#include "thalweg/tensor/tensor_proto.h"

namespace thalweg {

// What a master asks that places nodes by cost.
TaskRates Worker::RatesTo(const std::vector<std::string>& tasks) {
  TaskRates rates;
  const Deadline end = Deadline::After(environment_->clock(), kMeasuringTime);
  environment_->MeasureDevices(&rates.devices);
  for (const std::string& task : tasks) {
    const std::optional<LinkModel> link = links_.To(task, end);
    if (link.has_value()) rates.links[task] = *link;
  }
  return rates;
}

Result<OwnedMessage> Worker::CleanupGraph(const Message& request, const WorkerCall&) {
  const int64_t id = request.GetInt(pb::CleanupGraphRequest::kStepId);
  steps_.Erase(id, Cancelled("step ", id, " has ended"));
  health_.Wake();
  return OwnedMessage(pb::CleanupGraphResponse::Descriptor());
}

Result<OwnedMessage> Worker::CleanupAll(const Message& request, const WorkerCall&) {
  std::vector<std::string> containers;
  for (const std::string_view name :
       request.Repeated<std::string_view>(pb::CleanupAllRequest::kContainer)) {
    containers.emplace_back(name);
  }
  environment_->ResetContainers(containers);
  return OwnedMessage(pb::CleanupAllResponse::Descriptor());
}

Result<OwnedMessage> Worker::Logging(const Message& request, const WorkerCall&) {
  namespace Request = pb::LoggingRequest;
  TransferLog& transfers = steps_.transfers();
  const auto steps = request.Repeated<int64_t>(Request::kFetchStepId);
  const bool on = request.GetBool(Request::kEnableRpcLogging);
  if (on || request.GetBool(Request::kDisableRpcLogging)) {
    if (steps.empty()) transfers.EnableAll(on);
    for (const int64_t id : steps) on ? transfers.Enable(id) : transfers.Disable(id);
  }
  if (request.GetBool(Request::kClear)) transfers.Clear();
  OwnedMessage response(pb::LoggingResponse::Descriptor());
  for (const int64_t id : steps) {
    StepStats stats;
    transfers.MoveTo(id, &stats);
    if (stats.traces.empty()) continue;
    Message* const step = response->Add(pb::LoggingResponse::kStep);
    step->SetInt(pb::LabeledStepStats::kStepId, id);
    RETURN_IF_ERROR(
        StepStatsToMessage(std::move(stats), step->Mutable(pb::LabeledStepStats::kStepStats)));
  }
  return response;
}

// Steps with collective operations count up from a number that the group's leader chooses.
Result<OwnedMessage> Worker::GetStepSequence(const Message& request, const WorkerCall&) {
  OwnedMessage response(pb::GetStepSequenceResponse::Descriptor());
  for (const int64_t key : request.Repeated<int64_t>(pb::GetStepSequenceRequest::kGraphKey)) {
    ASSIGN_OR_RETURN(const int64_t next, collectives_.sequences().Next(key));
    Message* const sequence = response->Add(pb::GetStepSequenceResponse::kStepSequence);
    sequence->SetInt(pb::StepSequence::kGraphKey, key);
    sequence->SetInt(pb::StepSequence::kNextStepId, next);
  }
  return response;
}

// A receiver's thanks, of transports that keep a tensor until then.
Result<OwnedMessage> Worker::MarkRecvFinished(const Message&, const WorkerCall&) {
  return OwnedMessage(pb::MarkRecvFinishedResponse::Descriptor());
}

// What goes from one device to another of its task may be in the memory of the first, where nobody
// else can read it.
Status Worker::CheckIsForOthers(const RendezvousKey& key, const Device& source) const {
  if (TaskOf(key.source) != TaskOf(key.destination)) return OkStatus();
  ASSIGN_OR_RETURN(const DeviceName name, DeviceName::Parse(key.destination));
  for (const auto& device : environment_->devices()) {
    if (name.type != device->name().type || name.index != device->name().index) continue;
    if (!CopiesFrom(*device, source)) continue;
    return InvalidArgument("what ", key.source, " sends to ", key.destination,
                           " is for no other task: ", key.ToString());
  }
  return OkStatus();
}

Result<std::shared_ptr<RpcStepRendezvous>> Worker::StepFor(const RendezvousKey& key, int64_t step,
                                                           int64_t request) {
  // A session that brings its own cluster calls this task otherwise; an incarnation is nobody
  // else's.
  ASSIGN_OR_RETURN(const DeviceName name, DeviceName::Parse(key.source));
  const auto& devices = environment_->devices();
  const auto found_device = std::ranges::find_if(devices, [&](const auto& device) {
    return name.type == device->name().type && name.index == device->name().index;
  });
  if (found_device == devices.end()) {
    return InvalidArgument(peers_.self(), " has no device ", key.source);
  }
  if ((*found_device)->incarnation() != key.incarnation && TaskOf(key.source) != peers_.self()) {
    return Aborted(peers_.self(), " has no device ", key.source,
                   " of that incarnation: it is another task, or has restarted since the graph was "
                   "made");
  }
  if ((*found_device)->incarnation() != key.incarnation) {
    return Aborted(peers_.self(), " has restarted since the graph was made: its device ",
                   key.source, " has another incarnation");
  }
  RETURN_IF_ERROR(CheckIsForOthers(key, **found_device));
  ASSIGN_OR_RETURN(std::shared_ptr<RpcStepRendezvous> found, steps_.Find(step));
  if (!found->begun()) health_.Wake();
  if (found->IsNewRequest(request)) return found;
  return Aborted("the tensor was asked for already by the same request: ", key.ToString());
}

void Worker::RecvTensor(const Message& request, const WorkerCall& call, Done done) {
  namespace Request = pb::RecvTensorRequest;
  const Result<PeerKey> key = ParsePeerKey(request.GetString(Request::kRendezvousKey));
  if (!key.ok()) return done(key.status());
  const Result<std::shared_ptr<RpcStepRendezvous>> step =
      StepFor(key->key, request.GetInt(Request::kStepId), request.GetInt(Request::kRequestId));
  if (!step.ok()) return done(step.status());
  const auto answer = WaitingAnswer::Make(std::move(done), call.cancellation);
  (*step)->RecvForPeer(
      *key, [answer, clock = &environment_->clock()](const Result<Delivery>& delivery) {
        namespace Response = pb::RecvTensorResponse;
        if (!delivery.ok()) return answer->Give(delivery.status());
        OwnedMessage response(Response::Descriptor());
        response->SetInt(Response::kSendStartMicros, clock->WallMicros());
        Message* const tensor = response->Mutable(Response::kTensor);
        if (delivery->dead) {
          response->SetBool(Response::kIsDead, true);
          tensor->SetInt(pb::TensorProto::kDtype, pb::DataType::DT_FLOAT);
          tensor->Mutable(pb::TensorProto::kTensorShape)->Add(pb::TensorShapeProto::kDim);
          return answer->Give(std::move(response));
        }
        const Status status = TensorToProto(delivery->tensor, tensor);
        if (!status.ok()) return answer->Give(status);
        answer->Give(std::move(response));
      });
}

}  // namespace thalweg
