// SPDX-License-Identifier: Apache-2.0
// Steps of a master: RunStep, partial runs, callables.
#include <algorithm>
#include <map>

#include "thalweg/cluster/master/master.h"
#include "thalweg/proto/messages.h"
#include "thalweg/session/debug_watches.h"
#include "thalweg/session/run_metadata_message.h"
#include "thalweg/tensor/tensor_proto.h"

namespace thalweg {
namespace {

std::vector<std::string> Texts(const Message& message, int field) {
  std::vector<std::string> texts;
  for (const std::string_view text : message.Repeated<std::string_view>(field)) {
    texts.emplace_back(text);
  }
  return texts;
}

// Fetches as the answer holds them: each once, by name.
std::vector<std::string> SortedOnce(std::vector<std::string> names) {
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

Result<std::vector<Session::NamedTensor>> Feeds(const Message& request, int field,
                                                const TensorReadOptions& reading) {
  std::vector<Session::NamedTensor> feeds;
  for (const Message* feed : request.Messages(field)) {
    const std::string_view name = feed->GetString(pb::NamedTensorProto::kName);
    Result<Tensor> value =
        TensorFromProto(feed->GetMessage(pb::NamedTensorProto::kTensor), reading);
    if (!value.ok()) return value.status().WithContext(StrCat("feed ", name));
    feeds.emplace_back(std::string(name), *std::move(value));
  }
  return feeds;
}

// Every name is a node of the graph: TensorFlow's code for one that is not differs from a
// session's.
Status CheckNames(const Graph& graph, const std::vector<std::string>& names, const char* what) {
  for (const std::string& name : names) {
    const std::string_view node = std::string_view(name).substr(0, name.rfind(':'));
    if (graph.FindNode(node) == nullptr) {
      return NotFound("the graph has no node '", node, "' for ", what, " ", name);
    }
  }
  return OkStatus();
}

RunOptions OptionsOf(const Message& options, const MasterCall& call,
                     std::chrono::nanoseconds session_timeout) {
  RunOptions run;
  run.cancellation = call.cancellation;
  const int64_t millis = options.GetInt(pb::RunOptions::kTimeoutInMs);
  constexpr int64_t kMostMillis = int64_t{1000} * 3600 * 24 * 365;
  run.timeout =
      millis > 0 ? std::chrono::milliseconds(std::min(millis, kMostMillis)) : session_timeout;
  if (call.timeout.count() > 0 && run.timeout.count() == 0) run.timeout = call.timeout;
  // A caller whose call ends earlier has spent the rest on the way to here.
  if (call.timeout.count() > 0) run.spent = std::max(run.spent, run.timeout - call.timeout);
  const int64_t trace = options.GetInt(pb::RunOptions::kTraceLevel);
  // Software tracing alone gives no statistics; full tracing does.
  if (trace >= pb::RunOptions::TraceLevel::FULL_TRACE) run.trace = TraceLevel::kFull;
  run.partition_graphs = options.GetBool(pb::RunOptions::kOutputPartitionGraphs);
  run.check_numerics = AsksForNumericsCheck(options);
  run.collective_graph_key = options.GetMessage(pb::RunOptions::kExperimental)
                                 .GetInt(pb::RunOptions::Experimental::kCollectiveGraphKey);
  return run;
}

bool WantsMetadata(const RunOptions& options) {
  return options.trace != TraceLevel::kNone || options.partition_graphs;
}

Status AddTensors(const std::vector<std::string>& names, const std::vector<Tensor>& values,
                  Message* response) {
  for (size_t i = 0; i < names.size(); ++i) {
    Message* const out = response->Add(pb::RunStepResponse::kTensor);
    out->SetString(pb::NamedTensorProto::kName, names[i]);
    RETURN_IF_ERROR(TensorToProto(values[i], out->Mutable(pb::NamedTensorProto::kTensor)));
  }
  return OkStatus();
}

}  // namespace

Result<OwnedMessage> Master::RunStep(const Message& request, const MasterCall& call) {
  OwnedMessage response(pb::RunStepResponse::Descriptor());
  StepCounter::Open open(steps_);
  const Status status = open.End(RunStepInto(request, call, response.get()));
  if (status.ok()) return response;
  if (!request.GetBool(pb::RunStepRequest::kStoreErrorsInResponseBody)) return status;
  OwnedMessage failed(pb::RunStepResponse::Descriptor());
  failed->SetInt(pb::RunStepResponse::kStatusCode, static_cast<int>(status.code()));
  failed->SetString(pb::RunStepResponse::kStatusErrorMessage, status.message());
  return failed;
}

Status Master::RunStepInto(const Message& request, const MasterCall& call, Message* response) {
  namespace Request = pb::RunStepRequest;
  ASSIGN_OR_RETURN(const SessionPtr session, FindSession(request, Request::kSessionHandle));
  if (!session->IsNew(request.GetInt(Request::kRequestId))) {
    return Aborted("the step was asked for already: a request is run once");
  }
  const TensorReadOptions reading = {.allocator = environment_->allocator().get()};
  ASSIGN_OR_RETURN(const std::vector<Session::NamedTensor> feeds,
                   Feeds(request, Request::kFeed, reading));
  std::vector<std::string> wanted = Texts(request, Request::kFetch);
  std::vector<std::string> targets;
  // A target with an output's number is a fetch.
  for (std::string& target : Texts(request, Request::kTarget)) {
    (target.find(':') == std::string::npos ? targets : wanted).push_back(std::move(target));
  }
  const std::vector<std::string> fetches = SortedOnce(std::move(wanted));
  const Graph& graph = *session->session().graph();
  for (const Session::NamedTensor& feed : feeds) {
    RETURN_IF_ERROR(CheckNames(graph, {feed.first}, "the feed"));
    if (std::binary_search(fetches.begin(), fetches.end(), feed.first)) {
      return InvalidArgument(feed.first, " is both fed and fetched");
    }
  }
  RETURN_IF_ERROR(CheckNames(graph, fetches, "the fetch"));
  RETURN_IF_ERROR(CheckNames(graph, targets, "the target"));
  std::vector<Tensor> values;
  if (const std::string handle(request.GetString(Request::kPartialRunHandle)); !handle.empty()) {
    RETURN_IF_ERROR(session->session().PartialRun(handle, feeds, fetches, &values));
    return AddTensors(fetches, values, response);
  }
  RunOptions options = OptionsOf(request.GetMessage(Request::kOptions), call, session->timeout());
  RunMetadata metadata;
  RecordedRun run(recorder_, session->handle(), {fetches, targets}, &options,
                  WantsMetadata(options) ? &metadata : nullptr);
  RETURN_IF_ERROR(
      run.End(session->session().Run(options, feeds, fetches, targets, &values, run.metadata())));
  RETURN_IF_ERROR(AddTensors(fetches, values, response));
  return RunMetadataToMessage(std::move(metadata),
                              response->Mutable(pb::RunStepResponse::kMetadata));
}

Result<OwnedMessage> Master::PartialRunSetup(const Message& request, const MasterCall&) {
  namespace Request = pb::PartialRunSetupRequest;
  ASSIGN_OR_RETURN(const SessionPtr session, FindSession(request, Request::kSessionHandle));
  ASSIGN_OR_RETURN(const std::string handle,
                   session->session().PartialRunSetup(Texts(request, Request::kFeed),
                                                      SortedOnce(Texts(request, Request::kFetch)),
                                                      Texts(request, Request::kTarget)));
  OwnedMessage response(pb::PartialRunSetupResponse::Descriptor());
  response->SetString(pb::PartialRunSetupResponse::kPartialRunHandle, handle);
  return response;
}

Result<OwnedMessage> Master::MakeCallable(const Message& request, const MasterCall& call) {
  namespace Options = pb::CallableOptions;
  ASSIGN_OR_RETURN(const SessionPtr session,
                   FindSession(request, pb::MakeCallableRequest::kSessionHandle));
  const Message& options = request.GetMessage(pb::MakeCallableRequest::kOptions);
  const Graph& graph = *session->session().graph();
  Signature signature;
  for (const std::string& name : Texts(options, Options::kFeed)) {
    ASSIGN_OR_RETURN(const Output output, graph.FindOutput(name));
    signature.feeds.push_back(output);
  }
  for (const std::string& name : Texts(options, Options::kFetch)) {
    ASSIGN_OR_RETURN(const Output output, graph.FindOutput(name));
    signature.fetches.push_back(output);
  }
  for (const std::string& name : Texts(options, Options::kTarget)) {
    Node* const node = graph.FindNode(name.substr(0, name.find(':')));
    if (node == nullptr) return NotFound("there is no node '", name, "' to run");
    signature.targets.push_back(node);
  }
  const RunOptions within =
      OptionsOf(options.GetMessage(Options::kRunOptions), call, session->timeout());
  RunOptions run = within;
  run.cancellation = nullptr;  // of this call alone
  MasterSession::Prepared prepared;
  for (const Output& feed : signature.feeds) prepared.feeds.push_back(feed.dtype());
  prepared.num_fetches = signature.fetches.size();
  std::vector<std::string> names = Texts(options, Options::kFetch);
  std::ranges::move(Texts(options, Options::kTarget), std::back_inserter(names));
  prepared.names = std::make_shared<const std::vector<std::string>>(std::move(names));
  ASSIGN_OR_RETURN(prepared.callable, session->session().MakeCallable(signature, run, &within));
  OwnedMessage response(pb::MakeCallableResponse::Descriptor());
  response->SetInt(pb::MakeCallableResponse::kHandle, session->AddCallable(std::move(prepared)));
  return response;
}

Result<OwnedMessage> Master::RunCallable(const Message& request, const MasterCall& call) {
  namespace Request = pb::RunCallableRequest;
  ASSIGN_OR_RETURN(const SessionPtr session, FindSession(request, Request::kSessionHandle));
  if (!session->IsNew(request.GetInt(Request::kRequestId))) {
    return Aborted("the step was asked for already: a request is run once");
  }
  ASSIGN_OR_RETURN(const MasterSession::Prepared prepared,
                   session->FindCallable(request.GetInt(Request::kHandle)));
  const TensorReadOptions reading = {.allocator = environment_->allocator().get()};
  std::vector<Tensor> feeds;
  for (const Message* feed : request.Messages(Request::kFeed)) {
    ASSIGN_OR_RETURN(Tensor value, TensorFromProto(*feed, reading));
    feeds.push_back(std::move(value));
  }
  if (feeds.size() != prepared.feeds.size()) {
    return InvalidArgument("the callable takes ", prepared.feeds.size(), " feeds, got ",
                           feeds.size());
  }
  for (size_t i = 0; i < feeds.size(); ++i) {
    if (feeds[i].dtype() == prepared.feeds[i]) continue;
    return Internal("feed ", i, " of the callable is ", prepared.feeds[i], ", got ",
                    feeds[i].dtype());
  }
  std::vector<Tensor> fetches(prepared.num_fetches);
  RunOptions options =
      OptionsOf(pb::RunOptions::Descriptor().default_instance[0], call, session->timeout());
  StepCounter::Open open(steps_);
  RecordedRun run(recorder_, session->handle(), {.fetches = *prepared.names}, &options, nullptr);
  RETURN_IF_ERROR(
      open.End(run.End(prepared.callable->Run(options, feeds, fetches, run.metadata()))));
  OwnedMessage response(pb::RunCallableResponse::Descriptor());
  for (const Tensor& value : fetches) {
    RETURN_IF_ERROR(TensorToProto(value, response->Add(pb::RunCallableResponse::kFetch)));
  }
  response->Mutable(pb::RunCallableResponse::kMetadata);
  return response;
}

Result<OwnedMessage> Master::ReleaseCallable(const Message& request, const MasterCall&) {
  namespace Request = pb::ReleaseCallableRequest;
  ASSIGN_OR_RETURN(const SessionPtr session, FindSession(request, Request::kSessionHandle));
  RETURN_IF_ERROR(session->ReleaseCallable(request.GetInt(Request::kHandle)));
  return OwnedMessage(pb::ReleaseCallableResponse::Descriptor());
}

}  // namespace thalweg
