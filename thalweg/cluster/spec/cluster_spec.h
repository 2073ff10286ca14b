// SPDX-License-Identifier: Apache-2.0
// ClusterSpec: the jobs of a cluster, their tasks, and where each of them listens.
//
//   ASSIGN_OR_RETURN(ClusterSpec spec, ClusterSpec::FromMessage(cluster_def));
//   ASSIGN_OR_RETURN(std::string address, spec.Address("ps", 0));
//
// A job's tasks may have gaps: numbers that nobody has yet.
// Ownership: a value.
// Threads: as a std::map.
// Errors: InvalidArgument for a malformed address or two tasks at one, NotFound for a job or task
// that is not there, with those that are.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "thalweg/base/status.h"
#include "thalweg/proto/message.h"

namespace thalweg {

struct HostPort {
  std::string host;  // without the brackets of an IPv6 address
  int port = 0;
};
// "HOST:PORT", "[IPV6]:PORT".
Result<HostPort> ParseHostPort(std::string_view address);
// The same again, with the brackets of an IPv6 address.
std::string JoinHostPort(std::string_view host, int port);
bool IsLoopback(std::string_view host);

class ClusterSpec {
 public:
  // `cluster_def` is a ClusterDef.
  static Result<ClusterSpec> FromMessage(const Message& cluster_def);
  // Into an empty ClusterDef.
  void ToMessage(Message* cluster_def) const;

  Status Add(std::string_view job, int task, std::string_view address);
  // A task is at another address from now on, or is new. Who was there before is somewhere else
  // too, as its own word will say.
  void Move(std::string_view job, int task, std::string_view address);
  Result<std::string> Address(std::string_view job, int task) const;
  bool empty() const { return jobs_.empty(); }
  const std::map<std::string, std::map<int, std::string>, std::less<>>& jobs() const {
    return jobs_;
  }
  // "ps: 0, 1; worker: 0", for people.
  std::string ToString() const;

 private:
  std::map<std::string, std::map<int, std::string>, std::less<>> jobs_;
};

}  // namespace thalweg
