// SPDX-License-Identifier: Apache-2.0
// SessionPlacementQuestion: what a client asks a master: why a node of a session is on its device.
// The answer is text, of PlacementExplanation.
//
//   std::string bytes = ToBytes({.session = handle, .node = "y"});
//   ASSIGN_OR_RETURN(SessionPlacementQuestion asked, ReadPlacementQuestion(bytes));
//
// Ownership: values.
// Threads: any; no state.
// Errors: InvalidArgument for bytes that are no question.
#pragma once

#include <string>
#include <string_view>

#include "thalweg/base/status.h"

namespace thalweg {

// The method that answers it, of a service of our own: other masters do not have it.
inline constexpr std::string_view kExplainPlacementMethod = "/thalweg.Debug/ExplainPlacement";

struct SessionPlacementQuestion {
  std::string session;
  std::string node;
};
std::string ToBytes(const SessionPlacementQuestion& question);
Result<SessionPlacementQuestion> ReadPlacementQuestion(std::string_view bytes);

}  // namespace thalweg
