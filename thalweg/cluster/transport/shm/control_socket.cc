// SPDX-License-Identifier: Apache-2.0
#include "thalweg/cluster/transport/shm/control_socket.h"

#include <sys/socket.h>
#include <sys/uio.h>

#include <cerrno>
#include <cstring>

namespace thalweg {
namespace {

union AncillaryFd {
  cmsghdr align;
  char bytes[CMSG_SPACE(sizeof(int))];
};

UniqueFd FdOf(msghdr& message) {
  UniqueFd fd;
  for (cmsghdr* c = CMSG_FIRSTHDR(&message); c != nullptr; c = CMSG_NXTHDR(&message, c)) {
    if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS) continue;
    int value;
    std::memcpy(&value, CMSG_DATA(c), sizeof value);
    fd = UniqueFd(value);
  }
  return fd;
}

}  // namespace

Status ControlSocket::Send(const ControlSocketMessage& message, int fd) const {
  iovec part{const_cast<ControlSocketMessage*>(&message), sizeof message};
  AncillaryFd ancillary{};
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  if (fd >= 0) {
    header.msg_control = ancillary.bytes;
    header.msg_controllen = sizeof ancillary.bytes;
    cmsghdr* c = CMSG_FIRSTHDR(&header);
    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(c), &fd, sizeof fd);
  }
  ssize_t n;
  do {
    n = sendmsg(socket_.get(), &header, MSG_DONTWAIT | MSG_NOSIGNAL);
  } while (n < 0 && errno == EINTR);
  if (n == static_cast<ssize_t>(sizeof message)) return OkStatus();
  if (n >= 0 || errno == EAGAIN || errno == EWOULDBLOCK || errno == ETOOMANYREFS) {
    return ResourceExhausted("the other task does not read what it is sent");
  }
  return Unavailable("the other task has gone: ", strerror(errno));
}

Result<bool> ControlSocket::Receive(ControlSocketMessage* message, UniqueFd* fd) const {
  iovec part{message, sizeof *message};
  AncillaryFd ancillary{};
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  header.msg_control = ancillary.bytes;
  header.msg_controllen = sizeof ancillary.bytes;
  ssize_t n;
  do {
    n = recvmsg(socket_.get(), &header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  } while (n < 0 && errno == EINTR);
  if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return false;
  if (n < 0) return Unavailable("the other task has gone: ", strerror(errno));
  *fd = FdOf(header);
  if (n == 0) return OutOfRange("the other task has closed its connection");
  if (n != static_cast<ssize_t>(sizeof *message)) return DataLoss("a part of a message");
  return true;
}

}  // namespace thalweg
