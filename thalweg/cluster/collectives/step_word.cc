// SPDX-License-Identifier: Apache-2.0
#include "thalweg/cluster/collectives/step_word.h"

#include <utility>

#include "thalweg/base/entropy.h"
#include "thalweg/base/str_cat.h"
#include "thalweg/proto/messages.h"
#include "thalweg/proto/wire_fields.h"

namespace thalweg {
namespace {

constexpr std::string_view kWordType = "thalweg/StepWord";
constexpr std::string_view kReplyType = "thalweg/StepReply";
constexpr std::string_view kFailedOn = "the step of all workers has failed on ";
constexpr size_t kMostWords = 16'384;  // of an error's text
constexpr size_t kMostName = 4096;

enum Field : uint32_t { kWordTask = 1, kWordCode, kWordMessage, kWordBegun, kWordGraphKey };

struct Read {
  std::string task;
  int64_t graph_key = 0;
  bool begun = false;
  Status failed;
};

void AddFailure(const Status& failed, std::string* bytes) {
  if (failed.ok()) return;
  AddWireNumber(kWordCode, static_cast<uint64_t>(failed.code()), bytes);
  AddWireText(kWordMessage, std::string_view(failed.message()).substr(0, kMostWords), bytes);
}

Result<Read> ReadFields(std::string_view bytes) {
  Read read;
  uint64_t code = 0;
  std::string message;
  const bool whole =
      VisitWireFields(bytes, [&](uint32_t field, uint64_t number, std::string_view text) {
        if (field == kWordTask) read.task = text.substr(0, kMostName);
        if (field == kWordCode) code = number;
        if (field == kWordMessage) message = text.substr(0, kMostWords);
        if (field == kWordBegun) read.begun = number != 0;
        if (field == kWordGraphKey) read.graph_key = static_cast<int64_t>(number);
      });
  if (!whole) return InvalidArgument("the word of another task on a step cannot be read");
  if (code == 0) return read;
  const bool is_known = code <= static_cast<uint64_t>(Code::kUnauthenticated);
  read.failed = Status(is_known ? static_cast<Code>(code) : Code::kUnknown, std::move(message));
  return read;
}

void SetOptions(std::string_view type, std::string_view bytes, Message* options) {
  options->SetString(pb::Any::kTypeUrl, type);
  options->SetString(pb::Any::kValue, bytes);
}

}  // namespace

Result<OwnedMessage> EncodeStepWord(const StepWord& word) {
  namespace Request = pb::RecvBufRequest;
  std::string bytes;
  AddWireText(kWordTask, word.task, &bytes);
  AddFailure(word.failed, &bytes);
  AddWireNumber(kWordGraphKey, static_cast<uint64_t>(word.graph_key), &bytes);
  OwnedMessage request(Request::Descriptor());
  request->SetInt(Request::kStepId, word.step);
  request->SetInt(Request::kRequestId, static_cast<int64_t>(RandomSeed() | 1));
  SetOptions(kWordType, bytes, request->Mutable(Request::kTransportOptions));
  return request;
}

bool IsStepWord(const Message& request) {
  return request.GetMessage(pb::RecvBufRequest::kTransportOptions).GetString(pb::Any::kTypeUrl) ==
         kWordType;
}

Result<StepWord> DecodeStepWord(const Message& request) {
  ASSIGN_OR_RETURN(
      Read read,
      ReadFields(
          request.GetMessage(pb::RecvBufRequest::kTransportOptions).GetString(pb::Any::kValue)));
  return StepWord{.step = request.GetInt(pb::RecvBufRequest::kStepId),
                  .graph_key = read.graph_key,
                  .task = std::move(read.task),
                  .failed = std::move(read.failed)};
}

Result<OwnedMessage> EncodeStepReply(const StepReply& state) {
  std::string bytes;
  AddWireNumber(kWordBegun, state.begun ? 1 : 0, &bytes);
  AddFailure(state.failed, &bytes);
  OwnedMessage response(pb::RecvBufResponse::Descriptor());
  SetOptions(kReplyType, bytes, response->Mutable(pb::RecvBufResponse::kTransportOptions));
  return response;
}

Result<StepReply> DecodeStepReply(const Message& response) {
  const Message& options = response.GetMessage(pb::RecvBufResponse::kTransportOptions);
  if (options.GetString(pb::Any::kTypeUrl) != kReplyType) {
    return Internal("the answer to a question for a step is '",
                    options.GetString(pb::Any::kTypeUrl), "', expected '", kReplyType, "'");
  }
  ASSIGN_OR_RETURN(Read read, ReadFields(options.GetString(pb::Any::kValue)));
  return StepReply{.begun = read.begun, .failed = std::move(read.failed)};
}

Status FailedOn(std::string_view task, const Status& why) {
  // A call to that task may bring it before its word comes.
  const size_t told = why.message().find(kFailedOn);
  if (told != std::string::npos) return Status(why.code(), std::string(why.message().substr(told)));
  return Status(why.code(), StrCat(kFailedOn, task, ": ", why.message()));
}

}  // namespace thalweg
