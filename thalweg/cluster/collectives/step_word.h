// SPDX-License-Identifier: Apache-2.0
// StepWord: what a task tells another one of a step that is one with a step of its own (steps of
// several sessions with one collective_graph_key): that it has failed there, or nothing, to hear
// how far it is here. It travels as a RecvBuf, as members do (collective_member.h); StepReply is
// the answer.
//
//   ASSIGN_OR_RETURN(const OwnedMessage request, EncodeStepWord({.step = 7, .task = self}));
//   if (IsStepWord(*request)) Hear(DecodeStepWord(*request));
//
// Ownership: messages are the caller's; words are values.
// Threads: any.
// Errors: InvalidArgument for bytes that cannot be read; Internal for an answer that is none.
#pragma once

#include <string>
#include <string_view>

#include "thalweg/base/status.h"
#include "thalweg/proto/message.h"

namespace thalweg {

struct StepWord {
  int64_t step = 0;
  int64_t graph_key = 0;     // of StepSequences; of one that has failed
  std::string task;          // who says it
  Status failed = Status();  // with what it has failed there; ok: it is a question
};

struct StepReply {
  bool begun = false;        // or has ended
  Status failed = Status();  // with what it ended, where others were told
};

Result<OwnedMessage> EncodeStepWord(const StepWord& word);
// Whether a RecvBufRequest is one.
bool IsStepWord(const Message& request);
Result<StepWord> DecodeStepWord(const Message& request);

// A RecvBufResponse.
Result<OwnedMessage> EncodeStepReply(const StepReply& state);
Result<StepReply> DecodeStepReply(const Message& response);

// With what the steps of the others end. Its code is that of `why`. What has failed on another task
// and was told so stays that task's failure.
Status FailedOn(std::string_view task, const Status& why);

}  // namespace thalweg
