// SPDX-License-Identifier: Apache-2.0
#include "thalweg/session/config_options.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <span>
#include <utility>

#include "thalweg/passes/pass_table.h"
#include "thalweg/proto/messages.h"

namespace thalweg {
namespace {

namespace Config = pb::ConfigProto;
namespace Rewriter = pb::RewriterConfig;

// Who follows a field.
enum Followers : uint8_t {
  kByLocal = 1,
  kByRemote = 2,
  kByBoth = kByLocal | kByRemote,
  kByGpus = 4,  // of this process, where there are any
};

struct Heeded {
  std::string_view path;
  Followers by;
};

constexpr std::array kHeeded = {
    Heeded{"allow_soft_placement", kByBoth},
    Heeded{"cluster_def", kByRemote},
    Heeded{"device_count", kByLocal},
    Heeded{"device_filters", kByRemote},
    Heeded{"experimental.collective_group_leader", kByRemote},
    Heeded{"experimental.disable_thread_spinning", kByLocal},
    Heeded{"experimental.executor_type", kByBoth},
    Heeded{"experimental.optimize_for_static_graph", kByBoth},
    Heeded{"experimental.share_session_state_in_clusterspec_propagation", kByRemote},
    // Memory is taken as it is needed in any case.
    Heeded{"gpu_options.allow_growth", kByGpus},
    Heeded{"gpu_options.per_process_gpu_memory_fraction", kByGpus},
    Heeded{"gpu_options.visible_device_list", kByGpus},
    Heeded{"graph_options.enable_bfloat16_sendrecv", kByBoth},
    Heeded{"graph_options.enable_recv_scheduling", kByBoth},
    Heeded{"graph_options.optimizer_options.do_common_subexpression_elimination", kByBoth},
    Heeded{"graph_options.optimizer_options.do_constant_folding", kByBoth},
    Heeded{"graph_options.optimizer_options.do_function_inlining", kByBoth},
    Heeded{"graph_options.optimizer_options.max_folded_constant_in_bytes", kByBoth},
    Heeded{"graph_options.optimizer_options.opt_level", kByBoth},
    Heeded{"graph_options.place_pruned_graph", kByBoth},
    Heeded{"graph_options.rewrite_options.arithmetic_optimization", kByBoth},
    Heeded{"graph_options.rewrite_options.common_subgraph_elimination", kByBoth},
    Heeded{"graph_options.rewrite_options.constant_folding", kByBoth},
    Heeded{"graph_options.rewrite_options.disable_meta_optimizer", kByBoth},
    Heeded{"graph_options.rewrite_options.disable_model_pruning", kByBoth},
    Heeded{"graph_options.rewrite_options.layout_optimizer", kByBoth},
    Heeded{"graph_options.rewrite_options.remapping", kByBoth},
    Heeded{"inter_op_parallelism_threads", kByLocal},
    Heeded{"intra_op_parallelism_threads", kByLocal},
    Heeded{"isolate_session_state", kByBoth},
    Heeded{"log_device_placement", kByBoth},
    Heeded{"operation_timeout_in_ms", kByBoth},
    Heeded{"session_inter_op_thread_pool", kByLocal},
    Heeded{"use_per_session_threads", kByLocal},
};

// Switching off what is not there.
bool SaysOff(const Message& message, const FieldDescriptor& field) {
  if (field.repeated || field.enumeration == nullptr) return false;
  const EnumValue* const value =
      field.enumeration->FindByNumber(static_cast<int32_t>(message.GetInt(field)));
  return value != nullptr && (value->name == "OFF" || value->name == "NO_MEM_OPT");
}

// TensorFlow's names of its own optimizers have no sign.
bool IsWordOfPasses(std::string_view word) {
  return word.starts_with('-') || word.starts_with('+');
}

// Appends the names of the fields that are set, with those of the messages around them.
void AppendUnheeded(const Message& message, const std::string& prefix, uint8_t followers,
                    std::vector<std::string>* names) {
  for (const FieldDescriptor& field : message.type().fields) {
    if (!message.Has(field)) continue;
    const std::string path = prefix + std::string(field.name);
    if (path == "graph_options.rewrite_options.optimizers" &&
        std::ranges::all_of(message.Repeated<std::string_view>(Rewriter::kOptimizers),
                            IsWordOfPasses)) {
      continue;
    }
    const auto known = std::ranges::find(kHeeded, path, &Heeded::path);
    if (known != kHeeded.end()) {
      if ((known->by & followers) == 0) names->push_back(path);
    } else if (field.storage == Storage::kMessage && !field.repeated) {
      AppendUnheeded(message.GetMessage(field), path + ".", followers, names);
    } else if (!SaysOff(message, field)) {
      names->push_back(path);
    }
  }
  if (!message.unknown_fields().empty()) {
    names->push_back(StrCat("fields of ", message.type().short_name(), " that are not known here"));
  }
}

Status CheckConfigCount(std::string_view field, int64_t count, int64_t least, int64_t most) {
  if (count >= least && count <= most) return OkStatus();
  return InvalidArgument("ConfigProto: ", field, " must be from ", least, " to ", most, ", got ",
                         count);
}

// One pool runs operations and their parts: it is as large as the larger of the two asks for.
Status ReadThreads(const Message& config, EnvironmentSize* size) {
  constexpr int64_t kMost = 4096;
  const int64_t intra = config.GetInt(Config::kIntraOpParallelismThreads);
  int64_t inter = config.GetInt(Config::kInterOpParallelismThreads);
  RETURN_IF_ERROR(CheckConfigCount("intra_op_parallelism_threads", intra, 0, kMost));
  const auto pools = config.Messages(Config::kSessionInterOpThreadPool);
  if (!pools.empty()) {
    const int64_t asked = pools.front()->GetInt(pb::ThreadPoolOptionProto::kNumThreads);
    if (asked != 0) inter = asked;
  }
  RETURN_IF_ERROR(CheckConfigCount("inter_op_parallelism_threads", inter, -1, kMost));
  if (inter < 0) inter = 1;  // operations run on the thread that calls
  // The thread that calls Run is one of those asked for.
  if (const int64_t asked = std::max(intra, inter); asked > 0) {
    size->threads = static_cast<int>(asked) - 1;
  }
  size->own_threads = config.GetBool(Config::kUsePerSessionThreads);
  size->spins = !config.GetMessage(Config::kExperimental)
                     .GetBool(Config::Experimental::kDisableThreadSpinning);
  return OkStatus();
}

// "1,0": which cards GPU:0 and GPU:1 are.
Status ReadVisible(std::string_view list, std::vector<int>* visible) {
  for (size_t begin = 0; begin < list.size();) {
    const size_t end = std::min(list.find(',', begin), list.size());
    const size_t digit = std::min(list.find_first_not_of(' ', begin), end);
    int number = -1;
    const auto read = std::from_chars(list.data() + digit, list.data() + end, number);
    if (read.ec != std::errc() || read.ptr != list.data() + end || number < 0) {
      return InvalidArgument(
          "ConfigProto: visible_device_list must be numbers with commas, \"0,1\""
          ", got \"",
          list, "\"");
    }
    if (std::ranges::count(*visible, number) > 0) {
      return InvalidArgument("ConfigProto: visible_device_list names ", number, " twice: \"", list,
                             "\"");
    }
    visible->push_back(number);
    begin = end + 1;
  }
  return OkStatus();
}

bool HasGpus(const EnvironmentSize& there) {
  const auto gpus = there.device_count.find("GPU");
  return gpus != there.device_count.end() && gpus->second > 0;
}

// Where there are none, whatever stands there: programs write "-1" to have none.
Status ReadGpus(const Message& options, const EnvironmentSize& there, EnvironmentSize* size) {
  if (!HasGpus(there)) return OkStatus();
  RETURN_IF_ERROR(
      ReadVisible(options.GetString(pb::GPUOptions::kVisibleDeviceList), &size->visible_gpus));
  const double fraction = options.GetDouble(pb::GPUOptions::kPerProcessGpuMemoryFraction);
  if (fraction == 0) return OkStatus();
  if (!(fraction > 0 && fraction <= 1)) {
    return InvalidArgument(
        "ConfigProto: per_process_gpu_memory_fraction must be above 0, and 1 at "
        "most, got ",
        fraction);
  }
  size->gpu_memory_fraction = fraction;
  return OkStatus();
}

Status ReadDevices(const Message& config, const EnvironmentSize& there, EnvironmentSize* size) {
  for (const Message* entry : config.Messages(Config::kDeviceCount)) {
    const std::string type(entry->GetString(pb::kMapKey));
    const int64_t count = entry->GetInt(pb::kMapValue);
    if (type == "CPU") continue;
    size->device_count[type] =  // below 0: none, as TensorFlow has it
        static_cast<int>(std::clamp<int64_t>(count, 0, std::numeric_limits<int32_t>::max()));
  }
  RETURN_IF_ERROR(ReadGpus(config.GetMessage(Config::kGpuOptions), there, size));
  const Message* const cpus = config.FindEntry(Config::kDeviceCount, "CPU");
  if (cpus == nullptr) return OkStatus();
  const int64_t count = cpus->GetInt(pb::kMapValue);
  if (count == 0) {
    return NotFound("No CPU devices are available in this process: device_count of the ",
                    "session's ConfigProto says 0 of CPU");
  }
  RETURN_IF_ERROR(CheckConfigCount("device_count of CPU", count, 1, 64));
  size->cpu_devices = static_cast<int>(count);
  return OkStatus();
}

// Words for PassSet::Parse. The session's own come first, so that these count.
void Say(std::string_view word, SessionOptions* session) {
  session->passes += StrCat(session->passes.empty() ? "" : ",", word);
}

Status ReadOptimizer(const Message& options, SessionOptions* session) {
  namespace Optimizer = pb::OptimizerOptions;
  if (options.GetInt(Optimizer::kOptLevel) < 0) {  // L0: nothing but what is asked for
    Say("-rewrites", session);
    if (!options.GetBool(Optimizer::kDoConstantFolding)) Say("-fold_constants", session);
    if (!options.GetBool(Optimizer::kDoCommonSubexpressionElimination)) Say("-cse", session);
  }
  const int64_t bytes = options.GetInt(Optimizer::kMaxFoldedConstantInBytes);
  if (bytes < 0) {
    return InvalidArgument("ConfigProto: max_folded_constant_in_bytes must not be negative, got ",
                           bytes);
  }
  if (bytes > 0) session->fold_limit_bytes = bytes;
  return OkStatus();
}

bool IsNameOfPasses(std::string_view word) {
  return word == "rewrites" || word == "place_by_cost" || word == "place_by_search" ||
         std::ranges::count(PassTable(), word, &Pass::name) > 0;
}

Status ReadRewriter(const Message& options, SessionOptions* session) {
  if (options.GetBool(Rewriter::kDisableMetaOptimizer)) Say("-rewrites", session);
  const auto toggle = [&](int field, std::initializer_list<std::string_view> passes) {
    const int64_t value = options.GetInt(field);
    if (value == Rewriter::Toggle::DEFAULT) return;
    const std::string_view sign = value == Rewriter::Toggle::OFF ? "-" : "+";
    for (const std::string_view pass : passes) Say(StrCat(sign, pass), session);
  };
  toggle(Rewriter::kLayoutOptimizer, {"channels_last"});
  toggle(Rewriter::kRemapping, {"fuse_epilogue", "fuse_elementwise"});
  toggle(Rewriter::kArithmeticOptimization, {"join_products"});
  toggle(Rewriter::kConstantFolding, {"fold_constants"});
  toggle(Rewriter::kCommonSubgraphElimination, {"cse"});
  if (options.GetBool(Rewriter::kDisableModelPruning)) Say("-prune", session);
  for (const std::string_view word : options.Repeated<std::string_view>(Rewriter::kOptimizers)) {
    if (IsWordOfPasses(word)) {
      Say(word, session);
    } else if (IsNameOfPasses(word)) {
      return InvalidArgument("ConfigProto: optimizers '", word, "' has no sign: '+", word,
                             "' switches it on, '-", word,
                             "' off; words without a sign are TensorFlow's own");
    }
  }
  return OkStatus();
}

Status ReadExperimental(const Message& options, ConfigOptions* read) {
  namespace Experimental = Config::Experimental;
  const std::string_view executor = options.GetString(Experimental::kExecutorType);
  if (executor == "SINGLE_THREADED_EXECUTOR") {
    read->session.inline_steps = true;
  } else if (!executor.empty() && executor != "DEFAULT") {
    return NotFound("No executor factory registered for the given executor type: ", executor,
                    "; there are DEFAULT and SINGLE_THREADED_EXECUTOR");
  }
  if (options.GetBool(Experimental::kOptimizeForStaticGraph)) read->session.strict_graph = true;
  read->shares_state_of_tasks =
      options.GetBool(Experimental::kShareSessionStateInClusterspecPropagation);
  return OkStatus();
}

// Whether devices beyond CPUs are as many as `asked` lets be seen.
bool SeesAll(const EnvironmentSize& there, const EnvironmentSize& asked) {
  return std::ranges::all_of(asked.device_count, [&](const auto& most) {
    const auto count = there.device_count.find(most.first);
    return count == there.device_count.end() || count->second <= most.second;
  });
}

// A server has its own threads and devices: what asks for as many as there are has its effect.
void DropWhatIsThere(const EnvironmentSize& server, const EnvironmentSize& asked,
                     std::vector<std::string>* names) {
  if ((!asked.cpu_devices.has_value() || asked.cpu_devices == server.cpu_devices) &&
      SeesAll(server, asked)) {
    std::erase(*names, "device_count");
  }
  if (HasGpus(server)) {
    std::erase(*names, "gpu_options.allow_growth");
    if (asked.visible_gpus == server.visible_gpus) {
      std::erase(*names, "gpu_options.visible_device_list");
    }
    if (asked.gpu_memory_fraction == server.gpu_memory_fraction) {
      std::erase(*names, "gpu_options.per_process_gpu_memory_fraction");
    }
  }
  if (!asked.threads.has_value() || asked.threads == server.threads) {
    std::erase(*names, "inter_op_parallelism_threads");
    std::erase(*names, "intra_op_parallelism_threads");
    std::erase(*names, "session_inter_op_thread_pool");
  }
  if (!server.spins) std::erase(*names, "experimental.disable_thread_spinning");
}

}  // namespace

std::string ConfigOptions::Warning() const {
  if (unheeded.empty()) return "";
  std::string names;
  for (const std::string& name : unheeded) names += StrCat(names.empty() ? "" : ", ", name);
  return StrCat("these fields of the session's ConfigProto have no effect here: ", names);
}

Result<ConfigOptions> ReadConfig(const Message& config, ConfigUse use, SessionOptions session,
                                 const EnvironmentSize& there) {
  ConfigOptions read;
  read.session = session;
  SessionOptions& to = read.session;
  const Message& graph = config.GetMessage(Config::kGraphOptions);
  to.placement =
      config.GetBool(Config::kAllowSoftPlacement) ? PlacementRule::kSoft : PlacementRule::kStrict;
  to.log_placement |= config.GetBool(Config::kLogDevicePlacement);
  // A session of this process has its own state in any case.
  if (use == ConfigUse::kRemoteSession) {
    to.share_resources = !config.GetBool(Config::kIsolateSessionState);
  }
  to.bfloat16_transfers |= graph.GetBool(pb::GraphOptions::kEnableBfloat16Sendrecv);
  read.schedule_receives = graph.GetBool(pb::GraphOptions::kEnableRecvScheduling);
  RETURN_IF_ERROR(ReadOptimizer(graph.GetMessage(pb::GraphOptions::kOptimizerOptions), &to));
  RETURN_IF_ERROR(ReadRewriter(graph.GetMessage(pb::GraphOptions::kRewriteOptions), &to));
  constexpr int64_t kMostMillis = int64_t{1000} * 3600 * 24 * 365;
  if (const int64_t millis = config.GetInt(Config::kOperationTimeoutInMs); millis > 0) {
    to.default_timeout = std::chrono::milliseconds(std::min(millis, kMostMillis));
  }
  RETURN_IF_ERROR(ReadThreads(config, &read.size));
  to.inter_op_thread_pools =
      std::max(1, static_cast<int>(config.Size(Config::kSessionInterOpThreadPool)));
  RETURN_IF_ERROR(ReadDevices(config, there, &read.size));
  RETURN_IF_ERROR(ReadExperimental(config.GetMessage(Config::kExperimental), &read));
  read.collective_leader = CollectiveLeaderOf(config);
  for (const std::string_view filter : config.Repeated<std::string_view>(Config::kDeviceFilters)) {
    read.device_filters.emplace_back(filter);
  }
  if (use == ConfigUse::kServer) return read;  // its sessions say what they do not follow
  const bool is_local = use == ConfigUse::kLocalSession;
  AppendUnheeded(config, "",
                 !is_local        ? kByRemote
                 : HasGpus(there) ? kByLocal | kByGpus
                                  : kByLocal,
                 &read.unheeded);
  if (!is_local) DropWhatIsThere(there, read.size, &read.unheeded);
  const auto pools = config.Messages(Config::kSessionInterOpThreadPool);
  if (is_local && pools.size() > 1) {
    read.unheeded.push_back("session_inter_op_thread_pool beyond the first");
  }
  if (is_local && std::ranges::any_of(pools, [](const Message* pool) {
        return !pool->GetString(pb::ThreadPoolOptionProto::kGlobalName).empty();
      })) {
    read.unheeded.push_back("session_inter_op_thread_pool.global_name");
  }
  RETURN_IF_ERROR(to.Validate());
  return read;
}

std::string_view CollectiveLeaderOf(const Message& config) {
  return config.GetMessage(Config::kExperimental)
      .GetString(Config::Experimental::kCollectiveGroupLeader);
}

}  // namespace thalweg
