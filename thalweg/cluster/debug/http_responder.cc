// SPDX-License-Identifier: Apache-2.0
#include "thalweg/cluster/debug/http_responder.h"

#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "thalweg/cluster/transport/tcp_sockets.h"

namespace thalweg {
namespace {

using SteadyTime = std::chrono::steady_clock::time_point;

constexpr std::chrono::seconds kPause{1};  // where the system has no descriptor for a guest

std::string HttpText(std::string_view status, std::string_view type, std::string_view body,
                     bool with_body = true, std::string_view more = "") {
  return StrCat("HTTP/1.1 ", status, "\r\nContent-Type: ", type,
                "\r\nContent-Length: ", body.size(), "\r\nConnection: close\r\n", more, "\r\n",
                with_body ? body : "");
}

std::string Refusal(std::string_view status, std::string_view words, std::string_view more = "") {
  return HttpText(status, "text/plain; charset=utf-8", StrCat(words, "\n"), true, more);
}

Result<UniqueFd> ListenAt(const std::string& host, int port, std::string* address) {
  ASSIGN_OR_RETURN(const std::string numeric, NumericHost(host));
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
  addrinfo* list = nullptr;
  const std::string service = StrCat(port);
  if (const int error = getaddrinfo(numeric.c_str(), service.c_str(), &hints, &list); error != 0) {
    return InvalidArgument("expected HOST:PORT to listen at for HTTP, got '", host, "' and ", port,
                           ": ", gai_strerror(error));
  }
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> found(list, freeaddrinfo);
  const auto failed = [&](const char* what) {
    return Unavailable("cannot listen at ", JoinHostPort(host, port), " for HTTP: ", what, ": ",
                       std::strerror(errno));
  };
  UniqueFd listener(
      ::socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_TCP));
  if (!listener.valid()) return failed("socket");
  const int on = 1;
  ::setsockopt(listener.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (::bind(listener.get(), found->ai_addr, found->ai_addrlen) != 0) return failed("bind");
  if (::listen(listener.get(), SOMAXCONN) != 0) return failed("listen");
  sockaddr_storage bound{};
  socklen_t size = sizeof bound;
  if (::getsockname(listener.get(), reinterpret_cast<sockaddr*>(&bound), &size) != 0) {
    return failed("its port");
  }
  const uint16_t bound_port = bound.ss_family == AF_INET
                                  ? reinterpret_cast<const sockaddr_in&>(bound).sin_port
                                  : reinterpret_cast<const sockaddr_in6&>(bound).sin6_port;
  *address = JoinHostPort(host, ntohs(bound_port));
  return listener;
}

// Where the lines of a request end; npos: they have not come.
size_t EndOfRequest(std::string_view bytes) {
  const size_t whole = bytes.find("\r\n\r\n");
  const size_t bare = bytes.find("\n\n");
  return std::min(whole, bare);
}

}  // namespace

std::string AnswerHttp(std::string_view request, std::string_view path,
                       const std::function<std::string()>& page) {
  std::string_view line = request.substr(0, request.find_first_of("\r\n"));
  const size_t first = line.find(' ');
  const size_t last = line.rfind(' ');
  if (first == std::string_view::npos || first == last ||
      !line.substr(last + 1).starts_with("HTTP/1.")) {
    return Refusal("400 Bad Request", "expected a request of HTTP/1.0 or 1.1");
  }
  const std::string_view method = line.substr(0, first);
  std::string_view target = line.substr(first + 1, last - first - 1);
  target = target.substr(0, target.find('?'));
  if (method != "GET" && method != "HEAD") {
    return Refusal("405 Method Not Allowed", "only GET is answered here", "Allow: GET, HEAD\r\n");
  }
  if (target != path) {
    return Refusal("404 Not Found", StrCat("there is nothing but ", path, " here"));
  }
  return HttpText("200 OK", "text/plain; version=0.0.4; charset=utf-8", page(), method == "GET");
}

// Connections, the oldest first.
class HttpResponder::Guests {
 public:
  explicit Guests(const HttpResponder& owner) : owner_(owner) {}

  void Poll(SteadyTime now, std::vector<pollfd>* polled) const {
    const bool paused = now < listen_from_;
    polled->push_back({paused ? -1 : owner_.listener_.get(), POLLIN, 0});
    for (const Guest& guest : guests_) {
      const bool writes = guest.sent < guest.answer.size();
      polled->push_back({guest.socket.get(), static_cast<short>(writes ? POLLOUT : POLLIN), 0});
    }
  }
  // How long nothing is to be done, unless something comes; none: for ever.
  std::optional<SteadyTime> Next(SteadyTime now) const {
    std::optional<SteadyTime> next;
    if (now < listen_from_) next = listen_from_;
    if (!guests_.empty()) {
      const SteadyTime end = guests_.front().end;
      next = next.has_value() ? std::min(*next, end) : end;
    }
    return next;
  }
  // `polled` as Poll made it.
  void Serve(const pollfd* polled, SteadyTime now) {
    std::vector<Guest> stay;
    for (size_t i = 0; i < guests_.size(); ++i) {
      Guest& guest = guests_[i];
      const bool goes_on = guest.end > now && (polled[i + 1].revents == 0 || Go(guest));
      if (goes_on) stay.push_back(std::move(guest));
    }
    guests_ = std::move(stay);
    if (polled[0].revents != 0) LetIn(now);
  }

