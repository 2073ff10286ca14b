// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "thalweg/api/handles.h"
#include "thalweg/api/run_metadata_message.h"

using namespace thalweg;       // NOLINT: the file is glue for this namespace
using namespace thalweg::api;  // NOLINT

namespace {

// Handles of a call's tensors on the stack: a call of few feeds and fetches allocates nothing for
// them.
class TensorArray {
 public:
  explicit TensorArray(size_t size) : size_(size) {
    if (size > kInline) many_.resize(size);
  }
  std::span<Tensor> span() { return {size_ > kInline ? many_.data() : few_.data(), size_}; }

 private:
  static constexpr size_t kInline = 8;
  size_t size_;
  std::array<Tensor, kInline> few_;
  std::vector<Tensor> many_;
};

Status FillFeeds(TwTensor* const* values, std::span<Tensor> feeds) {
  for (size_t i = 0; i < feeds.size(); ++i) {
    if (values[i] == nullptr) return InvalidArgument("feed ", i, " is no tensor");
    feeds[i] = values[i]->tensor;
  }
  return OkStatus();
}

void GiveResults(std::span<Tensor> fetches, TwTensor** results) {
  for (size_t i = 0; i < fetches.size(); ++i) results[i] = NewTensor(std::move(fetches[i]));
}

const RunOptions& OptionsOf(const TwRunOptions* options, const RunOptions& none) {
  return options == nullptr ? none : options->options;
}

std::vector<std::string> Names(const char* const* names, int32_t n) { return {names, names + n}; }

std::vector<Session::NamedTensor> NamedFeeds(std::vector<std::string> names,
                                             TwTensor* const* values) {
  std::vector<Session::NamedTensor> feeds;
  for (size_t i = 0; i < names.size(); ++i)
    feeds.emplace_back(std::move(names[i]), values[i]->tensor);
  return feeds;
}

// Calls run(metadata or null) and turns what it filled into a message.
template <class F>
Status WithMetadata(TwBuffer** out, F&& run) {
  if (out == nullptr) return run(nullptr);
  RunMetadata metadata;
  const Status status = run(&metadata);
  ASSIGN_OR_RETURN(std::string message, RunMetadataMessage(metadata));
  *out = NewBuffer(std::move(message));
  return status;
}

std::vector<std::string> OutputNames(const std::vector<Output>& outputs) {
  std::vector<std::string> names;
  for (const Output& output : outputs) names.push_back(output.ToString());
  return names;
}

}  // namespace

