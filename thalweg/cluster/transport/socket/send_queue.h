// SPDX-License-Identifier: Apache-2.0
// SendQueue: what one non-blocking connection has still to send: bytes of its own, and tensors by
// reference.
//
//   queue.AddBytes(bytes);  queue.AddTensor(tensor);
//   ASSIGN_OR_RETURN(const bool empty, queue.Flush(fd, kSocketPiece));
//
// Ownership: keeps a tensor until it is sent.
// Threads: one at a time: its owner is locked.
// Errors: Unavailable, with what the system says, where the connection is gone.
#pragma once

#include <deque>
#include <string>
#include <string_view>

#include "thalweg/base/status.h"
#include "thalweg/tensor/tensor.h"

namespace thalweg {

inline constexpr size_t kSocketPiece = size_t{1} << 20;  // of one system call

// Sends what the socket takes of two parts, one after the other; 0 when it takes nothing now.
Result<size_t> SendParts(int fd, std::string_view first, std::string_view second);
// 0 when nothing is there now; OutOfRange at the end of the stream.
Result<size_t> ReceiveSome(int fd, void* target, size_t bytes);

class SendQueue {
 public:
  bool empty() const { return items_.empty(); }
  size_t bytes() const { return bytes_; }
  void AddBytes(std::string bytes);
  void AddTensor(Tensor tensor);
  // Sends at most `limit` bytes; false when something is left.
  Result<bool> Flush(int fd, size_t limit);

 private:
  struct Item {
    std::string bytes;
    Tensor tensor;
    size_t sent = 0;
    std::string_view Left() const {
      const std::string_view all =
          tensor.empty()
              ? std::string_view(bytes)
              : std::string_view(static_cast<const char*>(tensor.raw_data()), tensor.bytes());
      return all.substr(sent);
    }
  };

  std::deque<Item> items_;
  size_t bytes_ = 0;
};

}  // namespace thalweg
