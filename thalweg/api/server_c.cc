// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <type_traits>

#include "thalweg/api/cache_directory.h"
#include "thalweg/api/device_count.h"
#include "thalweg/api/handles.h"
#include "thalweg/api/registries.h"
#include "thalweg/base/thread.h"
#include "thalweg/cluster/client/remote_metrics.h"
#include "thalweg/cluster/client/remote_recording.h"
#include "thalweg/cluster/client/remote_session.h"
#include "thalweg/cluster/server/server.h"
#include "thalweg/cluster/transport/grpc/rpc.h"
#include "thalweg/kernel/host_call.h"
#include "thalweg/proto/json_writer.h"
#include "thalweg/proto/messages.h"
#include "thalweg/proto/wire.h"
#include "thalweg/session/config_options.h"

using namespace thalweg;       // NOLINT: the file is glue for this namespace
using namespace thalweg::api;  // NOLINT

struct TwServer {
  std::shared_ptr<Server> server;
};
struct TwRecording {
  Recording recording;
};

namespace {

constexpr int64_t kMostMillis = int64_t{1000} * 3600 * 24 * 365;  // which nanoseconds can tell

// 0 keeps the default.
Status ReadLimits(const TwServerOptions& given, ServerOptions* options) {
  const auto set = [](int64_t limit, const char* name, auto* to) -> Status {
    if (limit < 0) return InvalidArgument(name, " is ", limit, ": expected 0 or more");
    if (limit > 0) *to = static_cast<std::remove_pointer_t<decltype(to)>>(limit);
    return OkStatus();
  };
  RETURN_IF_ERROR(set(given.message_limit, "message_limit", &options->max_message_bytes));
  RETURN_IF_ERROR(set(given.graph_limit, "graph_limit", &options->max_graph_bytes));
  RETURN_IF_ERROR(set(given.node_limit, "node_limit", &options->max_graph_nodes));
  RETURN_IF_ERROR(set(given.session_limit, "session_limit", &options->max_sessions));
  return set(given.call_limit, "call_limit", &options->max_waiting_calls);
}

Result<ServerOptions> MakeOptions(const Message& def, const TwServerOptions& given) {
  ServerOptions options;
  ASSIGN_OR_RETURN(options.cluster,
                   ClusterSpec::FromMessage(def.GetMessage(pb::ServerDef::kCluster)));
  const std::string_view protocol = def.GetString(pb::ServerDef::kProtocol);
  if (!protocol.empty() && protocol != "grpc") {
    return Unimplemented("the protocol '", protocol, "' of a server: only grpc is there");
  }
  if (!options.cluster.empty()) {
    options.job = def.GetString(pb::ServerDef::kJobName);
    options.task = static_cast<int>(def.GetInt(pb::ServerDef::kTaskIndex));
  }
  const Message& config = def.GetMessage(pb::ServerDef::kDefaultSessionConfig);
  ASSIGN_OR_RETURN(options.environment.device_count, DeviceCountAskedFor());
  ASSIGN_OR_RETURN(const ConfigOptions read,
                   ReadConfig(config, ConfigUse::kServer, {},
                              {.device_count = options.environment.device_count}));
  ASSIGN_OR_RETURN(options.session_config, Serialize(config));
  options.collective_leader = read.collective_leader;
  options.environment.threads = read.size.threads.value_or(options.environment.threads);
  options.environment.cpu_devices = read.size.cpu_devices.value_or(1);
  if (!read.size.spins) options.environment.spin_micros = 0;
  options.listen = given.listen == nullptr ? "" : given.listen;
  options.metrics = given.metrics == nullptr ? "" : given.metrics;
  options.insecure = given.insecure != 0;
  if (given.threads >= 0) options.environment.threads = given.threads;
  if (given.cpu_devices > 0) options.environment.cpu_devices = given.cpu_devices;
  options.environment.LimitDevices(read.size);
  options.environment.cache_directory = CacheDirectory();
  options.environment.memory_limit = given.memory_limit;
  const auto text = [](const char* given) { return std::string(given == nullptr ? "" : given); };
  options.tls = {text(given.tls_cert), text(given.tls_key), text(given.tls_ca)};
  if (const std::string channels = text(given.channels); !channels.empty()) {
    ASSIGN_OR_RETURN(options.channels, ParseChannelUse(channels));
  }
  RETURN_IF_ERROR(ReadLimits(given, &options));
  if (given.lost_after_ms != 0) {
    options.health.lost_after = std::chrono::milliseconds(given.lost_after_ms);
  }
  if (given.stuck_after_ms != 0) {
    options.health.stuck_after =
        std::chrono::milliseconds(std::max<int64_t>(0, given.stuck_after_ms));
  }
  return options;
}

std::chrono::milliseconds TimeoutOf(int64_t timeout_ms) {
  constexpr int64_t kDefaultMillis = 10'000;
  constexpr int64_t kDayMillis = int64_t{1000} * 3600 * 24;
  return std::chrono::milliseconds(timeout_ms < 1 ? kDefaultMillis
                                                  : std::min(timeout_ms, kDayMillis));
}

// 0 keeps the default.
RecordRequest MakeRequest(const TwRecordOptions& given) {
  RecordRequest request;
  if (given.steps != 0) request.steps = given.steps;
  if (given.slower_than_us >= 0) {
    constexpr int64_t kMostMicros = int64_t{1'000'000} * 3600 * 24 * 365;
    request.slower_than = std::chrono::microseconds(std::min(given.slower_than_us, kMostMicros));
  }
  request.failing = given.failing != 0;
  if (given.timeout_ms != 0) {
    request.timeout =
        std::chrono::milliseconds(std::clamp(given.timeout_ms, -kMostMillis, kMostMillis));
  }
  if (given.max_bytes != 0) request.max_bytes = given.max_bytes;
  request.session = given.session == nullptr ? "" : given.session;
  request.node = given.node == nullptr ? "" : given.node;
  return request;
}

std::string ReportJson(const Recording& recording) {
  JsonWriter json;
  json.BeginObject().Key("steps").BeginList();
  for (const KeptStep& step : recording.steps) {
    json.BeginObject().Key("session").Text(step.session).Key("id").Number(step.id);
    json.Key("start_micros").Number(step.start_wall_micros).Key("nanos").Number(step.nanos);
    json.Key("code").Number(static_cast<int64_t>(step.status.code()));
    json.Key("error").Text(step.status.message()).Key("silent").BeginList();
    for (const std::string& task : step.silent) json.Text(task);
    json.EndList().Key("bytes").Number(static_cast<int64_t>(step.metadata->size())).EndObject();
  }
  json.EndList().Key("seen").Number(recording.seen).Key("open").Number(recording.open);
  json.Key("too_large_bytes").Number(recording.too_large_bytes);
  json.Key("ended_by").Text(recording.ended_by).EndObject();
  return json.Take();
}

}  // namespace

