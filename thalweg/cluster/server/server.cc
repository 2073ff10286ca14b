// SPDX-License-Identifier: Apache-2.0
#include "thalweg/cluster/server/server.h"

#include <utility>

#include "thalweg/cluster/client/remote_target.h"
#include "thalweg/cluster/debug/dump.h"
#include "thalweg/cluster/debug/placement_question.h"
#include "thalweg/cluster/master/channel_callable.h"
#include "thalweg/cluster/master/cluster_session.h"
#include "thalweg/cluster/transport/tcp_sockets.h"
#include "thalweg/proto/messages.h"
#include "thalweg/proto/wire.h"
#include "thalweg/session/config_options.h"

namespace thalweg {
namespace {

// How long calls that are open at a stop may still take.
constexpr std::chrono::milliseconds kGrace{500};
constexpr std::chrono::seconds kResetTimeout{10};  // for other tasks to empty their containers

// "/tensorflow.MasterService/RunStep" -> "MasterService", "RunStep". Old releases say
// "tensorflow.grpc.MasterService".
struct MethodName {
  std::string_view service;
  std::string_view method;
};
MethodName Split(std::string_view path) {
  const size_t slash = path.rfind('/');
  if (!path.starts_with('/') || slash == 0 || slash == std::string_view::npos) return {};
  std::string_view service = path.substr(1, slash - 1);
  for (const std::string_view package : {"tensorflow.grpc.", "tensorflow."}) {
    if (!service.starts_with(package)) continue;
    service.remove_prefix(package.size());
    return {service, path.substr(slash + 1)};
  }
  return {};
}

// Channels are not encrypted and know no limit of a message: gRPC carries all where one is asked
// for.
bool MayHaveChannels(const ServerOptions& options) {
  return options.tls.empty() && options.max_message_bytes == 0;
}

Status CheckChannels(const ServerOptions& options) {
  if (MayHaveChannels(options) || options.channels == ChannelUse::kAny ||
      options.channels == ChannelUse::kNone) {
    return OkStatus();
  }
  return InvalidArgument(
      "a kind of channel (--channels) is asked for together with ",
      options.tls.empty() ? "a limit of messages (--max-message-bytes), which channels do not have"
                          : "certificates (--tls-cert): channels are not encrypted");
}

// One of the calls that come through channels, while it lives; `number`: with those before it.
class ChannelCall {
 public:
  explicit ChannelCall(std::atomic<int>& open) : number(open.fetch_add(1) + 1), open_(open) {}
  ChannelCall(const ChannelCall&) = delete;
  ChannelCall& operator=(const ChannelCall&) = delete;
  ~ChannelCall() { open_.fetch_sub(1); }
  const int number;

