// SPDX-License-Identifier: Apache-2.0
#include "thalweg/io/table_block.h"

#include <algorithm>
#include <cstring>

#include "thalweg/io/fixed_int.h"
#include "thalweg/proto/wire_reader.h"

namespace thalweg {

void TableBlockBuilder::Add(std::string_view key, std::string_view value) {
  size_t shared = 0;
  if (since_restart_ < restart_interval_) {
    const size_t limit = std::min(last_key_.size(), key.size());
    while (shared < limit && last_key_[shared] == key[shared]) ++shared;
  } else {
    restarts_.push_back(static_cast<uint32_t>(bytes_.size()));
    since_restart_ = 0;
  }
  AppendVarint(bytes_, shared);
  AppendVarint(bytes_, key.size() - shared);
  AppendVarint(bytes_, value.size());
  bytes_.append(key.substr(shared));
  bytes_.append(value);
  last_key_.assign(key);
  ++since_restart_;
  ++count_;
}

std::string TableBlockBuilder::Finish() {
  std::string block = std::move(bytes_);
  for (uint32_t restart : restarts_) AppendFixed32(block, restart);
  AppendFixed32(block, static_cast<uint32_t>(restarts_.size()));
  bytes_.clear();
  restarts_ = {0};
  last_key_.clear();
  since_restart_ = 0;
  count_ = 0;
  return block;
}

Result<TableBlockReader> TableBlockReader::Open(std::string_view block) {
  if (block.size() < 4) return DataLoss("a block of ", block.size(), " bytes has no restart count");
  const uint64_t restarts = LoadFixed32(block.data() + block.size() - 4);
  if (restarts * 4 + 4 > block.size()) {
    return DataLoss("a block of ", block.size(), " bytes cannot hold the ", restarts,
                    " restart points it claims");
  }
  return TableBlockReader(block.substr(0, block.size() - 4 - restarts * 4));
}

bool TableBlockReader::Next() {
  if (!status_.ok() || position_ >= entries_.size()) return false;
  WireReader reader(entries_.substr(position_));
  uint64_t shared = 0, unshared = 0, size = 0;
  if (!reader.ReadVarint(&shared) || !reader.ReadVarint(&unshared) || !reader.ReadVarint(&size) ||
      shared > key_.size() || unshared > reader.remaining() ||
      size > reader.remaining() - unshared) {
    status_ = DataLoss("damaged entry at byte ", position_, " of a block");
    return false;
  }
  key_bytes_ += shared + unshared;
  if (key_bytes_ > kMostKeyBytes * entries_.size()) {
    status_ = DataLoss("the keys of a block of ", entries_.size(), " bytes add up to more than ",
                       kMostKeyBytes, " times as many");
    return false;
  }
  key_.resize(shared);
  key_.append(reader.position(), unshared);
  value_ = std::string_view(reader.position() + unshared, size);
  position_ += reader.offset() + unshared + size;
  return true;
}

}  // namespace thalweg