extern "C" {

void tw_server_options_init(TwServerOptions* options) {
  if (options == nullptr) return;
  *options = TwServerOptions{};
  options->struct_size = sizeof(TwServerOptions);
  options->threads = -1;
}

TwServer* tw_server_new(const void* server_def, size_t size, const TwServerOptions* options,
                        TwStatus* status) {
  return GuardPointer<TwServer>(status, [&]() -> Result<TwServer*> {
    if (size > 0) RETURN_IF_ERROR(RequireAll({{"server_def", server_def}}));
    TwServerOptions defaults;
    tw_server_options_init(&defaults);
    const std::string_view bytes(static_cast<const char*>(server_def), size);
    ASSIGN_OR_RETURN(const OwnedMessage def, ParseMessage(pb::ServerDef::Descriptor(), bytes));
    ASSIGN_OR_RETURN(ServerOptions wanted, MakeOptions(*def, CopyOptions(options, defaults)));
    ASSIGN_OR_RETURN(std::unique_ptr<Server> server,
                     Server::Start(std::move(wanted), MakeRegistries()));
    return std::make_unique<TwServer>(TwServer{std::move(server)}).release();
  });
}

const char* tw_server_target(const TwServer* server) {
  return server == nullptr ? "" : server->server->target().c_str();
}

int32_t tw_server_port(const TwServer* server) {
  return server == nullptr ? 0 : server->server->port();
}

TwCode tw_server_stop(TwServer* server, TwStatus* status) {
  return Guard(status, [&]() -> Status {
    RETURN_IF_ERROR(RequireAll({{"server", server}}));
    RETURN_IF_ERROR(CheckNotForked());
    if (!HostCall::IsInside()) {
      server->server->Stop();
    } else {  // perhaps of a step that the server runs, and would wait for
      Thread::Detach("stop", [stopped = server->server] { stopped->Stop(); });
    }
    return OkStatus();
  });
}

TwBuffer* tw_server_dump(TwServer* server, TwStatus* status) {
  return GuardPointer<TwBuffer>(status, [&]() -> Result<TwBuffer*> {
    RETURN_IF_ERROR(RequireAll({{"server", server}}));
    return NewBuffer(server->server->Dump());
  });
}

TwBuffer* tw_debug_dump(const char* target, int64_t timeout_ms, TwStatus* status) {
  return GuardPointer<TwBuffer>(status, [&]() -> Result<TwBuffer*> {
    RETURN_IF_ERROR(RequireAll({{"target", target}}));
    ASSIGN_OR_RETURN(std::string text, DumpRemote(target, TimeoutOf(timeout_ms)));
    return NewBuffer(std::move(text));
  });
}

const char* tw_server_metrics_address(const TwServer* server) {
  return server == nullptr ? "" : server->server->metrics_address().c_str();
}

TwBuffer* tw_server_metrics(TwServer* server, TwStatus* status) {
  return GuardPointer<TwBuffer>(status, [&]() -> Result<TwBuffer*> {
    RETURN_IF_ERROR(RequireAll({{"server", server}}));
    return NewBuffer(MetricsJson(server->server->Metrics()));
  });
}

TwBuffer* tw_debug_metrics(const char* const* targets, int32_t n, int64_t timeout_ms,
                           TwStatus* status) {
  return GuardPointer<TwBuffer>(status, [&]() -> Result<TwBuffer*> {
    RETURN_IF_ERROR(RequireAll({{"targets", targets}}));
    ASSIGN_OR_RETURN(const std::vector<std::string> all, UnwrapTexts(targets, n, "target"));
    JsonWriter json;
    json.BeginList();
    for (const Result<std::string>& told : MetricsRemote(all, TimeoutOf(timeout_ms))) {
      json.BeginObject().Key(told.ok() ? "told" : "error");
      json.Text(told.ok() ? std::string_view(*told) : told.status().message()).EndObject();
    }
    return NewBuffer(json.EndList().Take());
  });
}

TwRecording* tw_trace_record(const char* target, const TwRecordOptions* options, TwRunOptions* run,
                             TwStatus* status) {
  return GuardPointer<TwRecording>(status, [&]() -> Result<TwRecording*> {
    RETURN_IF_ERROR(RequireAll({{"target", target}}));
    TwRecordOptions defaults;
    tw_record_options_init(&defaults);
    ASSIGN_OR_RETURN(Recording recording,
                     RecordRemote(target, MakeRequest(CopyOptions(options, defaults)),
                                  run == nullptr ? nullptr : &run->cancellation));
    return std::make_unique<TwRecording>(TwRecording{std::move(recording)}).release();
  });
}

TwBuffer* tw_recording_report(const TwRecording* recording, TwStatus* status) {
  return GuardPointer<TwBuffer>(status, [&]() -> Result<TwBuffer*> {
    RETURN_IF_ERROR(RequireAll({{"recording", recording}}));
    return NewBuffer(ReportJson(recording->recording));
  });
}

const void* tw_recording_metadata(const TwRecording* recording, int64_t i, size_t* size) {
  if (size != nullptr) *size = 0;
  if (recording == nullptr || i < 0 || size == nullptr) return nullptr;
  const std::vector<KeptStep>& steps = recording->recording.steps;
  if (static_cast<size_t>(i) >= steps.size()) return nullptr;
  *size = steps[static_cast<size_t>(i)].metadata->size();
  return steps[static_cast<size_t>(i)].metadata->data();
}

void tw_recording_free(TwRecording* recording) { delete recording; }

int32_t tw_server_join(TwServer* server, int64_t timeout_ms) {
  if (server == nullptr || !CheckNotForked().ok()) return 1;
  return server->server->Join(
             timeout_ms < 0
                 ? Deadline::Never()
                 : Deadline::After(server->server->environment()->clock(),
                                   std::chrono::milliseconds(std::min(timeout_ms, kMostMillis))))
             ? 1
             : 0;
}

void tw_server_free(TwServer* server) {
  if (server == nullptr || !CheckNotForked().ok()) return;  // a fork has none of its threads
  if (!HostCall::IsInside()) {
    delete server;
  } else {
    Thread::Detach("stop", [server] { delete server; });
  }
}

}  // extern "C"
