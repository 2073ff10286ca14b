// SPDX-License-Identifier: Apache-2.0
#include "thalweg/cluster/client/remote_recording.h"

#include <memory>

#include "thalweg/base/entropy.h"
#include "thalweg/cluster/client/remote_target.h"

namespace thalweg {
namespace {

// For the traces to come, when the server's time is over.
constexpr std::chrono::seconds kGrace{30};
// For a server to hear that its recording ends now; one that stands still is left alone then.
constexpr std::chrono::seconds kEndGrace{5};

}  // namespace

Result<Recording> RecordRemote(const std::string& target, const RecordRequest& request,
                               CancellationManager* cancellation) {
  RETURN_IF_ERROR(request.Validate());
  RecordRequest asked = request;
  asked.id = RandomSeed() | 1;
  const std::string bytes = RecordRequestBytes(asked);
  const auto gives_up = std::make_shared<CancellationManager>();  // of calls that end later, too
  ASSIGN_OR_RETURN(const std::unique_ptr<RpcChannel> channel, ConnectTo(target));
  const ScopedCancellation ends(cancellation, [&](const Status& why) {
    channel->Call(std::string(kEndRecordingMethod), bytes, {.timeout = kEndGrace},
                  [gives_up, why](const Result<std::string>& ended) {
                    if (!ended.ok()) gives_up->Cancel(why);
                  });
  });
  const Result<std::string> answer =
      channel->Call(std::string(kRecordMethod), bytes,
                    {.timeout = request.timeout + kGrace, .cancellation = gives_up.get()});
  if (answer.status().code() == Code::kUnimplemented) {
    return Unimplemented(target,
                         " records no steps for others: it is a server of TensorFlow's, or of an "
                         "older release of ours; its clients can trace their own steps");
  }
  if (!answer.ok()) return answer.status().WithContext(StrCat("the steps of ", target));
  Result<Recording> recording = ReadRecording(*answer);
  if (!recording.ok()) return recording.status().WithContext(StrCat("the steps of ", target));
  const bool is_cut = recording->steps.empty() && !recording->ended_by.empty();
  if (is_cut && cancellation != nullptr && cancellation->IsCancelled()) {
    return cancellation->Reason();
  }
  return recording;
}

}  // namespace thalweg
