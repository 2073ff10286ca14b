// SPDX-License-Identifier: Apache-2.0
// A block of a sorted table: entries with shared key prefixes, then restart points, as LevelDB lays
// it out.
//   entry: varint shared, varint unshared, varint value size, key tail, value
//   end:   restart offsets (fixed32 each), their number (fixed32)
//
// Ownership: a builder owns its bytes; a reader points into its block, which outlives it.
// Threads: one at a time.
// Errors: DataLoss for a block that is too short or not as written; a reader keeps it in status().
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "thalweg/base/status.h"

namespace thalweg {

class TableBlockBuilder {
 public:
  explicit TableBlockBuilder(int restart_interval) : restart_interval_(restart_interval) {}
  // Keys must rise.
  void Add(std::string_view key, std::string_view value);
  // The finished block; the builder starts afresh.
  std::string Finish();
  size_t size() const { return bytes_.size() + 4 * (restarts_.size() + 1); }
  bool empty() const { return count_ == 0; }

 private:
  const int restart_interval_;
  std::string bytes_;
  std::vector<uint32_t> restarts_ = {0};
  std::string last_key_;
  int since_restart_ = 0;
  int count_ = 0;
};

// Reads the entries of a block one after the other. Keys share their beginnings, so a small block
// could hold a great many long ones; all keys of one together have at most kMostKeyBytes times its
// bytes (a writer begins a key afresh after 16 others, or sooner), more is damage.
class TableBlockReader {
 public:
  // DataLoss when the block is too short for what it says of itself. `block` must outlive the
  // reader.
  static Result<TableBlockReader> Open(std::string_view block);
  // False at the end or after an error.
  bool Next();
  const Status& status() const { return status_; }
  const std::string& key() const { return key_; }
  std::string_view value() const { return value_; }

 private:
  explicit TableBlockReader(std::string_view entries) : entries_(entries) {}
  static constexpr size_t kMostKeyBytes = 64;
  std::string_view entries_;
  size_t position_ = 0;
  size_t key_bytes_ = 0;  // of all keys so far
  std::string key_;
  std::string_view value_;
  Status status_;
};

}  // namespace thalweg
