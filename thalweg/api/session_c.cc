// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "thalweg/api/handles.h"
#include "thalweg/base/first_error.h"
#include "thalweg/cluster/client/remote_session.h"
#include "thalweg/proto/messages.h"
#include "thalweg/proto/wire.h"
#include "thalweg/session/config_options.h"
#include "thalweg/session/run_metadata_message.h"
#include "thalweg/tensor/inlined_tensors.h"

using namespace thalweg;       // NOLINT: the file is glue for this namespace
using namespace thalweg::api;  // NOLINT

namespace {

Status FillFeeds(TwTensor* const* values, std::span<Tensor> feeds) {
  RETURN_IF_ERROR(CheckArray(values, static_cast<int64_t>(feeds.size()), "feed"));
  for (size_t i = 0; i < feeds.size(); ++i) {
    if (values[i] == nullptr) return InvalidArgument("feed ", i, " is no tensor");
    feeds[i] = values[i]->tensor;
  }
  return OkStatus();
}

// results[0, n) can be written.
Status CheckResults(TwTensor** results, int64_t n) { return CheckArray(results, n, "fetch"); }

void GiveResults(std::span<Tensor> fetches, TwTensor** results) {
  for (size_t i = 0; i < fetches.size(); ++i) results[i] = NewTensor(std::move(fetches[i]));
}

// As nanoseconds, without overflow; what is negative stays so, and is refused.
std::chrono::nanoseconds Milliseconds(int64_t count) {
  constexpr int64_t kMost =
      std::chrono::milliseconds(std::chrono::nanoseconds::max().count() / 1'000'000).count();
  return std::chrono::milliseconds(std::clamp(count, int64_t{-1}, kMost));
}

const RunOptions& OptionsOf(const TwRunOptions* options, const RunOptions& none) {
  return options == nullptr ? none : options->options;
}

Result<std::vector<Session::NamedTensor>> NamedFeeds(std::vector<std::string> names,
                                                     TwTensor* const* values) {
  std::vector<Tensor> tensors(names.size());
  RETURN_IF_ERROR(FillFeeds(values, tensors));
  std::vector<Session::NamedTensor> feeds;
  for (size_t i = 0; i < names.size(); ++i) {
    feeds.emplace_back(std::move(names[i]), std::move(tensors[i]));
  }
  return feeds;
}

// Calls run(metadata or null) and turns what it filled into a message.
template <class F>
Status WithMetadata(TwBuffer** out, const TwRunOptions* options, F&& run) {
  if (out == nullptr) return run(nullptr);
  RunMetadata metadata;
  Status status = run(&metadata);
  const bool is_wanted = status.ok() || (options != nullptr && options->metadata_of_failures &&
                                         !metadata.step_stats.traces.empty());
  if (!is_wanted) return status;
  Result<std::string> message = RunMetadataMessage(std::move(metadata));
  KeepFirstError(message.status(), &status);
  if (message.ok()) *out = NewBuffer(*std::move(message));
  return status;
}

std::vector<std::string> OutputNames(const std::vector<Output>& outputs) {
  std::vector<std::string> names;
  for (const Output& output : outputs) names.push_back(output.ToString());
  return names;
}

// What a ConfigProto makes of the options and, in this process, of the environment. A server says
// itself what it does not follow.
Result<SessionOptions> FollowConfig(std::string_view bytes, bool is_remote,
                                    const SessionOptions& options,
                                    std::shared_ptr<Environment>* environment) {
  ASSIGN_OR_RETURN(const OwnedMessage config, ParseMessage(pb::ConfigProto::Descriptor(), bytes));
  ASSIGN_OR_RETURN(
      const ConfigOptions read,
      ReadConfig(*config, is_remote ? ConfigUse::kRemoteSession : ConfigUse::kLocalSession, options,
                 {.device_count = (*environment)->options().device_count}));
  if (is_remote) return read.session;
  if (const std::string warning = read.Warning(); !warning.empty()) {
    (*environment)->WarnOnce(warning);
  }
  ASSIGN_OR_RETURN(*environment, Environment::Sized(*environment, read.size));
  return read.session;
}

}  // namespace

