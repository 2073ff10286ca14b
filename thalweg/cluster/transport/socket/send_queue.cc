// SPDX-License-Identifier: Apache-2.0
#include "thalweg/cluster/transport/socket/send_queue.h"

#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace thalweg {
namespace {

Status ConnectionError(const char* what, int error) {
  return Unavailable("the connection to the other task: ", what, ": ", strerror(error));
}

}  // namespace

Result<size_t> SendParts(int fd, std::string_view first, std::string_view second) {
  iovec parts[2] = {{const_cast<char*>(first.data()), first.size()},
                    {const_cast<char*>(second.data()), second.size()}};
  msghdr message{};
  message.msg_iov = parts;
  message.msg_iovlen = second.empty() ? 1 : 2;
  ssize_t n;
  do {
    n = sendmsg(fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
  } while (n < 0 && errno == EINTR);
  if (n >= 0) return static_cast<size_t>(n);
  if (errno == EAGAIN || errno == EWOULDBLOCK || errno == ENOBUFS) return size_t{0};
  return ConnectionError("sending", errno);
}

Result<size_t> ReceiveSome(int fd, void* target, size_t bytes) {
  ssize_t n;
  do {
    n = recv(fd, target, bytes, MSG_DONTWAIT);
  } while (n < 0 && errno == EINTR);
  if (n > 0) return static_cast<size_t>(n);
  if (n == 0) return OutOfRange("the other task has closed its connection");
  if (errno == EAGAIN || errno == EWOULDBLOCK) return size_t{0};
  return ConnectionError("receiving", errno);
}

void SendQueue::AddBytes(std::string bytes) {
  if (bytes.empty()) return;
  bytes_ += bytes.size();
  // Small ones join, so that a stopped reader's queue is one string, not a node for each record.
  if (!items_.empty() && items_.back().tensor.empty() &&
      items_.back().bytes.size() + bytes.size() <= kSocketPiece) {
    items_.back().bytes += bytes;
  } else {
    items_.push_back({.bytes = std::move(bytes)});
  }
}

void SendQueue::AddTensor(Tensor tensor) {
  if (tensor.bytes() == 0) return;
  bytes_ += tensor.bytes();
  items_.push_back({.tensor = std::move(tensor)});
}

Result<bool> SendQueue::Flush(int fd, size_t limit) {
  while (!items_.empty() && limit > 0) {
    Item& item = items_.front();
    const std::string_view piece = item.Left().substr(0, std::min(limit, kSocketPiece));
    ASSIGN_OR_RETURN(const size_t n, SendParts(fd, piece, {}));
    if (n == 0) return false;
    item.sent += n;
    bytes_ -= n;
    limit -= std::min(limit, n);
    if (item.Left().empty()) items_.pop_front();
  }
  return items_.empty();
}

}  // namespace thalweg