 private:
  std::atomic<int>& open_;
};

}  // namespace

Server::Server(Token, ServerOptions options, TlsTexts tls, std::shared_ptr<Environment> environment)
    : options_(std::move(options)),
      tls_(std::move(tls)),
      environment_(std::move(environment)),
      begun_(environment_->clock().Now()),
      peers_(options_.cluster, TaskName(options_.job, options_.task), tls_),
      channel_steps_(environment_->allocator(), environment_->clock(),
                     environment_->devices().front()->incarnation()),
      channels_(peers_, channel_steps_,
                MayHaveChannels(options_) ? options_.channels : ChannelUse::kNone,
                environment_->inproc(), &environment_->logger()),
      worker_(environment_, peers_, channels_,
              {.max_sessions = options_.max_sessions, .max_nodes = options_.max_graph_nodes},
              options_.health),
      master_(
          environment_,
          [this](std::shared_ptr<Graph> graph, const Message& request, const MasterCall& call) {
            return MakeSession(std::move(graph), request, call);
          },
          [this](const std::vector<std::string>& containers) {
            return ResetTasks(peers_, containers, kResetTimeout);
          },
          {.max_sessions = options_.max_sessions, .max_nodes = options_.max_graph_nodes}),
      calls_(environment_->clock()),
      threads_(options_.max_waiting_calls) {
  worker_.set_collective_leader(options_.collective_leader);
}

Result<std::unique_ptr<Server>> Server::Start(ServerOptions options, Registries registries) {
  if (options.cluster.empty()) {
    RETURN_IF_ERROR(options.cluster.Add(options.job, options.task, "127.0.0.1:0"));
  }
  RETURN_IF_ERROR(options.cluster.Address(options.job, options.task).status());
  RETURN_IF_ERROR(CheckChannels(options));
  ASSIGN_OR_RETURN(TlsTexts tls, ReadTls(options.tls));
  RETURN_IF_ERROR(options.health.Validate());
  if (!options.collective_leader.empty()) {
    ASSIGN_OR_RETURN(options.collective_leader,
                     CollectiveRendezvous::ParseLeader(options.collective_leader));
  }
  options.environment.job = options.job;
  options.environment.task = options.task;
  ASSIGN_OR_RETURN(std::shared_ptr<Environment> environment,
                   Environment::Create(options.environment, std::move(registries)));
  auto server =
      std::make_unique<Server>(Token(), std::move(options), std::move(tls), std::move(environment));
  RETURN_IF_ERROR(server->Listen());
  if (!server->options_.collective_leader.empty()) server->worker_.Greet();
  return server;
}

Status Server::CheckExposure(const HostPort& where) const {
  if (!tls_.empty() && options_.insecure) {
    return InvalidArgument("insecure and --tls-cert contradict each other: give one of the two");
  }
  if (IsLoopback(where.host) || !tls_.empty() || options_.insecure) return OkStatus();
  return InvalidArgument(
      "task ", options_.job, ":", options_.task, " is to listen on ",
      JoinHostPort(where.host, where.port),
      ", which other machines reach, and nothing protects it there: give certificates (--tls-cert, "
      "--tls-key, --tls-ca) or a loopback address, or say insecure (--insecure) where the network "
      "is trusted");
}

Status Server::Listen() {
  ASSIGN_OR_RETURN(std::string address, options_.cluster.Address(options_.job, options_.task));
  if (!options_.listen.empty()) address = options_.listen;
  ASSIGN_OR_RETURN(const HostPort where, ParseHostPort(address));
  RETURN_IF_ERROR(CheckExposure(where));
  // The name may stand for several addresses; this is the one that is meant.
  const std::string host = where.host == "localhost" ? "127.0.0.1" : where.host;
  if (Result<std::string> numeric = NumericHost(host); numeric.ok()) {
    channels_.set_tcp_host(*std::move(numeric));
  } else {
    environment_->logger().Warning("tasks of other hosts are spoken to by calls: ",
                                   numeric.status().message());
  }
  ASSIGN_OR_RETURN(rpc_, RpcServer::Start({.address = JoinHostPort(host, where.port),
                                           .max_message_bytes = options_.max_message_bytes,
                                           .tls = tls_},
                                          [this](std::shared_ptr<IncomingCall> call) {
                                            Handle(std::move(call));
                                          }));
  target_ =
      TargetText({JoinHostPort(where.port == 0 ? host : where.host, rpc_->port()), options_.tls});
  return options_.metrics.empty() ? OkStatus() : ListenForMetrics();
}

Status Server::ListenForMetrics() {
  const std::string& given = options_.metrics;
  const bool is_port = given.find(':') == std::string::npos;
  Result<HostPort> where = ParseHostPort(is_port ? StrCat("127.0.0.1:", given) : given);
  if (!where.ok()) {
    return InvalidArgument("expected PORT or HOST:PORT for metrics (--metrics), got '", given,
                           "': ", where.status().message());
  }
  Result<std::unique_ptr<HttpResponder>> started =
      HttpResponder::Start(*where, "/metrics", [this] { return MetricsText(Metrics()); });
  if (!started.ok()) {
    return started.status().WithContext(StrCat("metrics (--metrics) at '", given, "'"));
  }
  metrics_ = *std::move(started);
  metrics_address_ = metrics_->address();
  return OkStatus();
}

void Server::Stop() {
  bool stops_already = false;
  {
    MutexLock lock(mutex_);
    stops_already = std::exchange(stopping_, true);
  }
  if (stops_already) return stopped_.Wait();
  metrics_.reset();
  master_.recorder().Stop(Cancelled("the server of ", peers_.self(), " is stopping"));
  master_.CloseAll();
  worker_.Stop(Cancelled("the server of ", peers_.self(), " is stopping"));
  if (rpc_ != nullptr) rpc_->Stop(kGrace);
  master_.CloseAll();  // what was made meanwhile
  worker_.Stop(Cancelled("the server of ", peers_.self(), " has stopped"));
  worker_.health().Stop();
  stopped_.Notify();
}

DumpSources Server::Sources() {
  return {.task = peers_.self(),
          .steps = worker_.steps(),
          .channels = channel_steps_,
          .environment = *environment_,
          .health = worker_.health(),
          .calls = calls_};
}

std::string Server::Dump() { return MakeDump(Sources()); }

TaskMetrics Server::Metrics() {
  return ReadMetrics({.now = Sources(),
                      .steps = master_.steps(),
                      .parts = worker_.parts(),
                      .peers = peers_,
                      .sessions = master_.num_sessions(),
                      .graphs = worker_.num_graphs(),
                      .begun = begun_});
}

void Server::Handle(std::shared_ptr<IncomingCall> call) {
  if (call->method() == kDumpMethod) return call->Answer(Dump());
  if (call->method() == kMetricsMethod) return call->Answer(MetricsJson(Metrics()));
  call = calls_.Track(std::move(call));
  const MethodName name = Split(call->method());
  if (name.service == "WorkerService" && !Worker::Blocks(name.method)) return Answer(call);
  const Status status = threads_.Run([this, call] { Answer(call); });
  if (!status.ok()) call->Answer(status);
}

void Server::Answer(const std::shared_ptr<IncomingCall>& call) {
  const MethodName name = Split(call->method());
  if (call->method() == kExplainPlacementMethod) return call->Answer(AnswerPlacement(*call));
  if (call->method() == kRecordMethod) return call->Answer(AnswerRecord(*call));
  if (call->method() == kEndRecordingMethod) return call->Answer(AnswerEndRecording(*call));
  if (name.service == "MasterService") return call->Answer(AnswerMaster(name.method, *call));
  if (name.service == "WorkerService") return AnswerWorker(name.method, call);
  call->Answer(Unimplemented("this server has no service for ", call->method()));
}

// Before it is read: what a message takes in memory is several times its bytes.
Status Server::CheckSize(std::string_view method, const IncomingCall& call) const {
  const bool has_graph =
      method == "CreateSession" || method == "ExtendSession" || method == "RegisterGraph";
  const auto bytes = static_cast<int64_t>(call.request().size());
  if (!has_graph || options_.max_graph_bytes <= 0 || bytes <= options_.max_graph_bytes) {
    return OkStatus();
  }
  return ResourceExhausted("the request of ", method, " has ", bytes,
                           " bytes; this server takes graphs of at most ", options_.max_graph_bytes,
                           " (--max-graph-bytes)");
}

// A few bytes of a message may ask for half a kilobyte of its tree, which a caller is not given
// beyond what this server may use at all.
Result<OwnedMessage> Server::Read(std::string_view method, const MessageDescriptor& type,
                                  const IncomingCall& call) const {
  ParseOptions options{.borrow = true, .max_bytes = kMaxCallBytes};
  const int64_t limit = environment_->allocator()->Stats().limit;
  if (limit > 0) options.max_memory = std::min(options.max_memory, static_cast<size_t>(limit));
  Result<OwnedMessage> request = ParseMessage(type, call.request(), options);
  if (request.ok()) return request;
  const Code code = request.status().code() == Code::kResourceExhausted ? Code::kResourceExhausted
                                                                        : Code::kInternal;
  return Status(code,
                StrCat("the request of ", method, " cannot be read: ", request.status().message()));
}

Result<std::string> Server::AnswerMaster(std::string_view method, IncomingCall& call) {
  const MessageDescriptor* const type = Master::RequestType(method);
  if (type == nullptr) return Unimplemented("the master has no method ", method);
  RETURN_IF_ERROR(CheckSize(method, call));
  ASSIGN_OR_RETURN(const OwnedMessage request, Read(method, *type, call));
  ASSIGN_OR_RETURN(const OwnedMessage response,
                   master_.Call(method, *request, {&call.cancellation(), call.timeout()}));
  if (method == "MakeCallable") {
    RETURN_IF_ERROR(ServeByChannel(*request, *response));
  }
  return Serialize(*response, kMaxCallBytes);
}

Result<std::string> Server::AnswerPlacement(const IncomingCall& call) {
  ASSIGN_OR_RETURN(const SessionPlacementQuestion asked, ReadPlacementQuestion(call.request()));
  return master_.ExplainPlacement(asked.session, asked.node);
}

Result<std::string> Server::AnswerRecord(IncomingCall& call) {
  ASSIGN_OR_RETURN(const RecordRequest asked, ReadRecordRequest(call.request()));
  ASSIGN_OR_RETURN(const Recording recorded,
                   master_.recorder().Record(asked, &call.cancellation()));
  return RecordingBytes(recorded);
}

Result<std::string> Server::AnswerEndRecording(const IncomingCall& call) {
  ASSIGN_OR_RETURN(const RecordRequest asked, ReadRecordRequest(call.request()));
  if (master_.recorder().End(asked.id, "who asked for it has ended it")) return std::string();
  return NotFound("no recording has the number ", asked.id);
}

// A client of ours runs its callables through the channel that it has made.
Status Server::ServeByChannel(const Message& request, const Message& response) {
  const Result<Hello> hello = FindHello(request.unknown_fields());
  if (!hello.ok()) return OkStatus();
  const std::shared_ptr<Connection> connection = channels_.FindOpen(hello->task);
  if (connection == nullptr) return Unavailable("the channel to ", hello->task, " is closed");
  const std::string session(request.GetString(pb::MakeCallableRequest::kSessionHandle));
  const int64_t number = response.GetInt(pb::MakeCallableResponse::kHandle);
  RETURN_IF_ERROR(master_.FindCallable(session, number).status());
  RETURN_IF_ERROR(channel_steps_.AddSession(hello->token, connection.get()));
  const auto run = [this, session, number, client = std::weak_ptr<Connection>(connection)](
                       ChannelRendezvous& step, PartRun& how) -> Status {
    const std::shared_ptr<Connection> to = client.lock();
    if (to == nullptr) return Cancelled("the client has gone");
    ASSIGN_OR_RETURN(const MasterSession::Prepared prepared, master_.FindCallable(session, number));
    const ChannelCall counted(num_channel_calls_);
    if (counted.number > options_.max_waiting_calls) {
      return TooManyCalls(options_.max_waiting_calls);
    }
    StepCounter::Open open(master_.steps());
    return open.End(RunCallableByChannel({prepared, master_.recorder(), session}, to, step, how,
                                         channel_steps_.hub()));
  };
  channel_steps_.AddPlan(hello->token, static_cast<uint64_t>(number),
                         {std::make_shared<ChannelEdges>(), run});
  return OkStatus();
}

void Server::AnswerWorker(std::string_view method, const std::shared_ptr<IncomingCall>& call) {
  const MessageDescriptor* const type = Worker::RequestType(method);
  if (type == nullptr) {
    return call->Answer(Unimplemented("the worker has no method ", method));
  }
  if (Status status = CheckSize(method, *call); !status.ok()) return call->Answer(status);
  const Result<OwnedMessage> request = Read(method, *type, *call);
  if (!request.ok()) return call->Answer(request.status());
  // A task that offers a channel says so in its GetStatus, and hears there that it was taken.
  std::string hello;
  if (method == "GetStatus") {
    hello = channels_.Accept((*request)->unknown_fields(), call->peer_host());
  }
  worker_.Call(method, **request, {&call->cancellation(), call->timeout()},
               [call, hello](Result<OwnedMessage> response) {
                 if (!response.ok()) return call->Answer(response.status());
                 Result<std::string> bytes = Serialize(**response, kMaxCallBytes);
                 if (bytes.ok()) *bytes += hello;
                 call->Answer(std::move(bytes));
               });
}

// What a session asks for, under what the server's own configuration says.
Result<OwnedMessage> Server::MergedConfig(const Message* config) const {
  OwnedMessage merged(pb::ConfigProto::Descriptor());
  if (config != nullptr) merged->MergeFrom(*config);
  RETURN_IF_ERROR(MergeFromBytes(*merged, options_.session_config));
  return merged;
}

Result<std::shared_ptr<SessionCluster>> Server::OwnClusterOf(const Message& cluster_def,
                                                             std::string_view target) const {
  ASSIGN_OR_RETURN(ClusterSpec spec, ClusterSpec::FromMessage(cluster_def));
  std::vector<std::string> addresses;
  for (const std::string_view text : {std::string_view(target_), target}) {
    const std::string address(AddressInTarget(text));
    if (ParseHostPort(address).ok()) addresses.push_back(address);
  }
  if (Result<std::string> told = options_.cluster.Address(options_.job, options_.task); told.ok()) {
    addresses.push_back(*std::move(told));
  }
  ASSIGN_OR_RETURN(const SessionCluster::Self self, SessionCluster::FindSelf(spec, addresses));
  if (self.job == options_.job && self.task == options_.task)
    return std::shared_ptr<SessionCluster>();
  return SessionCluster::Make(environment_, std::move(spec), self, tls_);
}

Result<Master::MadeSession> Server::MakeSession(std::shared_ptr<Graph> graph,
                                                const Message& request, const MasterCall& call) {
  const Message* const config = request.FindMessage(pb::CreateSessionRequest::kConfig);
  ASSIGN_OR_RETURN(const OwnedMessage merged, MergedConfig(config));
  const EnvironmentOptions& here = environment_->options();
  ASSIGN_OR_RETURN(const ConfigOptions read,
                   ReadConfig(*merged, ConfigUse::kRemoteSession, {},
                              {.threads = here.threads,
                               .cpu_devices = here.cpu_devices,
                               .spins = here.spin_micros > 0,
                               .device_count = here.device_count,
                               .visible_gpus = here.visible_gpus,
                               .gpu_memory_fraction = here.gpu_memory_fraction}));
  if (const std::string warning = read.Warning(); !warning.empty()) {
    environment_->WarnOnce(warning);
  }
  ClusterSessionOptions options;
  options.session = read.session;
  if (config == nullptr && options.session.placement == PlacementRule::kStrict) {
    options.session.placement = PlacementRule::kAcceleratorsToCpu;
  }
  const std::chrono::nanoseconds timeout = read.session.default_timeout;
  const Message& cluster_def = merged->GetMessage(pb::ConfigProto::kClusterDef);
  if (cluster_def.Size(pb::ClusterDef::kJob) > 0) {
    options.cluster = &cluster_def;
    ASSIGN_OR_RETURN(
        options.own_cluster,
        OwnClusterOf(cluster_def, request.GetString(pb::CreateSessionRequest::kTarget)));
  }
  const bool is_own = options.own_cluster != nullptr;
  if (is_own) options.session.share_resources = read.shares_state_of_tasks;
  const std::shared_ptr<Environment>& environment =
      is_own ? options.own_cluster->environment : environment_;
  WorkerClients& peers = is_own ? options.own_cluster->peers : peers_;
  if ((is_own || options.cluster == nullptr) && peers.Others().empty()) {
    ASSIGN_OR_RETURN(std::unique_ptr<Session> session,
                     MakeLocalSession(environment, std::move(graph), options.session));
    return Master::MadeSession{std::move(session), timeout};
  }
  if (is_own) options.own_health = worker_.MakeMasterHealth(options.own_cluster);
  // What a session calls tasks otherwise has no channels, and its names are nobody else's.
  if (!is_own) options.links = &worker_.links();
  Health& health = is_own ? *options.own_health : worker_.health();
  // Less than the client waits, so that it hears who did not come.
  if (timeout.count() > 0) {
    options.join_timeout =
        std::min<std::chrono::nanoseconds>(timeout, std::chrono::minutes(1)) / 10 * 7;
  }
  // The call may have a timeout of its own.
  if (call.timeout.count() > 0) {
    options.join_timeout = std::min(options.join_timeout, call.timeout / 10 * 7);
  }
  options.cancellation = call.cancellation;
  options.collective_leader = read.collective_leader;
  if (options.collective_leader.empty()) options.collective_leader = options_.collective_leader;
  options.schedule_receives = read.schedule_receives;
  options.device_filters = read.device_filters;
  ASSIGN_OR_RETURN(std::unique_ptr<Session> session,
                   MakeClusterSession(environment, peers, worker_.steps(), channels_, health,
                                      std::move(graph), std::move(options)));
  return Master::MadeSession{std::move(session), timeout};
}

}  // namespace thalweg
