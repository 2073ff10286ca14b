// SPDX-License-Identifier: Apache-2.0
#include "cli/server_def.h"

#include <cstdint>

namespace cli {
namespace {

void AddVarint(uint64_t value, std::string* out) {
  while (value >= 128) {
    out->push_back(static_cast<char>(value | 128));
    value >>= 7;
  }
  out->push_back(static_cast<char>(value));
}

// Field `number` with a length and bytes, or with an integer.
void AddBytes(int number, const std::string& bytes, std::string* out) {
  AddVarint(static_cast<uint64_t>(number) << 3 | 2, out);
  AddVarint(bytes.size(), out);
  *out += bytes;
}
void AddInteger(int number, uint64_t value, std::string* out) {
  AddVarint(static_cast<uint64_t>(number) << 3, out);
  AddVarint(value, out);
}

}  // namespace

std::string ServerDefBytes(const ServerTask& task) {
  if (task.jobs.empty()) return "";
  std::string cluster;
  for (const auto& [name, tasks] : task.jobs) {
    std::string job;
    AddBytes(1, name, &job);
    for (const auto& [number, address] : tasks) {
      std::string entry;
      AddInteger(1, static_cast<uint64_t>(number), &entry);
      AddBytes(2, address, &entry);
      AddBytes(2, entry, &job);
    }
    AddBytes(1, job, &cluster);
  }
  std::string def;
  AddBytes(1, cluster, &def);
  AddBytes(2, task.job, &def);
  AddInteger(3, static_cast<uint64_t>(task.number), &def);
  if (task.collective_leader.empty()) return def;
  std::string experimental, config;  // of the default_session_config
  AddBytes(1, task.collective_leader, &experimental);
  AddBytes(16, experimental, &config);
  AddBytes(4, config, &def);
  return def;
}

}  // namespace cli
