// SPDX-License-Identifier: Apache-2.0
// The recorded calls with which the fuzzer of services begins, for tests: each file is a sequence
// as ServiceTrials::Try takes it.
// Ownership: values.
// Threads: any; no state.
// Errors: throws std::filesystem::filesystem_error where the folder is not there.
#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

namespace thalweg {

inline std::vector<std::vector<uint8_t>> ServiceSeeds() {
  std::vector<std::vector<uint8_t>> seeds;
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(THALWEG_SERVICES_CORPUS)) {
    paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  for (const auto& path : paths) {
    std::ifstream file(path, std::ios::binary);
    seeds.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
  return seeds;
}

}  // namespace thalweg
