// SPDX-License-Identifier: Apache-2.0
#include "thalweg/cluster/client/remote_recording.h"

#include <memory>

#include "thalweg/cluster/client/remote_target.h"

namespace thalweg {
namespace {

// For the traces to come, when the server's time is over.
constexpr std::chrono::seconds kGrace{30};

}  // namespace

Result<Recording> RecordRemote(const std::string& target, const RecordRequest& request,
                               CancellationManager* cancellation) {
  RETURN_IF_ERROR(request.Validate());
  ASSIGN_OR_RETURN(const std::unique_ptr<RpcChannel> channel, ConnectTo(target));
  const Result<std::string> answer =
      channel->Call(std::string(kRecordMethod), RecordRequestBytes(request),
                    {.timeout = request.timeout + kGrace, .cancellation = cancellation});
  if (answer.status().code() == Code::kUnimplemented) {
    return Unimplemented(target,
                         " records no steps for others: it is a server of TensorFlow's, or of an "
                         "older release of ours; its clients can trace their own steps");
  }
  if (!answer.ok()) return answer.status().WithContext(StrCat("the steps of ", target));
  Result<Recording> recording = ReadRecording(*answer);
  if (!recording.ok()) return recording.status().WithContext(StrCat("the steps of ", target));
  return recording;
}

}  // namespace thalweg