extern "C" {

void tw_session_options_init(TwSessionOptions* options) {
  *options = TwSessionOptions{};
  options->struct_size = sizeof(TwSessionOptions);
  options->prune = options->fold_constants = options->merge_common_subexpressions = 1;
  options->fuse_elementwise = options->fuse_epilogue = options->pack_weights = 1;
}

TwSession* tw_session_new(TwEnvironment* environment, TwGraph* graph,
                          const TwSessionOptions* options, TwStatus* status) {
  return GuardPointer<TwSession>(status, [&]() -> Result<TwSession*> {
    TwSessionOptions defaults;
    tw_session_options_init(&defaults);
    const TwSessionOptions given = CopyOptions(options, defaults);
    SessionOptions wanted;
    wanted.passes.prune = given.prune != 0;
    wanted.passes.fold_constants = given.fold_constants != 0;
    wanted.passes.cse = given.merge_common_subexpressions != 0;
    wanted.passes.fuse_elementwise = given.fuse_elementwise != 0;
    wanted.passes.fuse_epilogue = given.fuse_epilogue != 0;
    wanted.passes.pack_weights = given.pack_weights != 0;
    wanted.soft_placement = given.strict_placement == 0;
    wanted.log_placement = given.log_placement != 0;
    wanted.share_resources = given.share_resources != 0;
    wanted.default_timeout = std::chrono::milliseconds(given.timeout_ms);
    ASSIGN_OR_RETURN(std::unique_ptr<Session> session,
                     MakeLocalSession(EnvironmentOf(environment), graph->graph, wanted));
    return std::make_unique<TwSession>(TwSession{std::move(session)}).release();
  });
}

TwCode tw_session_close(TwSession* session, TwStatus* status) {
  return Guard(status, [&] {
    session->session->Close();
    return OkStatus();
  });
}
void tw_session_free(TwSession* session) { delete session; }

TwRunOptions* tw_run_options_new(void) {
  auto options = std::make_unique<TwRunOptions>();
  options->options.cancellation = &options->cancellation;
  return options.release();
}
void tw_run_options_free(TwRunOptions* options) { delete options; }
void tw_run_options_timeout_ms(TwRunOptions* options, int64_t timeout_ms) {
  options->options.timeout = std::chrono::milliseconds(timeout_ms);
}
void tw_run_options_trace_level(TwRunOptions* options, int32_t level) {
  options->options.trace = static_cast<TraceLevel>(level < 0 ? 0 : level > 3 ? 3 : level);
}
void tw_run_options_output_partition_graphs(TwRunOptions* options, int32_t on) {
  options->options.partition_graphs = on != 0;
}
void tw_run_options_cancel(TwRunOptions* options) {
  options->cancellation.Cancel(Cancelled("the run was cancelled by its caller"));
}

TwCode tw_session_run(TwSession* session, const TwRunOptions* options, const TwOutput* feeds,
                      TwTensor* const* feed_values, int32_t num_feeds, const TwOutput* fetches,
                      int32_t num_fetches, TwNode* const* targets, int32_t num_targets,
                      TwTensor** results, TwBuffer** metadata, TwStatus* status) {
  return Guard(status, [&]() -> Status {
    ASSIGN_OR_RETURN(const Signature signature,
                     MakeSignature(feeds, num_feeds, fetches, num_fetches, targets, num_targets));
    TensorArray values(static_cast<size_t>(num_feeds));
    TensorArray fetched(static_cast<size_t>(num_fetches));
    RETURN_IF_ERROR(FillFeeds(feed_values, values.span()));
    const RunOptions none;
    RETURN_IF_ERROR(WithMetadata(metadata, [&](RunMetadata* filled) {
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
    const std::vector<Session::NamedTensor> named =
        NamedFeeds(Names(feeds, num_feeds), feed_values);
    std::vector<Tensor> outputs;
    const RunOptions none;
    RETURN_IF_ERROR(WithMetadata(metadata, [&](RunMetadata* filled) {
      return session->session->Run(OptionsOf(options, none), named, Names(fetches, num_fetches),
                                   Names(targets, num_targets), &outputs, filled);
    }));
    GiveResults(outputs, results);
    return OkStatus();
  });
}

TwCallable* tw_session_make_callable(TwSession* session, const TwOutput* feeds, int32_t num_feeds,
                                     const TwOutput* fetches, int32_t num_fetches,
                                     TwNode* const* targets, int32_t num_targets,
                                     TwStatus* status) {
  return GuardPointer<TwCallable>(status, [&]() -> Result<TwCallable*> {
    ASSIGN_OR_RETURN(const Signature signature,
                     MakeSignature(feeds, num_feeds, fetches, num_fetches, targets, num_targets));
    ASSIGN_OR_RETURN(std::shared_ptr<Callable> callable, session->session->MakeCallable(signature));
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
    TensorArray values(callable->num_feeds);
    TensorArray fetched(callable->num_fetches);
    RETURN_IF_ERROR(FillFeeds(feed_values, values.span()));
    RETURN_IF_ERROR(WithMetadata(metadata, [&](RunMetadata* filled) {
      return options == nullptr
                 ? callable->callable->Run(values.span(), fetched.span(), filled)
                 : callable->callable->Run(options->options, values.span(), fetched.span(), filled);
    }));
    GiveResults(fetched.span(), results);
    return OkStatus();
  });
}
void tw_callable_free(TwCallable* callable) { delete callable; }

TwPartialRun* tw_session_partial_run_new(TwSession* session, const TwOutput* feeds,
                                         int32_t num_feeds, const TwOutput* fetches,
                                         int32_t num_fetches, TwNode* const* targets,
                                         int32_t num_targets, TwStatus* status) {
  return GuardPointer<TwPartialRun>(status, [&]() -> Result<TwPartialRun*> {
    ASSIGN_OR_RETURN(const Signature signature,
                     MakeSignature(feeds, num_feeds, fetches, num_fetches, targets, num_targets));
    std::vector<std::string> target_names;
    for (const Node* target : signature.targets) target_names.push_back(target->name());
    auto run = std::make_unique<TwPartialRun>();
    run->session = session->session.get();
    RunOptions options;
    options.cancellation = &run->cancellation;
    ASSIGN_OR_RETURN(run->handle, run->session->PartialRunSetup(OutputNames(signature.feeds),
                                                                OutputNames(signature.fetches),
                                                                target_names, options));
    return run.release();
  });
}

TwCode tw_partial_run(TwPartialRun* run, const TwOutput* feeds, TwTensor* const* feed_values,
                      int32_t num_feeds, const TwOutput* fetches, int32_t num_fetches,
                      TwTensor** results, TwStatus* status) {
  return Guard(status, [&]() -> Status {
    ASSIGN_OR_RETURN(const std::vector<Output> fed, UnwrapAll(feeds, num_feeds, "feed"));
    ASSIGN_OR_RETURN(const std::vector<Output> fetched, UnwrapAll(fetches, num_fetches, "fetch"));
    std::vector<Tensor> outputs;
    RETURN_IF_ERROR(run->session->PartialRun(run->handle, NamedFeeds(OutputNames(fed), feed_values),
                                             OutputNames(fetched), &outputs));
    GiveResults(outputs, results);
    return OkStatus();
  });
}

void tw_partial_run_free(TwPartialRun* run) {
  run->cancellation.Cancel(Cancelled("the partial run was given up"));
  delete run;
}

TwBuffer* tw_session_explain_placement(TwSession* session, const char* node, TwStatus* status) {
  return GuardPointer<TwBuffer>(status, [&]() -> Result<TwBuffer*> {
    ASSIGN_OR_RETURN(std::string text, session->session->ExplainPlacement(node));
    return NewBuffer(std::move(text));
  });
}

TwBuffer* tw_session_describe_plan(TwSession* session, const char* const* feeds, int32_t num_feeds,
                                   const char* const* fetches, int32_t num_fetches,
                                   const char* const* targets, int32_t num_targets,
                                   TwStatus* status) {
  return GuardPointer<TwBuffer>(status, [&]() -> Result<TwBuffer*> {
    ASSIGN_OR_RETURN(std::string text, session->session->DescribePlan(Names(feeds, num_feeds),
                                                                      Names(fetches, num_fetches),
                                                                      Names(targets, num_targets)));
    return NewBuffer(std::move(text));
  });
}

TwCode tw_session_reset(TwSession* session, const char* const* containers, int32_t n,
                        TwStatus* status) {
  return Guard(status, [&] {
    session->session->ResetContainers(Names(containers, n));
    return OkStatus();
  });
}

}  // extern "C"
