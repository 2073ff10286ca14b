// SPDX-License-Identifier: Apache-2.0
#include "thalweg/cluster/debug/http_responder.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <random>
#include <vector>

namespace thalweg {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string Numbers() { return "up 1\n"; }

std::unique_ptr<HttpResponder> StartResponder(
    std::chrono::nanoseconds patience = HttpResponder::kPatience) {
  Result<std::unique_ptr<HttpResponder>> made =
      HttpResponder::Start({.host = "127.0.0.1", .port = 0}, "/metrics", Numbers, patience);
  EXPECT_TRUE(made.ok()) << made.status().ToString();
  return made.ok() ? *std::move(made) : nullptr;
}

// A connection of somebody, whose receives end after a minute.
UniqueFd Visit(const HttpResponder& responder) {
  const Result<HostPort> where = ParseHostPort(responder.address());
  EXPECT_TRUE(where.ok());
  UniqueFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const timeval minute{.tv_sec = 60, .tv_usec = 0};
  ::setsockopt(socket.get(), SOL_SOCKET, SO_RCVTIMEO, &minute, sizeof minute);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(where->port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(::connect(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  return socket;
}

void Say(const UniqueFd& socket, std::string_view text) {
  ASSERT_EQ(::send(socket.get(), text.data(), text.size(), MSG_NOSIGNAL),
            static_cast<ssize_t>(text.size()));
}

// All that comes until the other side closes; what says so where it does not.
std::string Hear(const UniqueFd& socket) {
  std::string all;
  char bytes[4096];
  ssize_t n = 0;
  while ((n = ::recv(socket.get(), bytes, sizeof bytes, 0)) > 0) {
    all.append(bytes, static_cast<size_t>(n));
  }
  const bool still_open = n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
  return still_open ? all + " and nothing more for a minute" : all;
}

TEST(HttpResponderTest, AnswersWhatIsAskedOfIt) {
  const std::unique_ptr<HttpResponder> responder = StartResponder();
  ASSERT_NE(responder, nullptr);
  const std::vector<std::pair<std::string, std::string>> asked = {
      {"GET /metrics HTTP/1.1\r\nHost: here\r\n\r\n", "HTTP/1.1 200 OK"},
      {"GET /metrics?a=b HTTP/1.0\n\n", "HTTP/1.1 200 OK"},
      {"GET / HTTP/1.1\r\n\r\n", "HTTP/1.1 404 "},
      {"POST /metrics HTTP/1.1\r\n\r\n", "HTTP/1.1 405 "},
      {"GET /metrics\r\n\r\n", "HTTP/1.1 400 "},
      {"\r\n\r\n", "HTTP/1.1 400 "},
      {"GET /metrics HTTP/2\r\n\r\n", "HTTP/1.1 400 "},
  };
  for (const auto& [request, status] : asked) {
    const UniqueFd guest = Visit(*responder);
    Say(guest, request);
    const std::string answer = Hear(guest);
    EXPECT_THAT(answer, StartsWith(status)) << request;
    EXPECT_THAT(answer, HasSubstr("Connection: close\r\n")) << request;
    if (status.find("200") != std::string::npos) {
      EXPECT_THAT(answer, EndsWith("\r\nContent-Length: 5\r\nConnection: close\r\n\r\nup 1\n"));
      EXPECT_THAT(answer, HasSubstr("Content-Type: text/plain; version=0.0.4"));
    }
  }
}

TEST(HttpResponderTest, HeadHasNoBody) {
  const std::string answer = AnswerHttp("HEAD /metrics HTTP/1.1\r\n\r\n", "/metrics", Numbers);
  EXPECT_THAT(answer, HasSubstr("Content-Length: 5"));
  EXPECT_THAT(answer, EndsWith("\r\n\r\n"));
}

TEST(HttpResponderTest, ARequestMayComeInPieces) {
  const std::unique_ptr<HttpResponder> responder = StartResponder();
  ASSERT_NE(responder, nullptr);
  const UniqueFd guest = Visit(*responder);
  for (const char c : std::string("GET /metrics HTTP/1.1\r\n\r\n")) Say(guest, {&c, 1});
  EXPECT_THAT(Hear(guest), StartsWith("HTTP/1.1 200 OK"));
}

TEST(HttpResponderTest, WhatHasNoEndIsCutOff) {
  const std::unique_ptr<HttpResponder> responder = StartResponder();
  ASSERT_NE(responder, nullptr);
  const UniqueFd guest = Visit(*responder);
  Say(guest, "GET /metrics HTTP/1.1\r\nX: " + std::string(HttpResponder::kMostBytes, 'x'));
  EXPECT_THAT(Hear(guest), StartsWith("HTTP/1.1 431 "));
}

TEST(HttpResponderTest, WhoSaysNothingGoesWhenItsTimeIsOver) {
  const std::unique_ptr<HttpResponder> responder = StartResponder(std::chrono::milliseconds(20));
  ASSERT_NE(responder, nullptr);
  const UniqueFd silent = Visit(*responder);
  EXPECT_EQ(Hear(silent), "");
  const UniqueFd half = Visit(*responder);
  Say(half, "GET /metr");
  EXPECT_EQ(Hear(half), "");
}

TEST(HttpResponderTest, WhoHoldsConnectionsHoldsNobodyUp) {
  const std::unique_ptr<HttpResponder> responder = StartResponder(std::chrono::hours(1));
  ASSERT_NE(responder, nullptr);
  std::vector<UniqueFd> silent;
  for (size_t i = 0; i < 3 * HttpResponder::kMostGuests; ++i) silent.push_back(Visit(*responder));
  const UniqueFd guest = Visit(*responder);
  Say(guest, "GET /metrics HTTP/1.1\r\n\r\n");
  EXPECT_THAT(Hear(guest), StartsWith("HTTP/1.1 200 OK"));
  EXPECT_EQ(Hear(silent.front()), "");  // the oldest made room
}

TEST(HttpResponderTest, AnyBytesAreAnsweredOrRefused) {
  std::mt19937 random(7);
  const std::string seed = "GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n";
  for (int i = 0; i < 20000; ++i) {
    std::string request = seed.substr(0, random() % (seed.size() + 1));
    for (unsigned j = random() % 8; j > 0 && !request.empty(); --j) {
      request[random() % request.size()] = static_cast<char>(random());
    }
    EXPECT_THAT(AnswerHttp(request, "/metrics", Numbers), StartsWith("HTTP/1.1 "));
  }
  const std::unique_ptr<HttpResponder> responder = StartResponder(std::chrono::hours(1));
  ASSERT_NE(responder, nullptr);
  for (int i = 0; i < 100; ++i) {
    std::string bytes(1 + random() % 9000, '\0');
    for (char& c : bytes) c = static_cast<char>(random());
    const UniqueFd guest = Visit(*responder);
    [[maybe_unused]] const ssize_t n =
        ::send(guest.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    ::shutdown(guest.get(), SHUT_WR);
    if (i % 10 == 0) Hear(guest);  // others go before they hear anything
  }
  const UniqueFd guest = Visit(*responder);
  Say(guest, seed);
  EXPECT_THAT(Hear(guest), StartsWith("HTTP/1.1 200 OK"));
}

TEST(HttpResponderTest, APortIsTakenOnceAndAHostMustBeHere) {
  const std::unique_ptr<HttpResponder> responder = StartResponder();
  ASSERT_NE(responder, nullptr);
  const Result<HostPort> where = ParseHostPort(responder->address());
  const auto again = HttpResponder::Start(*where, "/metrics", Numbers);
  EXPECT_EQ(again.status().code(), Code::kUnavailable);
  EXPECT_THAT(std::string(again.status().message()),
              HasSubstr("cannot listen at " + responder->address() + " for HTTP: bind"));
  const auto nowhere = HttpResponder::Start({.host = "no host", .port = 0}, "/metrics", Numbers);
  EXPECT_EQ(nowhere.status().code(), Code::kUnavailable);
  EXPECT_THAT(std::string(nowhere.status().message()),
              HasSubstr("the address of the host 'no host'"));
}

TEST(HttpResponderTest, ItsEndDoesNotWaitForGuests) {
  std::unique_ptr<HttpResponder> responder = StartResponder(std::chrono::hours(1));
  ASSERT_NE(responder, nullptr);
  const UniqueFd guest = Visit(*responder);
  responder.reset();
  EXPECT_EQ(Hear(guest), "");
}

}  // namespace
}  // namespace thalweg
