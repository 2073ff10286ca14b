// SPDX-License-Identifier: Apache-2.0
// Audit: what a check of files found. Damage does not end a check: all of it is listed, the first
// kMostListed of it one by one.
//
//   Audit audit;
//   audit.Add({.file = path, .offset = 96, .what = "the checksum of block 0"});
//   if (audit.num_damages > 0) Use(AuditJson(audit));
//
// Ownership: a value.
// Threads: one.
// Errors: none; damage is what it lists.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace thalweg {

struct Damage {
  std::string file;
  std::optional<uint64_t> offset;  // where it begins
  std::string what;
  std::string expected;  // empty where `what` says all
  std::string found;
};

struct Audit {
  static constexpr uint64_t kMostListed = 1000;

  void Add(Damage damage);
  // A checksum, if it is another one than expected. Both unmasked.
  void CheckCrc(const std::string& file, uint64_t offset, const std::string& what,
                uint32_t expected, uint32_t found);

  std::vector<std::string> files;  // that were read
  uint64_t bytes = 0;              // that were read
  uint64_t checksums = 0;          // that were compared
  uint64_t records = 0;            // tensors of checkpoints, records of other files
  std::vector<Damage> damages;
  uint64_t num_damages = 0;
};

std::string AuditJson(const Audit& audit);

}  // namespace thalweg
