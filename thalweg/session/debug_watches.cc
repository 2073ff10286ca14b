// SPDX-License-Identifier: Apache-2.0
#include "thalweg/session/debug_watches.h"

#include <algorithm>

#include "thalweg/proto/messages.h"

namespace thalweg {
namespace {

namespace Watch = pb::DebugTensorWatch;

constexpr std::string_view kAllNodes = "*";
constexpr std::string_view kCheck = "CheckNumerics";

}  // namespace

bool AsksForNumericsCheck(const Message& run_options) {
  const Message& debug = run_options.GetMessage(pb::RunOptions::kDebugOptions);
  return std::ranges::any_of(debug.Messages(pb::DebugOptions::kDebugTensorWatchOpts),
                             [](const Message* watch) {
                               const auto ops = watch->Repeated<std::string_view>(Watch::kDebugOps);
                               return watch->GetString(Watch::kNodeName) == kAllNodes &&
                                      std::ranges::find(ops, kCheck) != ops.end();
                             });
}

void AskForNumericsCheck(Message* run_options) {
  Message* const watch = run_options->Mutable(pb::RunOptions::kDebugOptions)
                             ->Add(pb::DebugOptions::kDebugTensorWatchOpts);
  watch->SetString(Watch::kNodeName, kAllNodes);
  watch->AddString(Watch::kDebugOps, kCheck);
}

}  // namespace thalweg
