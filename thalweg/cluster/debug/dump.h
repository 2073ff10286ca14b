// SPDX-License-Identifier: Apache-2.0
// MakeDump: what a task does at this moment, as JSON: its open steps with the nodes that wait, the
// values that lie or are awaited in their rendezvous, who was asked for what; open calls; which
// tasks it watches. Works while steps are stuck: takes short locks only.
//
//   call->Answer(MakeDump({.task = task, .steps = steps, .channels = channels,
//                          .environment = *environment, .health = health, .calls = calls}));
//
// Ownership: the text is the caller's; the sources are used during the call.
// Threads: any.
// Errors: none; a source that has nothing gives an empty list.
#pragma once

#include <string>
#include <vector>

#include "thalweg/cluster/debug/open_calls.h"
#include "thalweg/cluster/health/health.h"
#include "thalweg/cluster/steps/rpc_rendezvous.h"
#include "thalweg/cluster/steps/step_service.h"
#include "thalweg/session/environment.h"

namespace thalweg {

// The method that gives it, of a service of its own.
inline constexpr std::string_view kDumpMethod = "/thalweg.Debug/Dump";

struct DumpSources {
  std::string task;
  RpcStepTable& steps;
  StepService& channels;
  Environment& environment;
  Health& health;
  const OpenCalls& calls;
};
std::string MakeDump(const DumpSources& from);

}  // namespace thalweg
