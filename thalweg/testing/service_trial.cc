// SPDX-License-Identifier: Apache-2.0
#include "thalweg/testing/service_trial.h"

#include <utility>

#include "thalweg/base/check.h"
#include "thalweg/base/notification.h"
#include "thalweg/devices/cpu/cpu_device.h"
#include "thalweg/proto/messages.h"
#include "thalweg/proto/wire.h"
#include "thalweg/testing/registries.h"

namespace thalweg {
namespace {

constexpr std::chrono::milliseconds kCallLimit{50};
constexpr int kNone = 0;

bool TouchesFiles(std::string_view op) {
  for (const std::string_view word :
       {"Save", "Write", "Print", "MergeV2", "Dump", "Debug", "Summary", "Delete"}) {
    if (op.find(word) != std::string_view::npos) return true;
  }
  return false;
}

bool IsLeftOut(const Message& graph_def) {
  for (const Message* node : graph_def.Messages(pb::GraphDef::kNode)) {
    if (TouchesFiles(node->GetString(pb::NodeDef::kOp))) return true;
  }
  const Message& library = graph_def.GetMessage(pb::GraphDef::kLibrary);
  for (const Message* function : library.Messages(pb::FunctionDefLibrary::kFunction)) {
    for (const Message* node : function->Messages(pb::FunctionDef::kNodeDef)) {
      if (TouchesFiles(node->GetString(pb::NodeDef::kOp))) return true;
    }
  }
  return false;
}

}  // namespace

struct ServiceTrials::Method {
  std::string_view name;
  bool is_master;
  // Fields of the request, kNone where it has none.
  int session, graph_handle, graph;
  int made;  // of the response: a handle that later calls may name
};

const std::array<ServiceTrials::Method, 20>& ServiceTrials::Methods() {
  static const std::array<Method, 20> kMethods = {{
      {"CloseSession", true, pb::CloseSessionRequest::kSessionHandle, kNone, kNone, kNone},
      {"CreateSession", true, kNone, kNone, pb::CreateSessionRequest::kGraphDef,
       pb::CreateSessionResponse::kSessionHandle},
      {"ExtendSession", true, pb::ExtendSessionRequest::kSessionHandle, kNone,
       pb::ExtendSessionRequest::kGraphDef, kNone},
      {"ListDevices", true, pb::ListDevicesRequest::kSessionHandle, kNone, kNone, kNone},
      {"MakeCallable", true, pb::MakeCallableRequest::kSessionHandle, kNone, kNone, kNone},
      {"PartialRunSetup", true, pb::PartialRunSetupRequest::kSessionHandle, kNone, kNone, kNone},
      {"ReleaseCallable", true, pb::ReleaseCallableRequest::kSessionHandle, kNone, kNone, kNone},
      {"Reset", true, kNone, kNone, kNone, kNone},
      {"RunCallable", true, pb::RunCallableRequest::kSessionHandle, kNone, kNone, kNone},
      {"RunStep", true, pb::RunStepRequest::kSessionHandle, kNone, kNone, kNone},
      {"CleanupAll", false, kNone, kNone, kNone, kNone},
      {"CleanupGraph", false, kNone, kNone, kNone, kNone},
      {"CreateWorkerSession", false, kNone, kNone, kNone, kNone},
      {"DeleteWorkerSession", false, kNone, kNone, kNone, kNone},
      {"DeregisterGraph", false, kNone, pb::DeregisterGraphRequest::kGraphHandle, kNone, kNone},
      {"GetStatus", false, kNone, kNone, kNone, kNone},
      {"Logging", false, kNone, kNone, kNone, kNone},
      {"RecvTensor", false, kNone, kNone, kNone, kNone},
      {"RegisterGraph", false, kNone, kNone, pb::RegisterGraphRequest::kGraphDef,
       pb::RegisterGraphResponse::kGraphHandle},
      {"RunGraph", false, kNone, pb::RunGraphRequest::kGraphHandle, kNone, kNone},
  }};
  return kMethods;
}

struct ServiceTrials::Task {
  explicit Task(const std::shared_ptr<Environment>& environment)
      : peers({}, "/job:worker/replica:0/task:0"),
        channel_steps(environment->allocator(), environment->clock(),
                      environment->devices().front()->incarnation()),
        links(peers, channel_steps, ChannelUse::kNone),
        worker(environment, peers, links, limits),
        master(
            environment,
            [environment](std::shared_ptr<Graph> graph, const Message&,
                          const MasterCall&) -> Result<Master::MadeSession> {
              Master::MadeSession made;
              ASSIGN_OR_RETURN(made.session, MakeLocalSession(environment, std::move(graph),
                                                              {.share_resources = true}));
              return made;
            },
            [](const std::vector<std::string>&) { return OkStatus(); }, limits) {}

