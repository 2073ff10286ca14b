// SPDX-License-Identifier: Apache-2.0
// ServerDefBytes: which task of which cluster, as the bytes of a ServerDef message.
// Ownership: the bytes are the caller's.
// Threads: any; no state.
// Errors: throws tw::Error where the message cannot be made.
#pragma once

#include <map>
#include <string>

namespace cli {

struct ServerTask {
  std::map<std::string, std::map<int, std::string>> jobs;  // addresses; empty: no cluster
  std::string job;
  int number = 0;
  std::string collective_leader;  // may be empty
};

std::string ServerDefBytes(const ServerTask& task);

}  // namespace cli
