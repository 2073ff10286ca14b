// SPDX-License-Identifier: Apache-2.0
#include "thalweg/cluster/transport/tcp_sockets.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>

#include <tuple>
#include <vector>

#include "thalweg/cluster/transport/conformance/test_sockets.h"

namespace thalweg {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr uint64_t kToken = 7;

sockaddr_in Loopback(uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

// A blocking connection of somebody who may know nothing.
UniqueFd ConnectTo(const TcpOffer& offer) {
  UniqueFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const sockaddr_in address = Loopback(offer.port);
  EXPECT_EQ(connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  return socket;
}

// Somebody else's port, which says this to each of two who come.
class Impostor {
 public:
  explicit Impostor(std::string says) : listener_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address = Loopback(0);
    socklen_t size = sizeof address;
    auto* const generic = reinterpret_cast<sockaddr*>(&address);
    EXPECT_EQ(bind(listener_.get(), generic, size), 0);
    EXPECT_EQ(listen(listener_.get(), 4), 0);
    EXPECT_EQ(getsockname(listener_.get(), generic, &size), 0);
    offer_ = {.host = "127.0.0.1", .port = ntohs(address.sin_port), .secret = {1, 2}};
    if (!says.empty()) {
      thread_ = std::thread([this, says = std::move(says)] {
        for (UniqueFd& guest : guests_) {
          guest = UniqueFd(accept(listener_.get(), nullptr, nullptr));
          EXPECT_EQ(send(guest.get(), says.data(), says.size(), MSG_NOSIGNAL),
                    static_cast<ssize_t>(says.size()));
        }
      });
    }
  }
  ~Impostor() {
    if (thread_.joinable()) thread_.join();
  }
  const TcpOffer& offer() const { return offer_; }

 private:
  UniqueFd listener_;
  TcpOffer offer_;
  std::array<UniqueFd, 2> guests_;
  std::thread thread_;
};

// An option of a connection of which either end may be here.
int OptionOf(const UniqueFd& socket, int level, int name) {
  int value = -1;
  socklen_t size = sizeof value;
  EXPECT_EQ(getsockopt(socket.get(), level, name, &value, &size), 0);
  return value;
}

TEST(TcpSocketsTest, TwoEndsMeet) {
  const auto [here, there] = TcpChannelSockets();
  for (const auto& [from, to, byte] :
       {std::tuple(&here.control, &there.control, 'c'), std::tuple(&there.bulk, &here.bulk, 'b')}) {
    ASSERT_EQ(write(from->get(), &byte, 1), 1);
    pollfd polled{to->get(), POLLIN, 0};
    ASSERT_EQ(poll(&polled, 1, 60'000), 1);
    char got = 0;
    ASSERT_EQ(read(to->get(), &got, 1), 1);
    EXPECT_EQ(got, byte);
  }
}

// Small messages go at once, and a host that has vanished is noticed.
TEST(TcpSocketsTest, AllEndsHaveTheirOptions) {
  const auto [here, there] = TcpChannelSockets();
  for (const UniqueFd* socket : {&here.control, &here.bulk, &there.control, &there.bulk}) {
    EXPECT_EQ(OptionOf(*socket, IPPROTO_TCP, TCP_NODELAY), 1);
    EXPECT_EQ(OptionOf(*socket, SOL_SOCKET, SO_KEEPALIVE), 1);
    EXPECT_GT(OptionOf(*socket, IPPROTO_TCP, TCP_USER_TIMEOUT), 0);
  }
}

// More of them than a listener keeps, some before and some while the right one comes.
TEST(TcpSocketsTest, StrangersDoNotComeInAndHoldNobodyUp) {
  Result<TcpListener> listener = TcpListener::Open("127.0.0.1", kToken);
  ASSERT_TRUE(listener.ok()) << listener.status().ToString();
  const UniqueFd connected(eventfd(0, EFD_CLOEXEC));
  const UniqueFd silent = ConnectTo(listener->offer());
  const UniqueFd gone = ConnectTo(listener->offer());
  const UniqueFd speaking = ConnectTo(listener->offer());
  const std::string garbage(100, 'g');
  ASSERT_EQ(write(speaking.get(), garbage.data(), garbage.size()), 100);
  shutdown(gone.get(), SHUT_RDWR);
  Result<TcpSockets> there = Internal("not connected");
  std::thread asked([&] {
    std::vector<UniqueFd> strangers;
    for (int i = 0; i < 40; ++i) strangers.push_back(ConnectTo(listener->offer()));
    TcpOffer guess = listener->offer();
    ++guess.secret[1];
    EXPECT_EQ(ConnectByTcp(guess, kToken, seconds(60)).status().code(), Code::kUnavailable);
    there = ConnectByTcp(listener->offer(), kToken, seconds(60));
    eventfd_write(connected.get(), 1);
  });
  listener->AttendUntil(connected);
  asked.join();
  EXPECT_TRUE(there.ok()) << there.status().ToString();
  EXPECT_TRUE(listener->Take().ok());
  EXPECT_EQ(listener->Take().status().code(), Code::kUnavailable);  // once
}

TEST(TcpSocketsTest, NobodyComes) {
  Result<TcpListener> listener = TcpListener::Open("127.0.0.1", kToken);
  ASSERT_TRUE(listener.ok());
  const UniqueFd answered(eventfd(1, EFD_CLOEXEC));
  listener->AttendUntil(answered);
  EXPECT_EQ(listener->Take().status().code(), Code::kUnavailable);
}

TEST(TcpSocketsTest, WhoListensMustProveItToo) {
  const Impostor wrong("abcdefgh"), silent("");
  Result<TcpSockets> sockets = ConnectByTcp(wrong.offer(), kToken, seconds(60));
  EXPECT_EQ(sockets.status().code(), Code::kUnavailable);
  EXPECT_NE(sockets.status().message().find("somebody else"), std::string::npos);
  sockets = ConnectByTcp(silent.offer(), kToken, milliseconds(50));
  EXPECT_EQ(sockets.status().code(), Code::kUnavailable);
  EXPECT_NE(sockets.status().message().find("no answer in time"), std::string::npos);
}

TEST(TcpSocketsTest, NobodyListens) {
  TcpOffer offer;
  {
    const Result<TcpListener> listener = TcpListener::Open("127.0.0.1", kToken);
    ASSERT_TRUE(listener.ok());
    offer = listener->offer();
  }
  const Status status = ConnectByTcp(offer, kToken, seconds(60)).status();
  EXPECT_EQ(status.code(), Code::kUnavailable);
  EXPECT_NE(status.message().find("refused"), std::string::npos) << status.message();
}

TEST(TcpSocketsTest, HostsAreNumbers) {
  for (const char* host : {"localhost", "", "1.2.3", "::1]", "10.0.0.5:1"}) {
    EXPECT_EQ(TcpListener::Open(host, kToken).status().code(), Code::kInvalidArgument) << host;
    EXPECT_EQ(ConnectByTcp({.host = host, .port = 1}, kToken, seconds(1)).status().code(),
              Code::kInvalidArgument)
        << host;
  }
  EXPECT_EQ(TcpListener::Open("203.0.113.1", kToken).status().code(), Code::kUnavailable);
  EXPECT_EQ(*NumericHost("127.0.0.1"), "127.0.0.1");
  EXPECT_EQ(*NumericHost("::1"), "::1");
  EXPECT_EQ(NumericHost("no host").status().code(), Code::kUnavailable);
  EXPECT_TRUE(IsEveryHost("0.0.0.0") && IsEveryHost("::") && !IsEveryHost("127.0.0.1"));
}

TEST(TcpSocketsTest, SixthVersion) {
  if (!TcpListener::Open("::1", kToken).ok()) GTEST_SKIP() << "this machine has no IPv6 loopback";
  const auto [here, there] = TcpChannelSockets("::1");
  EXPECT_TRUE(here.bulk.valid() && there.bulk.valid());
}

}  // namespace
}  // namespace thalweg
