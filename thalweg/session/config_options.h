// SPDX-License-Identifier: Apache-2.0
// A ConfigProto, read: the one place that says what its fields mean, for sessions of this process,
// for those that clients make on a server, and for a server's own configuration.
//
//   ASSIGN_OR_RETURN(ConfigOptions read, ReadConfig(config, ConfigUse::kLocalSession, options));
//   if (std::string text = read.Warning(); !text.empty()) environment->WarnOnce(text);
//   ASSIGN_OR_RETURN(environment, Environment::Sized(environment, read.size));
//   return MakeLocalSession(environment, graph, read.session);
//
// Every field that is set is followed, or named in Warning(). Fields that could only say what is
// done anyway (isolate_session_state of a session of this process, a rewrite switched off that is
// not there) count as followed.
// Ownership: values; nothing of the message is kept but a leader's view of it.
// Threads: any; no state.
// Errors: InvalidArgument for a number out of range, NotFound for an executor that is not there or
// a configuration without any CPU.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "thalweg/proto/message.h"
#include "thalweg/session/options.h"

namespace thalweg {

enum class ConfigUse : uint8_t {
  kLocalSession,   // in the process that made the configuration
  kRemoteSession,  // on a server, which has its threads and devices
  kServer,         // of a server: its threads and devices, and defaults of its sessions
};

struct ConfigOptions {
  SessionOptions session;
  EnvironmentSize size;  // of kRemoteSession: what it asks for and does not get
  // For sessions on servers; the cluster itself is read from the message (cluster_def).
  std::vector<std::string> device_filters;
  std::string collective_leader;
  // For a session that brings its own cluster, which has its own state otherwise.
  bool shares_state_of_tasks = false;
  bool schedule_receives = false;
  // Names of fields that are set and have no effect, "gpu_options.allow_growth".
  std::vector<std::string> unheeded;

  // One line; "" where every field has its effect.
  std::string Warning() const;
};

// `session`: what the configuration does not speak of. `there`: the devices that are no CPUs, and
// without GPUs what is said of them is not even read; of kRemoteSession the server's threads and
// devices, and a configuration that asks for the same has its effect.
Result<ConfigOptions> ReadConfig(const Message& config, ConfigUse use, SessionOptions session,
                                 const EnvironmentSize& there = {});

// The task that leads groups of collective operations; "" where the configuration names none. All
// that a worker reads of a session's configuration, whose master has read the rest.
std::string_view CollectiveLeaderOf(const Message& config);

}  // namespace thalweg