  const ServiceLimits limits{.max_sessions = 16, .max_nodes = 2000};
  WorkerClients peers;
  StepService channel_steps;
  ChannelManager links;
  Worker worker;
  Master master;
  std::string session, graph;
};

ServiceTrials::ServiceTrials() {
  Registries registries;
  RegisterAllOps(*registries.ops);
  RegisterAllCpuKernels(*registries.kernels);
  registries.devices = {MakeCpuDevices};
  Result<std::shared_ptr<Environment>> made = Environment::Create(
      {.threads = 1, .job = "worker", .memory_limit = int64_t{64} << 20}, std::move(registries));
  CHECK(made.ok());
  environment_ = *std::move(made);
}

uint8_t ServiceTrials::MethodByte(std::string_view method) {
  for (size_t i = 0; i < Methods().size(); ++i) {
    const Method& m = Methods()[i];
    if (method == StrCat(m.is_master ? "MasterService/" : "WorkerService/", m.name)) {
      return static_cast<uint8_t>(i);
    }
  }
  return static_cast<uint8_t>(Methods().size());
}

const MessageDescriptor& ServiceTrials::RequestType(uint8_t which) {
  const Method& method = Methods()[(which & ~kOwnHandles) % Methods().size()];
  const MessageDescriptor* const type =
      method.is_master ? Master::RequestType(method.name) : Worker::RequestType(method.name);
  CHECK(type != nullptr);
  return *type;
}

void ServiceTrials::Call(Task& task, uint8_t which, std::span<const uint8_t> bytes) {
  const Method& method = Methods()[(which & ~kOwnHandles) % Methods().size()];
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  Result<OwnedMessage> request =
      ParseMessage(RequestType(which), text, {.max_memory = size_t{64} << 20});
  if (!request.ok()) return;
  if (method.graph != kNone && IsLeftOut((*request)->GetMessage(method.graph))) return;
  if ((which & kOwnHandles) == 0) {
    if (method.session != kNone) (*request)->SetString(method.session, task.session);
    if (method.graph_handle != kNone) (*request)->SetString(method.graph_handle, task.graph);
  }
  // Both outlive the call: a tensor may be asked for till the worker stops.
  const auto cancellation = std::make_shared<CancellationManager>();
  const auto end = [cancellation] { cancellation->Cancel(DeadlineExceeded("the trial is over")); };
  const Timer::Entry timer =
      environment_->timer().Add(Deadline::After(environment_->clock(), kCallLimit), end);
  const auto done = [this, &task, &method, cancellation](const Result<OwnedMessage>& response) {
    if (!response.ok()) return CHECK(!response.status().message().empty());
    ++num_answers_;
    if (method.made != kNone) {
      (method.is_master ? task.session : task.graph) = (*response)->GetString(method.made);
    }
  };
  if (method.is_master) {
    done(task.master.Call(method.name, **request, {cancellation.get(), kCallLimit}));
  } else {
    task.worker.Call(method.name, **request, {cancellation.get(), kCallLimit}, done);
  }
  environment_->timer().Remove(timer);
}

void ServiceTrials::Try(std::span<const uint8_t> input) {
  Task task(environment_);
  while (input.size() >= 3) {
    const uint8_t method = input[0];
    const size_t size =
        std::min<size_t>(input[1] | size_t{input[2]} << 8, input.size() - size_t{3});
    Call(task, method, input.subspan(3, size));
    input = input.subspan(3 + size);
  }
  task.master.CloseAll();
  task.worker.Stop(Cancelled("the trial is over"));
  environment_->ResetContainers({});
}

}  // namespace thalweg
