// SPDX-License-Identifier: Apache-2.0
#include "thalweg/cluster/spec/cluster_spec.h"

#include <charconv>

#include "thalweg/proto/messages.h"

namespace thalweg {

Result<HostPort> ParseHostPort(std::string_view address) {
  const size_t colon = address.rfind(':');
  HostPort parsed;
  const auto bad = [&] {
    return InvalidArgument("'", address,
                           "' is no address: expected HOST:PORT, as 127.0.0.1:2222 or "
                           "[::1]:2222");
  };
  if (colon == std::string_view::npos || colon == 0) return bad();
  const std::string_view digits = address.substr(colon + 1);
  const auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), parsed.port);
  if (error != std::errc() || end != digits.data() + digits.size() || parsed.port < 0 ||
      parsed.port > 65535) {
    return bad();
  }
  std::string_view host = address.substr(0, colon);
  if (host.starts_with('[') && host.ends_with(']')) {
    host = host.substr(1, host.size() - 2);
  } else if (host.find(':') != std::string_view::npos) {
    return bad();
  }
  if (host.empty()) return bad();
  parsed.host = host;
  return parsed;
}

std::string JoinHostPort(std::string_view host, int port) {
  const bool is_ipv6 = host.find(':') != std::string_view::npos;
  return is_ipv6 ? StrCat("[", host, "]:", port) : StrCat(host, ":", port);
}

bool IsLoopback(std::string_view host) {
  return host == "localhost" || host == "::1" || host.starts_with("127.");
}

Result<ClusterSpec> ClusterSpec::FromMessage(const Message& cluster_def) {
  ClusterSpec spec;
  for (const Message* job : cluster_def.Messages(pb::ClusterDef::kJob)) {
    for (const Message* task : job->Messages(pb::JobDef::kTasks)) {
      RETURN_IF_ERROR(spec.Add(job->GetString(pb::JobDef::kName),
                               static_cast<int>(task->GetInt(pb::kMapKey)),
                               task->GetString(pb::kMapValue)));
    }
  }
  return spec;
}

void ClusterSpec::ToMessage(Message* cluster_def) const {
  for (const auto& [name, tasks] : jobs_) {
    Message* const job = cluster_def->Add(pb::ClusterDef::kJob);
    job->SetString(pb::JobDef::kName, name);
    for (const auto& [task, address] : tasks) {
      job->MutableEntry(pb::JobDef::kTasks, task)->SetString(pb::kMapValue, address);
    }
  }
}

Status ClusterSpec::Add(std::string_view job, int task, std::string_view address) {
  if (job.empty()) return InvalidArgument("a job of a cluster needs a name");
  if (task < 0) return InvalidArgument("job ", job, " has a task with the number ", task);
  ASSIGN_OR_RETURN(const HostPort where, ParseHostPort(address));
  for (const auto& [other_job, tasks] : jobs_) {
    for (const auto& [other_task, other] : tasks) {
      if (other == address && where.port != 0) {
        return InvalidArgument("tasks ", other_job, ":", other_task, " and ", job, ":", task,
                               " have one address, ", address);
      }
    }
  }
  const auto found = jobs_.try_emplace(std::string(job)).first;
  if (!found->second.emplace(task, address).second) {
    return InvalidArgument("job ", job, " has two tasks with the number ", task);
  }
  return OkStatus();
}

void ClusterSpec::Move(std::string_view job, int task, std::string_view address) {
  jobs_.try_emplace(std::string(job)).first->second.insert_or_assign(task, std::string(address));
}

Result<std::string> ClusterSpec::Address(std::string_view job, int task) const {
  if (const auto found = jobs_.find(job); found != jobs_.end()) {
    if (const auto at = found->second.find(task); at != found->second.end()) return at->second;
  }
  return NotFound("the cluster has no task ", job, ":", task, "; it has ", ToString());
}

std::string ClusterSpec::ToString() const {
  std::string text;
  for (const auto& [name, tasks] : jobs_) {
    text += StrCat(text.empty() ? "" : "; ", name, ":");
    const char* separator = " ";
    for (const auto& [task, address] : tasks) {
      text += StrCat(separator, task);
      separator = ", ";
    }
  }
  return text.empty() ? "no task" : text;
}

}  // namespace thalweg