 private:
  struct Guest {
    UniqueFd socket;
    SteadyTime end;
    std::string request;
    std::string answer;
    size_t sent = 0;
  };

  void LetIn(SteadyTime now) {
    UniqueFd socket(
        ::accept4(owner_.listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (socket.valid()) {
      if (guests_.size() == kMostGuests) guests_.erase(guests_.begin());
      guests_.push_back({.socket = std::move(socket),
                         .end = now + owner_.patience_,
                         .request = {},
                         .answer = {}});
    } else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
      listen_from_ = now + kPause;
    }
  }

  // False: it is over.
  bool Go(Guest& guest) const {
    if (!guest.answer.empty()) {
      return guest.sent < guest.answer.size() ? Write(guest) : Drain(guest);
    }
    std::array<char, 4096> bytes;
    const ssize_t n = ::recv(guest.socket.get(), bytes.data(), bytes.size(), 0);
    if (n <= 0) return n < 0 && (errno == EAGAIN || errno == EINTR);
    guest.request.append(bytes.data(), static_cast<size_t>(n));
    const size_t end = EndOfRequest(guest.request);
    if (end != std::string::npos && end <= kMostBytes) {
      guest.answer = AnswerHttp(guest.request, owner_.path_, owner_.page_);
    } else if (guest.request.size() > kMostBytes) {
      guest.answer = Refusal("431 Request Header Fields Too Large",
                             StrCat("a request has at most ", kMostBytes, " bytes"));
    } else {
      return true;
    }
    guest.request.clear();
    return Write(guest);
  }
  static bool Write(Guest& guest) {
    const ssize_t n = ::send(guest.socket.get(), guest.answer.data() + guest.sent,
                             guest.answer.size() - guest.sent, MSG_NOSIGNAL);
    if (n < 0) return errno == EAGAIN || errno == EINTR;
    guest.sent += static_cast<size_t>(n);
    // What it still sends is read: closing before would take back the answer.
    if (guest.sent == guest.answer.size()) ::shutdown(guest.socket.get(), SHUT_WR);
    return true;
  }
  static bool Drain(Guest& guest) {
    std::array<char, 4096> bytes;
    const ssize_t n = ::recv(guest.socket.get(), bytes.data(), bytes.size(), 0);
    return n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR));
  }

  const HttpResponder& owner_;
  std::vector<Guest> guests_;
  SteadyTime listen_from_{};
};

Result<std::unique_ptr<HttpResponder>> HttpResponder::Start(const HostPort& where, std::string path,
                                                            Page page,
                                                            std::chrono::nanoseconds patience) {
  std::string address;
  ASSIGN_OR_RETURN(UniqueFd listener, ListenAt(where.host, where.port, &address));
  UniqueFd stop(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!stop.valid()) return ResourceExhausted("an eventfd: ", std::strerror(errno));
  return std::make_unique<HttpResponder>(Token(), std::move(listener), std::move(stop),
                                         std::move(address), std::move(path), std::move(page),
                                         patience);
}

HttpResponder::HttpResponder(Token, UniqueFd listener, UniqueFd stop, std::string address,
                             std::string path, Page page, std::chrono::nanoseconds patience)
    : listener_(std::move(listener)),
      stop_(std::move(stop)),
      address_(std::move(address)),
      path_(std::move(path)),
      page_(std::move(page)),
      patience_(patience),
      thread_("http", [this] { Loop(); }) {}

HttpResponder::~HttpResponder() {
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(stop_.get(), &one, sizeof one);
  thread_.Join();
}

void HttpResponder::Loop() {
  Guests guests(*this);
  std::vector<pollfd> polled;
  while (true) {
    const SteadyTime now = std::chrono::steady_clock::now();
    polled.assign(1, {stop_.get(), POLLIN, 0});
    guests.Poll(now, &polled);
    int millis = -1;
    if (const std::optional<SteadyTime> next = guests.Next(now); next.has_value()) {
      millis = static_cast<int>(std::chrono::ceil<std::chrono::milliseconds>(*next - now).count());
      millis = std::max(millis, 0);
    }
    if (::poll(polled.data(), polled.size(), millis) < 0) {
      for (pollfd& one : polled) one.revents = 0;  // interrupted
    }
    if (polled[0].revents != 0) return;
    guests.Serve(polled.data() + 1, std::chrono::steady_clock::now());
  }
}

}  // namespace thalweg