extern "C" {

void tw_session_options_init(TwSessionOptions* options) {
  if (options == nullptr) return;
  *options = TwSessionOptions{};
  options->struct_size = sizeof(TwSessionOptions);
}

TwSession* tw_session_new(TwEnvironment* environment, TwGraph* graph,
                          const TwSessionOptions* options, TwStatus* status) {
  return GuardPointer<TwSession>(status, [&]() -> Result<TwSession*> {
    RETURN_IF_ERROR(RequireAll({{"environment", environment}, {"graph", graph}}));
    RETURN_IF_ERROR(RequireNoBody(graph, "session"));
    TwSessionOptions defaults;
    tw_session_options_init(&defaults);
    const TwSessionOptions given = CopyOptions(options, defaults);
    SessionOptions wanted;
    if (given.passes != nullptr) wanted.passes = given.passes;
    if (given.strict_placement != 0) wanted.placement = PlacementRule::kStrict;
    wanted.log_placement = given.log_placement != 0;
    wanted.share_resources = given.share_resources != 0;
    wanted.strict_graph = given.strict_graph != 0;
    wanted.default_timeout = Milliseconds(given.timeout_ms);
    if (given.trace_bytes != 0) wanted.trace_bytes = given.trace_bytes;
    const bool is_remote = given.target != nullptr && *given.target != 0;
    std::shared_ptr<Environment> environment_of_it = EnvironmentOf(environment);
    if (given.config_size > 0) RETURN_IF_ERROR(RequireAll({{"config", given.config}}));
    if (given.config != nullptr) {
      ASSIGN_OR_RETURN(wanted,
                       FollowConfig({static_cast<const char*>(given.config), given.config_size},
                                    is_remote, wanted, &environment_of_it));
    }
    if (is_remote) {
      RETURN_IF_ERROR(wanted.Validate());
      RemoteSessionOptions remote;
      if (given.config != nullptr) {
        remote.config.emplace(static_cast<const char*>(given.config), given.config_size);
      }
      remote.timeout = wanted.default_timeout;
      ASSIGN_OR_RETURN(std::shared_ptr<Session> session,
                       MakeRemoteSession(EnvironmentOf(environment), graph->graph, given.target,
                                         std::move(remote)));
      return std::make_unique<TwSession>(TwSession{std::move(session)}).release();
    }
    ASSIGN_OR_RETURN(std::unique_ptr<Session> session,
                     MakeLocalSession(std::move(environment_of_it), graph->graph, wanted));
    return std::make_unique<TwSession>(TwSession{std::move(session)}).release();
  });
}

TwCode tw_session_close(TwSession* session, TwStatus* status) {
  return Guard(status, [&]() -> Status {
    RETURN_IF_ERROR(RequireAll({{"session", session}}));
    session->session->Close();
    return OkStatus();
  });
}
void tw_session_free(TwSession* session) { delete session; }

TwBuffer* tw_session_list_devices(TwSession* session, TwStatus* status) {
  return GuardPointer<TwBuffer>(status, [&]() -> Result<TwBuffer*> {
    RETURN_IF_ERROR(RequireAll({{"session", session}}));
    ASSIGN_OR_RETURN(const std::vector<DeviceDescription> devices, session->session->ListDevices());
    OwnedMessage response(pb::ListDevicesResponse::Descriptor());
    for (const DeviceDescription& device : devices) {
      Message* const out = response->Add(pb::ListDevicesResponse::kLocalDevice);
      out->SetString(pb::DeviceAttributes::kName, device.name);
      out->SetString(pb::DeviceAttributes::kDeviceType, device.type);
      out->SetInt(pb::DeviceAttributes::kMemoryLimit, device.memory_limit);
      out->SetUint(pb::DeviceAttributes::kIncarnation, device.incarnation);
      out->SetString(pb::DeviceAttributes::kPhysicalDeviceDesc, device.hardware);
    }
    ASSIGN_OR_RETURN(std::string bytes, Serialize(*response));
    return NewBuffer(std::move(bytes));
  });
}

TwCode tw_target_reset(const char* target, const char* const* containers, int32_t n,
                       int64_t timeout_ms, TwStatus* status) {
  return Guard(status, [&]() -> Status {
    RETURN_IF_ERROR(RequireAll({{"target", target}}));
    ASSIGN_OR_RETURN(const std::vector<std::string> names, UnwrapTexts(containers, n, "container"));
    return ResetRemote(target, names, Milliseconds(std::max<int64_t>(timeout_ms, 0)));
  });
}

TwCode tw_target_reset_config(const char* target, const char* const* containers, int32_t n,
                              const void* config, size_t config_size, TwStatus* status) {
  return Guard(status, [&]() -> Status {
    RETURN_IF_ERROR(RequireAll({{"target", target}}));
    ASSIGN_OR_RETURN(const std::vector<std::string> names, UnwrapTexts(containers, n, "container"));
    if (config == nullptr) return ResetRemote(target, names, {});
    ASSIGN_OR_RETURN(const OwnedMessage message,
                     ParseMessage(pb::ConfigProto::Descriptor(),
                                  std::string_view(static_cast<const char*>(config), config_size)));
    ASSIGN_OR_RETURN(const ConfigOptions read, ReadConfig(*message, ConfigUse::kRemoteSession, {}));
    return ResetRemote(target, names, read.session.default_timeout);
  });
}

TwRunOptions* tw_run_options_new(void) {
  return Quietly<TwRunOptions*>(nullptr, [] {
    auto options = std::make_unique<TwRunOptions>();
    options->options.cancellation = &options->cancellation;
    return options.release();
  });
}
void tw_run_options_free(TwRunOptions* options) { delete options; }
void tw_run_options_timeout_ms(TwRunOptions* options, int64_t timeout_ms) {
  if (options != nullptr) options->options.timeout = Milliseconds(timeout_ms);
}
void tw_run_options_timeout_spent_ms(TwRunOptions* options, int64_t spent_ms) {
  if (options != nullptr) options->options.spent = Milliseconds(std::max<int64_t>(spent_ms, 0));
}
void tw_run_options_trace_level(TwRunOptions* options, int32_t level) {
  if (options == nullptr) return;
  options->options.trace = static_cast<TraceLevel>(level < 0 ? 0 : level > 3 ? 3 : level);
}
void tw_run_options_output_partition_graphs(TwRunOptions* options, int32_t on) {
  if (options != nullptr) options->options.partition_graphs = on != 0;
}
void tw_run_options_collective_graph_key(TwRunOptions* options, int64_t key) {
  if (options != nullptr) options->options.collective_graph_key = key;
}

void tw_run_options_inter_op_thread_pool(TwRunOptions* options, int32_t pool) {
  if (options != nullptr) options->options.inter_op_thread_pool = pool;
}
void tw_run_options_memory_plan(TwRunOptions* options, int32_t on) {
  if (options != nullptr) options->options.memory_plan = on != 0;
}
void tw_run_options_check_numerics(TwRunOptions* options, int32_t on) {
  if (options != nullptr) options->options.check_numerics = on != 0;
}
void tw_run_options_metadata_of_failures(TwRunOptions* options, int32_t on) {
  if (options != nullptr) options->metadata_of_failures = on != 0;
}
void tw_run_options_cancel(TwRunOptions* options) {
  if (options == nullptr) return;
  Guard(nullptr, [&] {
    options->cancellation.Cancel(Cancelled("the run was cancelled by its caller"));
    return OkStatus();
  });
}

TwCode tw_session_run(TwSession* session, const TwRunOptions* options, const TwOutput* feeds,
                      TwTensor* const* feed_values, int32_t num_feeds, const TwOutput* fetches,
                      int32_t num_fetches, TwNode* const* targets, int32_t num_targets,
                      TwTensor** results, TwBuffer** metadata, TwStatus* status) {
  return Guard(status, [&]() -> Status {
    RETURN_IF_ERROR(RequireAll({{"session", session}}));
    RETURN_IF_ERROR(CheckResults(results, num_fetches));
    ASSIGN_OR_RETURN(const Signature signature,
                     MakeSignature(feeds, num_feeds, fetches, num_fetches, targets, num_targets));
    InlinedTensors values(static_cast<size_t>(num_feeds));
    InlinedTensors fetched(static_cast<size_t>(num_fetches));
    RETURN_IF_ERROR(FillFeeds(feed_values, values.span()));
    const RunOptions none;
    RETURN_IF_ERROR(WithMetadata(metadata, options, [&](RunMetadata* filled) {
      return session->session->Run(OptionsOf(options, none), signature, values.span(),
                                   fetched.span(), filled);
    }));
    GiveResults(fetched.span(), results);
    return OkStatus();
  });
}

TwCode tw_session_run_names(TwSession* session, const TwRunOptions* options,
                            const char* const* feeds, TwTensor* const* feed_values,
                            int32_t num_feeds, const char* const* fetches, int32_t num_fetches,
                            const char* const* targets, int32_t num_targets, TwTensor** results,
                            TwBuffer** metadata, TwStatus* status) {
  return Guard(status, [&]() -> Status {
    RETURN_IF_ERROR(RequireAll({{"session", session}}));
    RETURN_IF_ERROR(CheckResults(results, num_fetches));
    ASSIGN_OR_RETURN(std::vector<std::string> fed, UnwrapTexts(feeds, num_feeds, "feed"));
    ASSIGN_OR_RETURN(const std::vector<std::string> fetched,
                     UnwrapTexts(fetches, num_fetches, "fetch"));
    ASSIGN_OR_RETURN(const std::vector<std::string> run_only,
                     UnwrapTexts(targets, num_targets, "target"));
    ASSIGN_OR_RETURN(const std::vector<Session::NamedTensor> named,
                     NamedFeeds(std::move(fed), feed_values));
    std::vector<Tensor> outputs;
    const RunOptions none;
    RETURN_IF_ERROR(WithMetadata(metadata, options, [&](RunMetadata* filled) {
      return session->session->Run(OptionsOf(options, none), named, fetched, run_only, &outputs,
                                   filled);
    }));
    GiveResults(outputs, results);
    return OkStatus();
  });
}

TwCallable* tw_session_make_callable(TwSession* session, const TwOutput* feeds, int32_t num_feeds,
                                     const TwOutput* fetches, int32_t num_fetches,
                                     TwNode* const* targets, int32_t num_targets,
                                     TwStatus* status) {
  return tw_session_make_callable_within(session, nullptr, feeds, num_feeds, fetches, num_fetches,
                                         targets, num_targets, status);
}

TwCallable* tw_session_make_callable_within(TwSession* session, const TwRunOptions* options,
                                            const TwOutput* feeds, int32_t num_feeds,
                                            const TwOutput* fetches, int32_t num_fetches,
                                            TwNode* const* targets, int32_t num_targets,
                                            TwStatus* status) {
  return GuardPointer<TwCallable>(status, [&]() -> Result<TwCallable*> {
    RETURN_IF_ERROR(RequireAll({{"session", session}}));
    ASSIGN_OR_RETURN(const Signature signature,
                     MakeSignature(feeds, num_feeds, fetches, num_fetches, targets, num_targets));
    ASSIGN_OR_RETURN(std::shared_ptr<Callable> callable,
                     session->session->MakeCallable(
                         signature, {}, options == nullptr ? nullptr : &options->options));
    return std::make_unique<TwCallable>(TwCallable{std::move(callable),
                                                   static_cast<size_t>(num_feeds),
                                                   static_cast<size_t>(num_fetches)})
        .release();
  });
}

TwCode tw_callable_run(TwCallable* callable, const TwRunOptions* options,
                       TwTensor* const* feed_values, TwTensor** results, TwBuffer** metadata,
                       TwStatus* status) {
  return Guard(status, [&]() -> Status {
    RETURN_IF_ERROR(RequireAll({{"callable", callable}}));
    RETURN_IF_ERROR(CheckResults(results, static_cast<int64_t>(callable->num_fetches)));
    InlinedTensors values(callable->num_feeds);
    InlinedTensors fetched(callable->num_fetches);
    RETURN_IF_ERROR(FillFeeds(feed_values, values.span()));
    RETURN_IF_ERROR(WithMetadata(metadata, options, [&](RunMetadata* filled) {
      return options == nullptr
                 ? callable->callable->Run(values.span(), fetched.span(), filled)
                 : callable->callable->Run(options->options, values.span(), fetched.span(), filled);
    }));
    GiveResults(fetched.span(), results);
    return OkStatus();
  });
}

TwCode tw_callable_repeat(TwCallable* callable, const TwRunOptions* options, int64_t micros,
                          TwStatus* status) {
  return Guard(status, [&]() -> Status {
    RETURN_IF_ERROR(RequireAll({{"callable", callable}}));
    if (callable->num_feeds != 0 || callable->num_fetches != 0) {
      return InvalidArgument("only what has no feeds and fetches is repeated, got ",
                             callable->num_feeds, " feeds and ", callable->num_fetches, " fetches");
    }
    return callable->callable->Repeat(options == nullptr ? RunOptions() : options->options,
                                      std::chrono::microseconds(micros));
  });
}

void tw_callable_free(TwCallable* callable) { delete callable; }

TwPartialRun* tw_session_partial_run_new(TwSession* session, const TwOutput* feeds,
                                         int32_t num_feeds, const TwOutput* fetches,
                                         int32_t num_fetches, TwNode* const* targets,
                                         int32_t num_targets, TwStatus* status) {
  return GuardPointer<TwPartialRun>(status, [&]() -> Result<TwPartialRun*> {
    RETURN_IF_ERROR(RequireAll({{"session", session}}));
    ASSIGN_OR_RETURN(const Signature signature,
                     MakeSignature(feeds, num_feeds, fetches, num_fetches, targets, num_targets));
    std::vector<std::string> target_names;
    for (const Node* target : signature.targets) target_names.push_back(target->name());
    auto run = std::make_unique<TwPartialRun>();
    run->session = session->session;
    ASSIGN_OR_RETURN(run->handle, session->session->PartialRunSetup(OutputNames(signature.feeds),
                                                                    OutputNames(signature.fetches),
                                                                    target_names));
    return run.release();
  });
}

TwCode tw_partial_run(TwPartialRun* run, const TwOutput* feeds, TwTensor* const* feed_values,
                      int32_t num_feeds, const TwOutput* fetches, int32_t num_fetches,
                      TwTensor** results, TwStatus* status) {
  return Guard(status, [&]() -> Status {
    RETURN_IF_ERROR(RequireAll({{"the partial run", run}}));
    RETURN_IF_ERROR(CheckResults(results, num_fetches));
    const std::shared_ptr<Session> session = run->session.lock();
    if (session == nullptr) return Cancelled("Session has been closed.");
    ASSIGN_OR_RETURN(const std::vector<Output> fed, UnwrapAll(feeds, num_feeds, "feed"));
    ASSIGN_OR_RETURN(const std::vector<Output> fetched, UnwrapAll(fetches, num_fetches, "fetch"));
    ASSIGN_OR_RETURN(const std::vector<Session::NamedTensor> values,
                     NamedFeeds(OutputNames(fed), feed_values));
    std::vector<Tensor> outputs;
    RETURN_IF_ERROR(session->PartialRun(run->handle, values, OutputNames(fetched), &outputs));
    GiveResults(outputs, results);
    return OkStatus();
  });
}

void tw_partial_run_free(TwPartialRun* run) {
  const std::unique_ptr<TwPartialRun> owned(run);
  if (run == nullptr) return;
  Guard(nullptr, [&] {
    if (const auto session = run->session.lock()) session->EndPartialRun(run->handle);
    return OkStatus();
  });
}

TwBuffer* tw_session_explain_placement(TwSession* session, const char* node, TwStatus* status) {
  return GuardPointer<TwBuffer>(status, [&]() -> Result<TwBuffer*> {
    RETURN_IF_ERROR(RequireAll({{"session", session}, {"node", node}}));
    ASSIGN_OR_RETURN(std::string text, session->session->ExplainPlacement(node));
    return NewBuffer(std::move(text));
  });
}

TwBuffer* tw_session_describe_plan(TwSession* session, const char* const* feeds, int32_t num_feeds,
                                   const char* const* fetches, int32_t num_fetches,
                                   const char* const* targets, int32_t num_targets,
                                   TwStatus* status) {
  return GuardPointer<TwBuffer>(status, [&]() -> Result<TwBuffer*> {
    RETURN_IF_ERROR(RequireAll({{"session", session}}));
    ASSIGN_OR_RETURN(const std::vector<std::string> fed, UnwrapTexts(feeds, num_feeds, "feed"));
    ASSIGN_OR_RETURN(const std::vector<std::string> fetched,
                     UnwrapTexts(fetches, num_fetches, "fetch"));
    ASSIGN_OR_RETURN(const std::vector<std::string> run_only,
                     UnwrapTexts(targets, num_targets, "target"));
    ASSIGN_OR_RETURN(std::string text, session->session->DescribePlan(fed, fetched, run_only));
    return NewBuffer(std::move(text));
  });
}

TwCode tw_session_reset(TwSession* session, const char* const* containers, int32_t n,
                        TwStatus* status) {
  return Guard(status, [&]() -> Status {
    RETURN_IF_ERROR(RequireAll({{"session", session}}));
    ASSIGN_OR_RETURN(const std::vector<std::string> names, UnwrapTexts(containers, n, "container"));
    session->session->ResetContainers(names);
    return OkStatus();
  });
}

}  // extern "C"
