// SPDX-License-Identifier: Apache-2.0
// ClusterJobs: a cluster as people write it: {"ps": ["HOST:PORT"], "worker": {"0": "HOST:PORT"}},
// or what TF_CONFIG has, where that is its "cluster".
//
//   const nlohmann::json parsed = ReadClusterText(R"({"ps": ["127.0.0.1:2222"]})");
//   const ClusterJobs jobs = JobsOf(parsed);
//
// Ownership: values.
// Threads: any.
// Errors: throws std::runtime_error for a file that cannot be read and a job without addresses
// or with a task whose key is no number, nlohmann::json::exception for text of another form.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>

namespace cli {

// The addresses of tasks, by job and number.
using ClusterJobs = std::map<std::string, std::map<int, std::string>>;

// JSON, or the name of a file that holds it.
nlohmann::json ReadClusterText(const std::string& given);
ClusterJobs JobsOf(const nlohmann::json& parsed);

}  // namespace cli
