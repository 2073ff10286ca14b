// SPDX-License-Identifier: Apache-2.0
#include "thalweg/cluster/transport/shm/ring.h"

#include <algorithm>
#include <cstring>

#include "thalweg/cluster/transport/record.h"

namespace thalweg {
namespace {

constexpr size_t Padded(size_t bytes) { return (bytes + 7) & ~size_t{7}; }

}  // namespace

void Ring::CopyIn(uint64_t position, std::string_view bytes) {
  if (bytes.empty()) return;
  const size_t at = position % kDataBytes;
  const size_t first = std::min(bytes.size(), kDataBytes - at);
  std::memcpy(data_ + at, bytes.data(), first);
  std::memcpy(data_, bytes.data() + first, bytes.size() - first);
}

void Ring::CopyOut(uint64_t position, char* to, size_t bytes) const {
  const size_t at = position % kDataBytes;
  const size_t first = std::min(bytes, kDataBytes - at);
  std::memcpy(to, data_ + at, first);
  std::memcpy(to + first, data_, bytes - first);
}

Result<bool> Ring::Write(std::string_view head, std::string_view payload, size_t room_left) {
  const uint64_t position = position_.load(std::memory_order_relaxed);
  const size_t bytes = Padded(head.size() + payload.size());
  for (bool asked = false;; asked = true) {
    const uint64_t used = position - header_->read.load();
    if (used > kDataBytes) return DataLoss("the other task's position in a ring is out of range");
    if (bytes + room_left <= kDataBytes - used) break;
    if (asked) return false;
    header_->writer_waits.store(1);  // and look again: the reader may have read meanwhile
  }
  CopyIn(position, head);
  CopyIn(position + head.size(), payload);
  position_.store(position + bytes, std::memory_order_relaxed);
  header_->written.store(position + bytes);
  return true;
}

Result<bool> Ring::Read(std::string* record) {
  const uint64_t position = position_.load(std::memory_order_relaxed);
  const uint64_t there = header_->written.load(std::memory_order_acquire) - position;
  if (there == 0) return false;
  if (there > kDataBytes) return DataLoss("the other task's position in a ring is out of range");
  char prefix[8];
  if (there < sizeof prefix) return DataLoss("a ring holds a part of a record");
  CopyOut(position, prefix, sizeof prefix);
  ASSIGN_OR_RETURN(const size_t length, RecordLength({prefix, sizeof prefix}));
  if (Padded(length) > there) return DataLoss("a record of ", length, " bytes, ", there, " there");
  record->resize(length);
  CopyOut(position, record->data(), length);
  std::memcpy(record->data(), prefix, sizeof prefix);  // what was checked
  position_.store(position + Padded(length));
  header_->read.store(position + Padded(length));
  return true;
}

}  // namespace thalweg
