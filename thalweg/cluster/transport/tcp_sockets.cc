// SPDX-License-Identifier: Apache-2.0
#include "thalweg/cluster/transport/tcp_sockets.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>

#include "thalweg/base/entropy.h"

namespace thalweg {
namespace {

using Time = std::chrono::steady_clock;

constexpr int kTcpType = SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK;
constexpr int kTcpBacklog = 16;
constexpr size_t kMostGuests = 16;
constexpr uint64_t kMagic = 0x7468'616c'7765'6731;  // another one for another form of greeting

// A host that is silent for 30 s has gone: nothing else tells where it has lost its power. The same
// of bytes that it does not take.
constexpr int kIdleSeconds = 10;
constexpr int kProbeSeconds = 5;
constexpr int kProbes = 4;
constexpr int kSilentMillis = 30'000;

// What the connecting side says first; the other one answers with the token.
struct Greeting {
  uint64_t magic = kMagic;
  std::array<uint64_t, 2> secret{};
  uint64_t use = 0;  // 0: control, 1: bulk
};

struct Address {
  sockaddr_storage storage{};
  socklen_t size = sizeof(sockaddr_storage);
  sockaddr* get() { return reinterpret_cast<sockaddr*>(&storage); }
};

Status Failed(const std::string& what, int error) {
  return Unavailable("a TCP channel: ", what, ": ", std::strerror(error));
}

std::string Named(const TcpOffer& offer) { return StrCat(offer.host, " port ", offer.port); }

Result<Address> AddressOf(const std::string& host, uint16_t port) {
  Address address;
  if (auto* four = reinterpret_cast<sockaddr_in*>(&address.storage);
      inet_pton(AF_INET, host.c_str(), &four->sin_addr) == 1) {
    four->sin_family = AF_INET;
    four->sin_port = htons(port);
    address.size = sizeof *four;
    return address;
  }
  if (auto* six = reinterpret_cast<sockaddr_in6*>(&address.storage);
      inet_pton(AF_INET6, host.c_str(), &six->sin6_addr) == 1) {
    six->sin6_family = AF_INET6;
    six->sin6_port = htons(port);
    address.size = sizeof *six;
    return address;
  }
  return InvalidArgument("a TCP channel: expected a numeric address of a host, got '", host, "'");
}

Status SetUp(const UniqueFd& socket) {
  const std::array<std::array<int, 3>, 6> options = {{
      {IPPROTO_TCP, TCP_NODELAY, 1},
      {SOL_SOCKET, SO_KEEPALIVE, 1},
      {IPPROTO_TCP, TCP_KEEPIDLE, kIdleSeconds},
      {IPPROTO_TCP, TCP_KEEPINTVL, kProbeSeconds},
      {IPPROTO_TCP, TCP_KEEPCNT, kProbes},
      {IPPROTO_TCP, TCP_USER_TIMEOUT, kSilentMillis},
  }};
  for (const auto& [level, name, value] : options) {
    if (setsockopt(socket.get(), level, name, &value, sizeof value) != 0) {
      return Failed("an option of a socket", errno);
    }
  }
  return OkStatus();
}

// Whether it can be read or written by then.
Status AwaitEvent(const UniqueFd& socket, short event, Time::time_point end,
                  std::string_view what) {
  while (true) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - Time::now()).count();
    pollfd polled{socket.get(), event, 0};
    const int n = left <= 0 ? 0 : poll(&polled, 1, static_cast<int>(left));
    if (n > 0) return OkStatus();
    if (n == 0) return Unavailable("a TCP channel: ", what, ": no answer in time");
    if (errno != EINTR) return Failed("poll", errno);
  }
}

Result<UniqueFd> Connect(const TcpOffer& offer, Time::time_point end) {
  ASSIGN_OR_RETURN(Address address, AddressOf(offer.host, offer.port));
  UniqueFd socket(::socket(address.get()->sa_family, kTcpType, 0));
  if (!socket.valid()) return Failed("socket", errno);
  RETURN_IF_ERROR(SetUp(socket));
  const std::string what = StrCat("connecting to ", Named(offer));
  if (connect(socket.get(), address.get(), address.size) == 0) return socket;
  if (errno != EINPROGRESS) return Failed(what, errno);
  RETURN_IF_ERROR(AwaitEvent(socket, POLLOUT, end, what));
  int error = 0;
  socklen_t size = sizeof error;
  if (getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &size) != 0) error = errno;
  if (error != 0) return Failed(what, error);
  return socket;
}

// A few bytes on a connection that has sent none before.
Status SendFirst(const UniqueFd& socket, const void* bytes, size_t size) {
  const ssize_t n = send(socket.get(), bytes, size, MSG_NOSIGNAL | MSG_DONTWAIT);
  if (n == static_cast<ssize_t>(size)) return OkStatus();
  return Failed("the first bytes", n < 0 ? errno : EAGAIN);
}

Status HearToken(const UniqueFd& socket, uint64_t token, const TcpOffer& offer,
                 Time::time_point end) {
  uint64_t said = 0;
  for (size_t got = 0; got < sizeof said;) {
    RETURN_IF_ERROR(
        AwaitEvent(socket, POLLIN, end, StrCat("the answer of who listens at ", Named(offer))));
    const ssize_t n =
        recv(socket.get(), reinterpret_cast<char*>(&said) + got, sizeof said - got, MSG_DONTWAIT);
    if (n > 0) got += static_cast<size_t>(n);
    if (n == 0) return Unavailable("a TCP channel: ", Named(offer), " has closed the connection");
    if (n < 0 && errno != EAGAIN && errno != EINTR) return Failed(Named(offer), errno);
  }
  if (said == token) return OkStatus();
  return Unavailable("a TCP channel: somebody else listens at ", Named(offer));
}

}  // namespace

