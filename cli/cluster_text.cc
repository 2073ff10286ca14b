// SPDX-License-Identifier: Apache-2.0
#include "cluster_text.h"

#include <charconv>
#include <fstream>
#include <sstream>
#include <stdexcept>

namespace cli {
namespace {

// The text itself, or what the file of that name holds.
std::string TextOf(const std::string& given) {
  if (given.find('{') != std::string::npos) return given;
  std::ifstream file(given);
  if (!file)
    throw std::runtime_error("'" + given + "' is neither a cluster in JSON nor a file of one");
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

int TaskNumber(const std::string& job, const std::string& text) {
  int number = -1;
  const char* end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || at != end || number < 0) {
    throw std::runtime_error("job '" + job +
                             "' of the cluster: expected the number of a task, got '" + text + "'");
  }
  return number;
}

// Tasks of a job: a list of addresses, or {"NUMBER": "ADDRESS"}.
std::map<int, std::string> TasksOf(const std::string& job, const nlohmann::json& tasks) {
  std::map<int, std::string> found;
  if (tasks.is_array()) {
    for (const auto& address : tasks) {
      found.emplace(static_cast<int>(found.size()), address.get<std::string>());
    }
  } else if (tasks.is_object()) {
    for (const auto& [number, address] : tasks.items()) {
      found.emplace(TaskNumber(job, number), address.get<std::string>());
    }
  } else {
    throw std::runtime_error("job '" + job + "' of the cluster has no list of addresses");
  }
  return found;
}

}  // namespace

nlohmann::json ReadClusterText(const std::string& given) {
  return nlohmann::json::parse(TextOf(given));
}

ClusterJobs JobsOf(const nlohmann::json& parsed) {
  const nlohmann::json& cluster = parsed.contains("cluster") ? parsed.at("cluster") : parsed;
  ClusterJobs jobs;
  for (const auto& [job, tasks] : cluster.items()) jobs[job] = TasksOf(job, tasks);
  return jobs;
}

}  // namespace cli
