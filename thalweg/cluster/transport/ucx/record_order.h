// SPDX-License-Identifier: Apache-2.0
// RecordOrder: puts numbered records in order. UCX may deliver a message before one that was sent
// earlier, where it has several ways to the other side.
//
//   RETURN_IF_ERROR(order.Put(number, received));
//   while (order.Take(&bytes)) Handle(bytes);
//
// Ownership: copies what comes early, until it is taken.
// Threads: one at a time.
// Errors: DataLoss for a number that was there before or is far ahead, ResourceExhausted where too
// much waits to be taken.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <string_view>

#include "thalweg/base/status.h"

namespace thalweg {

class RecordOrder {
 public:
  static constexpr uint64_t kMostAhead = 4096;
  static constexpr size_t kMostBytes = size_t{64} << 20;

  Status Put(uint64_t number, std::string_view bytes) {
    const uint64_t ahead = number - next_;
    if (ahead > kMostAhead || early_.contains(number)) {
      return DataLoss("a record of a channel has the number ", number, ", the next one is ", next_);
    }
    bytes_ += bytes.size();
    if (bytes_ > kMostBytes) {
      return ResourceExhausted("this task does not read: ", bytes_,
                               " bytes of control messages wait for it");
    }
    if (ahead > 0) {
      early_.emplace(number, bytes);
      return OkStatus();
    }
    ready_.emplace_back(bytes);
    ++next_;
    for (auto it = early_.begin(); it != early_.end() && it->first == next_; ++next_) {
      ready_.push_back(std::move(it->second));
      it = early_.erase(it);
    }
    return OkStatus();
  }
  // The next one, if it is there.
  bool Take(std::string* bytes) {
    if (ready_.empty()) return false;
    *bytes = std::move(ready_.front());
    ready_.pop_front();
    bytes_ -= bytes->size();
    return true;
  }
  size_t ready() const { return ready_.size(); }

 private:
  uint64_t next_ = 0;
  size_t bytes_ = 0;
  std::deque<std::string> ready_;
  std::map<uint64_t, std::string> early_;
};

}  // namespace thalweg
