// SPDX-License-Identifier: Apache-2.0
#include "thalweg/cluster/worker/task_step.h"

#include <array>
#include <charconv>
#include <utility>
#include <vector>

#include "thalweg/base/entropy.h"
#include "thalweg/proto/messages.h"
#include "thalweg/tensor/tensor_proto.h"

namespace thalweg {
namespace {

constexpr size_t kMostOpenSteps = 100'000;
constexpr size_t kRememberedSteps = 4096;

template <class T>
bool ReadNumber(std::string_view text, int base, T* value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *value, base);
  return error == std::errc() && end == text.data() + text.size() && !text.empty();
}

Result<Delivery> DeliveryFrom(const Message& response, Allocator* allocator) {
  namespace Response = pb::RecvTensorResponse;
  if (response.GetBool(Response::kIsDead)) return Delivery{.tensor = Tensor(), .dead = true};
  ASSIGN_OR_RETURN(Tensor tensor, TensorFromProto(response.GetMessage(Response::kTensor),
                                                  {.allocator = allocator}));
  return Delivery{.tensor = std::move(tensor), .dead = false};
}

}  // namespace

Result<RendezvousKey> ParseRendezvousKey(std::string_view text) {
  std::array<std::string_view, 5> parts;
  std::string_view rest = text;
  for (size_t i = 0; i < parts.size(); ++i) {
    const size_t end = i + 1 < parts.size() ? rest.find(';') : rest.size();
    if (end == std::string_view::npos) return InvalidArgument("'", text, "' is no rendezvous key");
    parts[i] = rest.substr(0, end);
    rest.remove_prefix(std::min(rest.size(), end + 1));
  }
  RendezvousKey key;
  key.source = parts[0];
  key.destination = parts[2];
  key.edge = parts[3];
  const size_t colon = parts[4].find(':');
  uint64_t frame = 0;
  uint64_t iteration = 0;
  if (!ReadNumber(parts[1], 16, &key.incarnation) || colon == std::string_view::npos ||
      !ReadNumber(parts[4].substr(0, colon), 10, &frame) ||
      !ReadNumber(parts[4].substr(colon + 1), 10, &iteration)) {
    return InvalidArgument("'", text, "' is no rendezvous key");
  }
  if (frame > UINT32_MAX || iteration > UINT32_MAX) {
    return Unimplemented("the key '", text,
                         "' names a loop by another release's rule: loops over tasks of both "
                         "Thalweg and TensorFlow do not work yet");
  }
  key.tag = frame << 32 | iteration;
  return key;
}

void TaskStep::Recv(const RendezvousKey& key, RecvDone done) {
  const std::string_view task = TaskOf(key.source);
  if (task == peers_.self()) return here_.Recv(key, std::move(done));
  namespace Request = pb::RecvTensorRequest;
  OwnedMessage request(Request::Descriptor());
  request->SetInt(Request::kStepId, id_);
  request->SetString(Request::kRendezvousKey, key.ToString());
  request->SetInt(Request::kRequestId, static_cast<int64_t>(RandomSeed() | 1));
  peers_.Call(task, "RecvTensor", *request, pb::RecvTensorResponse::Descriptor(),
              {.cancellation = &cancellation_},
              [done = std::move(done), allocator = allocator_](Result<OwnedMessage> response) {
                if (!response.ok()) return done(response.status());
                done(DeliveryFrom(**response, allocator.get()));
              });
}

std::shared_ptr<TaskStep::Part> TaskStep::FindPart(const std::string& graph, bool* is_new) {
  MutexLock lock(mutex_);
  std::shared_ptr<Part>& part = parts_[graph];
  *is_new = part == nullptr;
  if (*is_new) part = std::make_shared<Part>();
  return part;
}

void TaskStep::Abort(Status reason) {
  here_.Abort(reason);
  cancellation_.Cancel(std::move(reason));
}

Result<std::shared_ptr<TaskStep>> StepTable::Find(int64_t id) {
  MutexLock lock(mutex_);
  if (const auto found = steps_.find(id); found != steps_.end()) return found->second;
  if (ended_.contains(id)) return Aborted("step ", id, " has ended on ", peers_.self());
  if (steps_.size() >= kMostOpenSteps) {
    return ResourceExhausted(peers_.self(), " has ", steps_.size(),
                             " open steps, and takes no more");
  }
  return steps_.emplace(id, std::make_shared<TaskStep>(id, peers_, allocator_)).first->second;
}

void StepTable::Erase(int64_t id, Status reason) {
  std::shared_ptr<TaskStep> step;
  {
    MutexLock lock(mutex_);
    if (ended_.insert(id).second) {
      ended_order_.push_back(id);
      if (ended_order_.size() > kRememberedSteps) {
        ended_.erase(ended_order_.front());
        ended_order_.pop_front();
      }
    }
    const auto found = steps_.find(id);
    if (found == steps_.end()) return;
    step = std::move(found->second);
    steps_.erase(found);
  }
  step->Abort(std::move(reason));
}

void StepTable::EraseAll(const Status& reason) {
  std::vector<int64_t> ids;
  {
    MutexLock lock(mutex_);
    for (const auto& [id, step] : steps_) ids.push_back(id);
  }
  for (const int64_t id : ids) Erase(id, reason);
}

}  // namespace thalweg
