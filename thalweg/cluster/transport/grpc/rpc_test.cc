// SPDX-License-Identifier: Apache-2.0
#include "thalweg/cluster/transport/grpc/rpc.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "thalweg/base/notification.h"
#include "thalweg/base/str_cat.h"

namespace thalweg {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

constexpr size_t kMegabyte = size_t{1} << 20;

std::unique_ptr<RpcServer> Serve(RpcServer::Handler handler, int64_t max_message_bytes = 0) {
  Result<std::unique_ptr<RpcServer>> server = RpcServer::Start(
      {.max_message_bytes = max_message_bytes, .whole_bytes = 2000}, std::move(handler));
  EXPECT_TRUE(server.ok()) << server.status().ToString();
  return *std::move(server);
}
std::unique_ptr<RpcServer> ServeEcho(int64_t max_message_bytes = 0) {
  return Serve(
      [](const std::shared_ptr<IncomingCall>& call) { call->Answer(std::string(call->request())); },
      max_message_bytes);
}
std::unique_ptr<RpcChannel> To(const RpcServer& server, const RpcChannelOptions& options = {}) {
  return *RpcChannel::Connect(StrCat("127.0.0.1:", server.port()), options);
}
// Another byte at every megabyte.
std::string Pattern(size_t bytes) {
  std::string text(bytes, 'x');
  for (size_t i = 0; i < bytes; i += kMegabyte) text[i] = static_cast<char>(i / kMegabyte);
  return text;
}

// Parts have 64 MB, so these are none, one and a bit, and exactly two of them. (H3)
TEST(Rpc, MessagesThatGoInPartsArriveWhole) {
  const auto server = ServeEcho();
  const auto channel = To(*server, {.whole_bytes = 1000});
  for (const size_t bytes : {size_t{0}, size_t{1000}, 64 * kMegabyte + 1, 128 * kMegabyte}) {
    const std::string sent = Pattern(bytes);
    const Result<std::string> got = channel->Call("/a.B/C", sent, {.timeout = 60s});
    ASSERT_TRUE(got.ok()) << got.status().ToString();
    EXPECT_TRUE(*got == sent) << bytes;
  }
}

TEST(Rpc, PartsBeyondTheLimitAreRefusedBeforeTheyCome) {
  const auto server = ServeEcho(/*max_message_bytes=*/int64_t{70} << 20);
  const auto sender = To(*server, {.whole_bytes = 1000});
  const Status status = sender->Call("/a.B/C", Pattern(80 * kMegabyte), {.timeout = 60s}).status();
  EXPECT_EQ(status.code(), Code::kResourceExhausted);
  EXPECT_THAT(status.message(), HasSubstr(StrCat(80 * kMegabyte)));
  EXPECT_THAT(status.message(), HasSubstr(StrCat(70 * kMegabyte)));
  EXPECT_TRUE(sender->Call("/a.B/C", Pattern(69 * kMegabyte), {.timeout = 60s}).ok());

  const auto reader = To(*server, {.max_message_bytes = int64_t{65} << 20});
  const Status unread = reader->Call("/a.B/C", Pattern(69 * kMegabyte), {.timeout = 60s}).status();
  EXPECT_EQ(unread.code(), Code::kResourceExhausted);
  EXPECT_THAT(unread.message(), HasSubstr(StrCat(69 * kMegabyte)));
}

TEST(Rpc, ACancelledCallEndsThoughItsAnswerComes) {
  CancellationManager cancellation;
  Notification asked;
  std::shared_ptr<IncomingCall> open;
  const auto server = Serve([&](std::shared_ptr<IncomingCall> call) {
    open = std::move(call);
    asked.Notify();
  });
  const auto channel = To(*server);
  Notification ended;
  Status status;
  channel->Call("/a.B/C", "", {.cancellation = &cancellation}, [&](Result<std::string> got) {
    status = got.status();
    ended.Notify();
  });
  asked.Wait();
  cancellation.Cancel(Cancelled("enough"));
  open->Answer(Pattern(200 * kMegabyte));
  ended.Wait();
  EXPECT_EQ(status.code(), Code::kCancelled);
  open.reset();
}

}  // namespace
}  // namespace thalweg
