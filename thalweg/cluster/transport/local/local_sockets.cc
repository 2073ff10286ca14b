// SPDX-License-Identifier: Apache-2.0
#include "thalweg/cluster/transport/local/local_sockets.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cinttypes>
#include <cstddef>
#include <cstdio>
#include <cstring>

namespace thalweg {
namespace {

constexpr int kType = SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK;
constexpr int kBacklog = 64;

struct Name {
  sockaddr_un address{};
  socklen_t size = 0;
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&address); }
};

Name NameOf(uint64_t token) {
  Name name;
  name.address.sun_family = AF_UNIX;
  // A name that begins with a zero is abstract.
  const int length = std::snprintf(name.address.sun_path + 1, sizeof name.address.sun_path - 1,
                                   "thalweg-%016" PRIx64, token);
  name.size =
      static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + static_cast<size_t>(length));
  return name;
}

Status Failed(const char* what) {
  return Unavailable("a local socket: ", what, ": ", std::strerror(errno));
}

// Abstract names have no permissions: who is at the other end is asked.
Status CheckUser(const UniqueFd& socket) {
  ucred peer{};
  socklen_t size = sizeof peer;
  if (getsockopt(socket.get(), SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) {
    return Failed("SO_PEERCRED");
  }
  if (peer.uid == geteuid()) return OkStatus();
  return PermissionDenied("a local socket: process ", peer.pid, " is of user ", peer.uid,
                          ", this one of ", geteuid());
}

}  // namespace

Result<UniqueFd> ListenLocally(uint64_t token) {
  UniqueFd socket(::socket(AF_UNIX, kType, 0));
  if (!socket.valid()) return Failed("socket");
  const Name name = NameOf(token);
  if (bind(socket.get(), name.get(), name.size) != 0) return Failed("bind");
  if (listen(socket.get(), kBacklog) != 0) return Failed("listen");
  return socket;
}

Result<UniqueFd> ConnectLocally(uint64_t token) {
  UniqueFd socket(::socket(AF_UNIX, kType, 0));
  if (!socket.valid()) return Failed("socket");
  const Name name = NameOf(token);
  if (connect(socket.get(), name.get(), name.size) != 0) return Failed("connect");
  RETURN_IF_ERROR(CheckUser(socket));
  return socket;
}

Result<UniqueFd> AcceptLocally(const UniqueFd& listener) {
  while (true) {
    UniqueFd socket(accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!socket.valid()) return Failed("accept");
    if (CheckUser(socket).ok()) return socket;  // others see the name, too: the next may be meant
  }
}

}  // namespace thalweg
