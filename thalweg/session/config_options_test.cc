// SPDX-License-Identifier: Apache-2.0
#include "thalweg/session/config_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "thalweg/passes/pass_table.h"
#include "thalweg/proto/messages.h"
#include "thalweg/proto/text_format.h"
#include "thalweg/proto/wire.h"

namespace thalweg {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;
using ::testing::UnorderedElementsAreArray;

ConfigOptions Read(std::string_view text, ConfigUse use = ConfigUse::kLocalSession,
                   const EnvironmentSize& server = {}) {
  const Result<OwnedMessage> config = ParseText(pb::ConfigProto::Descriptor(), text);
  EXPECT_TRUE(config.ok()) << config.status().ToString();
  Result<ConfigOptions> read = ReadConfig(**config, use, {}, server);
  EXPECT_TRUE(read.ok()) << read.status().ToString();
  return read.ok() ? *std::move(read) : ConfigOptions();
}

PassSet PassesOf(const ConfigOptions& read) {
  const Result<PassSet> passes = PassSet::Parse(read.session.passes);
  EXPECT_TRUE(passes.ok()) << passes.status().ToString();
  return passes.ok() ? *passes : PassSet();
}

Status ErrorOf(std::string_view text, const EnvironmentSize& there = {}) {
  return ReadConfig(**ParseText(pb::ConfigProto::Descriptor(), text), ConfigUse::kLocalSession, {},
                    there)
      .status();
}

TEST(ConfigOptionsTest, DefaultsAreTensorFlows) {
  const ConfigOptions local = Read("");
  EXPECT_EQ(local.session.placement, PlacementRule::kStrict);
  EXPECT_FALSE(local.session.share_resources);
  EXPECT_EQ(local.size, EnvironmentSize());
  EXPECT_TRUE(PassesOf(local).Has("fold_constants") && PassesOf(local).Has("cse"));
  EXPECT_EQ(local.Warning(), "");
  EXPECT_TRUE(Read("", ConfigUse::kRemoteSession).session.share_resources);
  EXPECT_FALSE(
      Read("isolate_session_state: true", ConfigUse::kRemoteSession).session.share_resources);
}

TEST(ConfigOptionsTest, SessionsFollowIt) {
  for (const ConfigUse use : {ConfigUse::kLocalSession, ConfigUse::kRemoteSession}) {
    const SessionOptions session =
        Read(
            "allow_soft_placement: true log_device_placement: true operation_timeout_in_ms: 1500 "
            "graph_options { enable_bfloat16_sendrecv: true } "
            "experimental { optimize_for_static_graph: true executor_type: 'DEFAULT' }",
            use)
            .session;
    EXPECT_EQ(session.placement, PlacementRule::kSoft);
    EXPECT_TRUE(session.log_placement && session.bfloat16_transfers && session.strict_graph);
    EXPECT_EQ(session.default_timeout, std::chrono::milliseconds(1500));
    EXPECT_FALSE(session.inline_steps);
  }
  EXPECT_TRUE(
      Read("experimental { executor_type: 'SINGLE_THREADED_EXECUTOR' }").session.inline_steps);
  EXPECT_EQ(ErrorOf("experimental { executor_type: 'FAST' }").code(), Code::kNotFound);
}

TEST(ConfigOptionsTest, LevelZeroLeavesWhatIsAskedFor) {
  const ConfigOptions none =
      Read("graph_options { optimizer_options { opt_level: L0 do_constant_folding: true } }");
  for (const Pass& pass : PassTable()) {
    EXPECT_EQ(PassesOf(none).Has(pass.name), pass.name == "fold_constants" || pass.name == "prune")
        << pass.name;
  }
  const ConfigOptions some = Read(
      "graph_options { optimizer_options { max_folded_constant_in_bytes: 64 } rewrite_options "
      "{ remapping: OFF layout_optimizer: OFF constant_folding: OFF } }");
  for (const char* off : {"fold_constants", "fuse_epilogue", "fuse_elementwise", "channels_last"}) {
    EXPECT_FALSE(PassesOf(some).Has(off)) << off;
  }
  EXPECT_TRUE(PassesOf(some).Has("cse") && PassesOf(some).Has("join_products"));
  EXPECT_EQ(some.session.fold_limit_bytes, 64);
  const ConfigOptions words =
      Read("graph_options { rewrite_options { optimizers: '-all' optimizers: '+cse' } }");
  EXPECT_EQ(words.Warning(), "");
  EXPECT_THAT(Read("graph_options { rewrite_options { optimizers: 'layout' optimizers: '-cse' } }")
                  .unheeded,
              ElementsAre("graph_options.rewrite_options.optimizers"));
  for (const Pass& pass : PassTable()) {
    EXPECT_EQ(PassesOf(words).Has(pass.name), pass.name == "cse") << pass.name;
  }
  // Ours, and not TensorFlow's: without a sign it would be passed over.
  for (const char* word : {"place_by_cost", "place_by_search", "fuse_epilogue", "rewrites"}) {
    const Status error =
        ErrorOf(StrCat("graph_options { rewrite_options { optimizers: '", word, "' } }"));
    EXPECT_EQ(error.code(), Code::kInvalidArgument) << word;
    EXPECT_NE(error.message().find(StrCat("'+", word, "' switches it on")), std::string::npos)
        << error.ToString();
  }
}

TEST(ConfigOptionsTest, ThreadsAndDevices) {
  const auto threads = [](std::string_view text) { return Read(text).size.threads; };
  EXPECT_EQ(threads("intra_op_parallelism_threads: 3"), 2);
  EXPECT_EQ(threads("intra_op_parallelism_threads: 2 inter_op_parallelism_threads: 5"), 4);
  EXPECT_EQ(threads("inter_op_parallelism_threads: -1"), 0);
  EXPECT_EQ(threads("session_inter_op_thread_pool { num_threads: 7 }"), 6);
  EXPECT_EQ(threads("use_per_session_threads: true"), std::nullopt);
  EXPECT_TRUE(Read("use_per_session_threads: true").size.own_threads);
  EXPECT_FALSE(Read("experimental { disable_thread_spinning: true }").size.spins);
  EXPECT_EQ(Read("device_count { key: 'CPU' value: 3 }").size.cpu_devices, 3);
  EXPECT_EQ(ErrorOf("device_count { key: 'CPU' value: 0 }").code(), Code::kNotFound);
  for (const char* bad :
       {"device_count { key: 'CPU' value: 65 }", "device_count { key: 'CPU' value: -1 }",
        "intra_op_parallelism_threads: -1", "inter_op_parallelism_threads: 5000",
        "graph_options { optimizer_options { max_folded_constant_in_bytes: -1 } }"}) {
    EXPECT_EQ(ErrorOf(bad).code(), Code::kInvalidArgument) << bad;
  }
}

TEST(ConfigOptionsTest, AcceleratorsAreHiddenChosenAndLimited) {
  const EnvironmentSize two_gpus = {.device_count = {{"GPU", 2}}};
  const std::string_view text =
      "device_count { key: 'GPU' value: 0 } device_count { key: 'FAKE' value: 3 } gpu_options { "
      "visible_device_list: '2, 0' per_process_gpu_memory_fraction: 0.5 allow_growth: true }";
  const ConfigOptions read = Read(text, ConfigUse::kLocalSession, two_gpus);
  EXPECT_THAT(read.size.device_count, ElementsAre(Pair("FAKE", 3), Pair("GPU", 0)));
  EXPECT_THAT(read.size.visible_gpus, ElementsAre(2, 0));
  EXPECT_EQ(read.size.gpu_memory_fraction, 0.5);
  EXPECT_EQ(read.Warning(), "");
  const std::vector<std::string> gpu_options = {"gpu_options.per_process_gpu_memory_fraction",
                                                "gpu_options.allow_growth",
                                                "gpu_options.visible_device_list"};
  EXPECT_THAT(Read(text).unheeded, UnorderedElementsAreArray(gpu_options));
  for (const char* bad :
       {"gpu_options { visible_device_list: '0,x' }", "gpu_options { visible_device_list: ',' }",
        "gpu_options { visible_device_list: '-1' }", "gpu_options { visible_device_list: '1,0,1' }",
        "gpu_options { per_process_gpu_memory_fraction: 1.5 }",
        "gpu_options { per_process_gpu_memory_fraction: -0.5 }",
        "gpu_options { per_process_gpu_memory_fraction: nan }"}) {
    EXPECT_EQ(ErrorOf(bad, two_gpus).code(), Code::kInvalidArgument) << bad;
    EXPECT_EQ(Read(bad).size, EnvironmentSize()) << bad;  // there is no GPU it speaks of
  }
  EXPECT_THAT(Read("device_count { key: 'GPU' value: -1 }").size.device_count,
              ElementsAre(Pair("GPU", 0)));
  // A server has what it has: what asks for no other has its effect.
  const ConfigUse remote = ConfigUse::kRemoteSession;
  EXPECT_THAT(Read(text, remote, two_gpus).unheeded,
              UnorderedElementsAre("device_count", "gpu_options.per_process_gpu_memory_fraction",
                                   "gpu_options.visible_device_list"));
  const EnvironmentSize alike = {
      .device_count = {{"GPU", 2}}, .visible_gpus = {2, 0}, .gpu_memory_fraction = 0.5};
  EXPECT_THAT(Read(text, remote, alike).unheeded, ElementsAre("device_count"));
  EXPECT_THAT(Read("device_count { key: 'GPU' value: 2 }", remote, alike).unheeded, IsEmpty());
  EXPECT_THAT(Read("device_count { key: 'GPU' value: 0 }", remote).unheeded, IsEmpty());
}

TEST(ConfigOptionsTest, AnEnvironmentsDevicesAreLimited) {
  EnvironmentOptions options;
  options.device_count = {{"FAKE", 3}, {"GPU", 4}};
  options.LimitDevices({.device_count = {{"FAKE", 1}, {"NPU", 2}}, .visible_gpus = {3, 1}});
  EXPECT_THAT(options.device_count, ElementsAre(Pair("FAKE", 1), Pair("GPU", 2)));
  EXPECT_THAT(options.visible_gpus, ElementsAre(3, 1));
  EXPECT_EQ(options.gpu_memory_fraction, 1);
  options.LimitDevices({.device_count = {{"FAKE", 0}, {"GPU", 9}}, .gpu_memory_fraction = 0.25});
  EXPECT_THAT(options.device_count, ElementsAre(Pair("FAKE", 0), Pair("GPU", 2)));
  EXPECT_EQ(options.gpu_memory_fraction, 0.25);
  EnvironmentOptions cpus;  // is not made anew for what concerns no device of it
  cpus.LimitDevices(
      {.device_count = {{"GPU", 1}}, .visible_gpus = {0}, .gpu_memory_fraction = 0.5});
  EXPECT_TRUE(cpus.device_count.empty() && cpus.visible_gpus.empty());
  EXPECT_EQ(cpus.gpu_memory_fraction, 1);
}

TEST(ConfigOptionsTest, AServerSaysWhatItsSessionsCannotHave) {
  const std::string_view text =
      "intra_op_parallelism_threads: 3 device_count { key: 'CPU' value: 2 }";
  EXPECT_THAT(Read(text).unheeded, IsEmpty());
  EXPECT_THAT(Read(text, ConfigUse::kRemoteSession).unheeded,
              ElementsAre("device_count", "intra_op_parallelism_threads"));
  EXPECT_THAT(Read(text, ConfigUse::kRemoteSession, {.threads = 2, .cpu_devices = 2}).unheeded,
              IsEmpty());
  EXPECT_THAT(Read("device_filters: '/job:ps' cluster_def { job { name: 'a' } }").unheeded,
              ElementsAre("device_filters", "cluster_def"));
  const std::string_view shares =
      "experimental { share_session_state_in_clusterspec_propagation: true }";
  EXPECT_THAT(Read(shares).unheeded, SizeIs(1));
  EXPECT_THAT(Read(shares, ConfigUse::kRemoteSession).unheeded, IsEmpty());
  EXPECT_TRUE(Read(shares, ConfigUse::kRemoteSession).shares_state_of_tasks);
  EXPECT_FALSE(Read("", ConfigUse::kRemoteSession).shares_state_of_tasks);
  EXPECT_THAT(Read("gpu_options { allow_growth: true } graph_options { rewrite_options "
                   "{ loop_optimization: OFF auto_mixed_precision: ON } }")
                  .Warning(),
              AllOf(HasSubstr("gpu_options.allow_growth"), HasSubstr("auto_mixed_precision"),
                    Not(HasSubstr("loop_optimization"))));
}

// Sets the field to something that is not its default.
void SetToSomething(const FieldDescriptor& field, Message* message) {
  switch (field.storage) {
    case Storage::kBool:
      message->SetBool(field, true);
      break;
    case Storage::kInt32:
    case Storage::kInt64:
      field.repeated ? message->AddInt(field, 1) : message->SetInt(field, 1);
      break;
    case Storage::kFloat:
      message->SetFloat(field, 0.5F);
      break;
    case Storage::kDouble:
      message->SetDouble(field, 0.5);
      break;
    case Storage::kString:
      field.repeated ? message->AddString(field, "x") : message->SetString(field, "x");
      break;
    default:
      FAIL() << "a field of a type that this test does not set: " << field.name;
  }
}

// Every field by itself: it changes what is read, or the warning names it, or it can only say what
// is done anyway.
void TrySingly(const MessageDescriptor& type, const std::string& prefix,
               const std::function<Message*(Message*)>& reach, std::vector<std::string>* silent) {
  for (const FieldDescriptor& field : type.fields) {
    const std::string path = prefix + std::string(field.name);
    if (field.storage == Storage::kMessage && !field.repeated) {
      TrySingly(
          *field.message, path + ".",
          [&](Message* config) { return reach(config)->Mutable(field); }, silent);
      continue;
    }
    OwnedMessage config(pb::ConfigProto::Descriptor());
    Message* const inner = reach(config.get());
    if (field.map) {
      inner->MutableEntry(field, "CPU")->SetInt(pb::kMapValue, 2);
    } else if (field.storage == Storage::kMessage) {
      inner->Add(field);
    } else {
      SetToSomething(field, inner);
    }
    const Result<ConfigOptions> read = ReadConfig(*config, ConfigUse::kLocalSession, {});
    if (!read.ok()) continue;  // it is read
    if (read->Warning().empty()) silent->push_back(path);
  }
}

TEST(ConfigOptionsTest, ThreadsThatAreToBeSharedByNameAreNot) {
  EXPECT_THAT(Read("session_inter_op_thread_pool { num_threads: 2 }").unheeded, IsEmpty());
  EXPECT_THAT(
      Read("session_inter_op_thread_pool { num_threads: 2 global_name: 'shared' }").unheeded,
      ElementsAre("session_inter_op_thread_pool.global_name"));
}

TEST(ConfigOptionsTest, NoFieldIsIgnoredInSilence) {
  std::vector<std::string> silent;
  TrySingly(
      pb::ConfigProto::Descriptor(), "", [](Message* config) { return config; }, &silent);
  EXPECT_THAT(
      silent,
      ElementsAre("device_count", "intra_op_parallelism_threads", "inter_op_parallelism_threads",
                  "allow_soft_placement", "log_device_placement", "use_per_session_threads",
                  "graph_options.enable_recv_scheduling",
                  "graph_options.optimizer_options.do_common_subexpression_elimination",
                  "graph_options.optimizer_options.do_constant_folding",
                  "graph_options.optimizer_options.opt_level",
                  "graph_options.optimizer_options.do_function_inlining",
                  "graph_options.optimizer_options.max_folded_constant_in_bytes",
                  "graph_options.place_pruned_graph", "graph_options.enable_bfloat16_sendrecv",
                  "graph_options.rewrite_options.layout_optimizer",
                  "graph_options.rewrite_options.disable_model_pruning",
                  "graph_options.rewrite_options.constant_folding",
                  "graph_options.rewrite_options.memory_optimization",
                  "graph_options.rewrite_options.arithmetic_optimization",
                  "graph_options.rewrite_options.remapping",
                  "graph_options.rewrite_options.disable_meta_optimizer",
                  "graph_options.rewrite_options.common_subgraph_elimination",
                  "operation_timeout_in_ms", "session_inter_op_thread_pool",
                  "isolate_session_state", "experimental.disable_thread_spinning",
                  "experimental.optimize_for_static_graph"));
  OwnedMessage later(pb::ConfigProto::Descriptor());
  ASSERT_TRUE(MergeFromBytes(*later, "\xF8\x07\x01").ok());  // field 127
  EXPECT_THAT(ReadConfig(*later, ConfigUse::kLocalSession, {})->Warning(),
              HasSubstr("fields of ConfigProto that are not known here"));
}

}  // namespace
}  // namespace thalweg