Result<std::string> NumericHost(const std::string& host) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* list = nullptr;
  if (const int error = getaddrinfo(host.c_str(), nullptr, &hints, &list); error != 0) {
    return Unavailable("the address of the host '", host, "': ", gai_strerror(error));
  }
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> found(list, freeaddrinfo);
  std::array<char, NI_MAXHOST> text;
  const int error = getnameinfo(found->ai_addr, found->ai_addrlen, text.data(), text.size(),
                                nullptr, 0, NI_NUMERICHOST);
  if (error == 0) return std::string(text.data());
  return Unavailable("the address of the host '", host, "': ", gai_strerror(error));
}

bool IsEveryHost(const std::string& host) { return host == "0.0.0.0" || host == "::"; }

Result<TcpListener> TcpListener::Open(const std::string& host, uint64_t token) {
  ASSIGN_OR_RETURN(Address address, AddressOf(host, 0));
  UniqueFd listener(::socket(address.get()->sa_family, kTcpType, 0));
  if (!listener.valid()) return Failed("socket", errno);
  if (bind(listener.get(), address.get(), address.size) != 0) {
    return Failed(StrCat("a port of ", host), errno);
  }
  address.size = sizeof address.storage;
  if (listen(listener.get(), kTcpBacklog) != 0 ||
      getsockname(listener.get(), address.get(), &address.size) != 0) {
    return Failed("listen", errno);
  }
  const uint16_t port = address.storage.ss_family == AF_INET
                            ? reinterpret_cast<sockaddr_in&>(address.storage).sin_port
                            : reinterpret_cast<sockaddr_in6&>(address.storage).sin6_port;
  return TcpListener(std::move(listener),
                     {.host = host, .port = ntohs(port), .secret = {RandomSeed(), RandomSeed()}},
                     token);
}

void TcpListener::AttendUntil(const UniqueFd& end) {
  while (true) {
    const bool full = proven_[0].valid() && proven_[1].valid();
    if (full) {
      listener_ = UniqueFd();
      guests_.clear();
    }
    // A descriptor below zero is passed over.
    std::vector<pollfd> polled = {{end.get(), POLLIN, 0}, {listener_.get(), POLLIN, 0}};
    for (const Guest& guest : guests_) polled.push_back({guest.socket.get(), POLLIN, 0});
    if (poll(polled.data(), polled.size(), -1) < 0) continue;  // a signal
    if (polled[0].revents != 0) return;
    for (size_t i = guests_.size(); i-- > 0;) {
      if (polled[2 + i].revents == 0 || Hear(guests_[i])) continue;
      guests_.erase(guests_.begin() + static_cast<ptrdiff_t>(i));
    }
    if (polled[1].revents != 0) LetIn();
  }
}

// The oldest of too many who say nothing goes.
void TcpListener::LetIn() {
  UniqueFd socket(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (socket.valid()) {
    if (guests_.size() == kMostGuests) guests_.erase(guests_.begin());
    guests_.push_back({.socket = std::move(socket)});
  } else if (errno != EAGAIN && errno != ECONNABORTED && errno != EINTR) {
    listener_ = UniqueFd();  // out of descriptors: nobody comes in any more
  }
}

// False when there is nothing more to hear from it.
bool TcpListener::Hear(Guest& guest) {
  const ssize_t n = recv(guest.socket.get(), guest.said.data() + guest.bytes,
                         guest.said.size() - guest.bytes, MSG_DONTWAIT);
  if (n < 0) return errno == EAGAIN || errno == EINTR;
  guest.bytes += static_cast<size_t>(n);
  if (guest.bytes == guest.said.size()) Greet(guest);
  return n > 0 && guest.bytes < guest.said.size();
}

void TcpListener::Greet(Guest& guest) {
  Greeting greeting;
  static_assert(sizeof greeting == kGreetingBytes);
  std::memcpy(&greeting, guest.said.data(), sizeof greeting);
  // As long whatever is wrong.
  const uint64_t wrong = (greeting.magic ^ kMagic) | (greeting.secret[0] ^ offer_.secret[0]) |
                         (greeting.secret[1] ^ offer_.secret[1]) | (greeting.use & ~uint64_t{1});
  if (wrong != 0 || proven_[greeting.use].valid()) return;
  if (!SetUp(guest.socket).ok()) return;
  if (!SendFirst(guest.socket, &token_, sizeof token_).ok()) return;
  proven_[greeting.use] = std::move(guest.socket);
}

Result<TcpSockets> TcpListener::Take() {
  if (!proven_[0].valid() || !proven_[1].valid()) {
    return Unavailable("a TCP channel: nobody has connected to ", Named(offer_));
  }
  return TcpSockets{std::move(proven_[0]), std::move(proven_[1])};
}

Result<TcpSockets> ConnectByTcp(const TcpOffer& offer, uint64_t token,
                                std::chrono::milliseconds timeout) {
  const Time::time_point end = Time::now() + timeout;
  TcpSockets sockets;
  uint64_t use = 0;
  for (UniqueFd* const socket : {&sockets.control, &sockets.bulk}) {
    ASSIGN_OR_RETURN(*socket, Connect(offer, end));
    const Greeting greeting{.secret = offer.secret, .use = use++};
    RETURN_IF_ERROR(SendFirst(*socket, &greeting, sizeof greeting));
  }
  RETURN_IF_ERROR(HearToken(sockets.control, token, offer, end));
  RETURN_IF_ERROR(HearToken(sockets.bulk, token, offer, end));
  return sockets;
}

}  // namespace thalweg
