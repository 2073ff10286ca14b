// SPDX-License-Identifier: Apache-2.0
#include "thalweg/cluster/peers/session_cluster.h"

#include <algorithm>
#include <utility>

namespace thalweg {
namespace {

bool IsAnyHost(std::string_view host) { return host == "0.0.0.0" || host == "::"; }

// Whether who listens at `own` is meant by `said`.
bool IsSameAddress(const HostPort& own, const HostPort& said) {
  if (own.port != said.port || own.port == 0) return false;
  const bool is_on_loopback = IsLoopback(own.host) || IsAnyHost(own.host);
  return own.host == said.host || (is_on_loopback && IsLoopback(said.host));
}

std::string ListOf(const std::vector<std::string>& addresses) {
  std::string text;
  for (const std::string& address : addresses) {
    if (text.find(address) == std::string::npos) text += StrCat(text.empty() ? "" : ", ", address);
  }
  return text;
}

}  // namespace

Result<SessionCluster::Self> SessionCluster::FindSelf(const ClusterSpec& spec,
                                                      const std::vector<std::string>& addresses) {
  std::vector<HostPort> own;
  for (const std::string& address : addresses) {
    ASSIGN_OR_RETURN(own.emplace_back(), ParseHostPort(address));
  }
  std::vector<Self> found;
  std::string all;
  for (const auto& [job, tasks] : spec.jobs()) {
    for (const auto& [task, address] : tasks) {
      all += StrCat(all.empty() ? "" : ", ", job, ":", task, " at ", address);
      ASSIGN_OR_RETURN(const HostPort said, ParseHostPort(address));
      const bool is_self =
          std::ranges::any_of(own, [&](const HostPort& mine) { return IsSameAddress(mine, said); });
      if (is_self) found.push_back({job, task});
    }
  }
  if (found.size() == 1) return found.front();
  if (found.empty()) {
    return InvalidArgument(
        "The master (current machine) is not included in the provided cluster_def: expected a task "
        "at ",
        ListOf(addresses), ", found ", all.empty() ? "no task" : all);
  }
  return InvalidArgument(
      "Found multiple matching tasks that correspond to the master: expected one at ",
      ListOf(addresses), ", found ", all);
}

Result<std::shared_ptr<SessionCluster>> SessionCluster::Make(
    const std::shared_ptr<Environment>& environment, ClusterSpec spec, const Self& self,
    const TlsTexts& tls) {
  ASSIGN_OR_RETURN(std::shared_ptr<Environment> renamed,
                   Environment::Renamed(environment, self.job, self.task));
  // Its members are made in place: calls know where the clients are.
  return std::shared_ptr<SessionCluster>(new SessionCluster{
      .environment = std::move(renamed),
      .peers = WorkerClients(std::move(spec), TaskName(self.job, self.task), tls)});
}

}  // namespace thalweg
