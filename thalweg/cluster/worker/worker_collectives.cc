// SPDX-License-Identifier: Apache-2.0
// The methods of a worker for collective operations over several tasks.
#include <algorithm>

#include "thalweg/cluster/collectives/collective_member.h"
#include "thalweg/cluster/collectives/step_word.h"
#include "thalweg/cluster/worker/waiting_answer.h"
#include "thalweg/cluster/worker/worker.h"
#include "thalweg/proto/messages.h"
#include "thalweg/proto/wire.h"
#include "thalweg/tensor/tensor_proto.h"

namespace thalweg {
namespace {

// 1.15 names a device, 2.21 describes it.
Result<CollectiveLeader::Device> DeviceOf(const Message& request) {
  namespace Request = pb::CompleteGroupRequest;
  if (!request.Has(Request::kDeviceAttributes)) {
    const auto names = request.Repeated<std::string_view>(Request::kDeviceName);
    if (names.size() == 1) return CollectiveLeader::Device{std::string(names[0]), ""};
    return InvalidArgument("CompleteGroup is asked for one device, got ", names.size());
  }
  const Message& device = request.GetMessage(Request::kDeviceAttributes);
  ASSIGN_OR_RETURN(std::string attributes, Serialize(device));
  return CollectiveLeader::Device{std::string(device.GetString(pb::DeviceAttributes::kName)),
                                  std::move(attributes)};
}

// In the form of both releases.
Result<OwnedMessage> GroupResponse(const CollectiveLeader::Group& group) {
  namespace Response = pb::CompleteGroupResponse;
  OwnedMessage response(Response::Descriptor());
  response->SetInt(Response::kGroupKey, group.key);
  response->SetInt(Response::kGroupSize, group.size);
  response->SetString(Response::kDeviceType, group.device_type);
  std::vector<std::string_view> tasks;
  for (const CollectiveLeader::Device& device : group.devices) {
    const std::string_view task = TaskOf(device.name);
    if (std::ranges::count(tasks, task) == 0) tasks.push_back(task);
    response->AddString(Response::kDeviceName, device.name);
    response->AddString(Response::kTaskName, task);
    if (device.attributes.empty()) continue;
    ASSIGN_OR_RETURN(const OwnedMessage attributes,
                     ParseMessage(pb::DeviceAttributes::Descriptor(), device.attributes));
    response->Add(Response::kDeviceAttributes)->CopyFrom(*attributes);
  }
  response->SetInt(Response::kNumTasks, static_cast<int64_t>(tasks.size()));
  return response;
}

template <class T, class MakeResponse>
CollectiveLeader::Waiter<T> WaiterOf(std::shared_ptr<WaitingAnswer> answer, MakeResponse make) {
  return {.waits = [answer] { return !answer->is_given(); },
          .done =
              [answer, make](Result<T> result) {
                answer->Give(result.ok() ? make(*result) : Result<OwnedMessage>(result.status()));
              }};
}

}  // namespace

void Worker::CompleteGroup(const Message& request, const WorkerCall& call, Done done) {
  namespace Request = pb::CompleteGroupRequest;
  Result<CollectiveLeader::Device> device = DeviceOf(request);
  if (!device.ok()) return done(device.status());
  const std::string name = device->name;
  CollectiveLeader::Answers answers;
  const bool has_restarted =
      leader_.JoinGroup({.key = request.GetInt(Request::kGroupKey),
                         .size = request.GetInt(Request::kGroupSize),
                         .device_type = std::string(request.GetString(Request::kDeviceType))},
                        *std::move(device),
                        WaiterOf<CollectiveLeader::Group>(
                            WaitingAnswer::Make(std::move(done), call.cancellation), GroupResponse),
                        &answers);
  if (has_restarted) {
    EndSharedSteps(Aborted(TaskOf(name),
                           " has restarted: start the other workers anew, too, so "
                           "that all begin at the last checkpoint"));
  }
  for (const auto& answer : answers) answer();
}

void Worker::CompleteInstance(const Message& request, const WorkerCall& call, Done done) {
  namespace Request = pb::CompleteInstanceRequest;
  Result<PartialShape> shape = PartialShapeFromProto(request.GetMessage(Request::kShape));
  if (!shape.ok()) return done(shape.status());
  CollectiveLeader::Instance instance;
  instance.group_key = request.GetInt(Request::kGroupKey);
  instance.group_size = request.GetInt(Request::kGroupSize);
  instance.instance_key = request.GetInt(Request::kInstanceKey);
  instance.step_id = request.GetInt(Request::kStepId);
  instance.type = request.GetInt(Request::kType);
  instance.dtype = static_cast<DType>(request.GetInt(Request::kDataType) & UINT8_MAX);
  instance.shape = *std::move(shape);
  const auto respond = [key = instance.instance_key](int source_rank) -> Result<OwnedMessage> {
    OwnedMessage response(pb::CompleteInstanceResponse::Descriptor());
    response->SetInt(pb::CompleteInstanceResponse::kInstanceKey, key);
    response->SetInt(pb::CompleteInstanceResponse::kSourceRank, source_rank);
    return response;
  };
  CollectiveLeader::Answers answers;
  leader_.JoinInstance(
      instance, std::string(request.GetString(Request::kDevice)),
      request.GetBool(Request::kIsSource),
      WaiterOf<int>(WaitingAnswer::Make(std::move(done), call.cancellation), respond), &answers);
  for (const auto& answer : answers) answer();
}

// A step of another task, with which one of this task is one, has failed or waits.
Result<OwnedMessage> Worker::HearOfStep(const Message& request) {
  ASSIGN_OR_RETURN(const StepWord word, DecodeStepWord(request));
  collectives_.shared_steps().Hear(word);
  if (!word.failed.ok()) {
    const bool is_ahead = steps_.Fail(word.step, word.failed);
    if (is_ahead) {
      collectives_.sequences().NoteFailure(word.graph_key, word.step, word.failed, steps_.Now());
    }
    health_.Wake();
  }
  return EncodeStepReply(steps_.StateOf(word.step));
}

// A member that has restarted takes part no more in the steps that it has begun.
void Worker::EndSharedSteps(const Status& why) {
  for (const std::shared_ptr<RpcStepRendezvous>& step : steps_.List()) {
    if (step->is_shared()) step->Abort(why);
  }
}

// A buffer that a node of the step has sent, or will send, under the name that its readers know.
void Worker::RecvBuf(const Message& request, const WorkerCall& call, Done done) {
  namespace Request = pb::RecvBufRequest;
  if (IsStepWord(request)) return done(HearOfStep(request));
  if (IsCollectiveMember(request)) {
    return collectives_.Answer(request, call.cancellation, std::move(done));
  }
  RendezvousKey key{.source = std::string(request.GetString(Request::kSrcDevice)),
                    .incarnation = request.GetUint(Request::kSrcIncarnation),
                    .destination = std::string(request.GetString(Request::kDstDevice)),
                    .edge = StrCat("buffer ", request.GetString(Request::kBufRendezvousKey)),
                    .tag = 0};
  const Result<std::shared_ptr<RpcStepRendezvous>> step =
      StepFor(key, request.GetInt(Request::kStepId), request.GetInt(Request::kRequestId));
  if (!step.ok()) return done(step.status());
  const auto answer = WaitingAnswer::Make(std::move(done), call.cancellation);
  (*step)->RecvBufferForPeer(
      key, [answer, clock = &environment_->clock(), wanted = request.GetInt(Request::kNumBytes),
            name = key.edge](const Result<Delivery>& delivery) {
        namespace Response = pb::RecvBufResponse;
        if (!delivery.ok()) return answer->Give(delivery.status());
        const Tensor& value = delivery->tensor;
        if (!delivery->dead && static_cast<int64_t>(value.bytes()) != wanted) {
          return answer->Give(InvalidArgument("'", name, "' has ", value.bytes(), " bytes, ",
                                              wanted, " were asked for"));
        }
        OwnedMessage response(Response::Descriptor());
        response->SetInt(Response::kSendStartMicros, clock->WallMicros());
        if (delivery->dead) {
          response->SetBool(Response::kIsDead, true);
          return answer->Give(std::move(response));
        }
        OwnedMessage extra(pb::RecvBufRespExtra::Descriptor());
        extra->AddBorrowed(pb::RecvBufRespExtra::kTensorContent,
                           {static_cast<const char*>(value.raw_data()), value.bytes()});
        const Result<std::string> bytes = Serialize(*extra);
        if (!bytes.ok()) return answer->Give(bytes.status());
        Message* const options = response->Mutable(Response::kTransportOptions);
        options->SetString(pb::Any::kTypeUrl, "type.googleapis.com/tensorflow.RecvBufRespExtra");
        options->SetString(pb::Any::kValue, *bytes);
        answer->Give(std::move(response));
      });
}

}  // namespace thalweg
