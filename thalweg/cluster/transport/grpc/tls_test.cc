// SPDX-License-Identifier: Apache-2.0
#include "thalweg/cluster/transport/grpc/tls.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "thalweg/cluster/client/remote_target.h"
#include "thalweg/cluster/transport/grpc/rpc.h"
#include "thalweg/cluster/transport/grpc/test_certificates.h"

namespace thalweg {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

class TlsTest : public ::testing::Test {
 protected:
  TlsTest() {
    task_ = ours_.Make("task");
    stranger_ = others_.Make("stranger");
  }

  std::unique_ptr<RpcServer> Serve(const TlsFiles& files) {
    Result<TlsTexts> tls = ReadTls(files);
    EXPECT_TRUE(tls.ok()) << tls.status().ToString();
    Result<std::unique_ptr<RpcServer>> server =
        RpcServer::Start({.tls = *tls}, [](const std::shared_ptr<IncomingCall>& call) {
          call->Answer(std::string(call->request()) + "!");
        });
    EXPECT_TRUE(server.ok()) << server.status().ToString();
    return *std::move(server);
  }
  Result<std::string> Ask(const RpcServer& server, const TlsFiles& files) {
    ASSIGN_OR_RETURN(const TlsTexts tls, ReadTls(files));
    ASSIGN_OR_RETURN(const std::unique_ptr<RpcChannel> channel,
                     RpcChannel::Connect(StrCat("127.0.0.1:", server.port()), {.tls = tls}));
    return channel->Call("/a.B/C", "hello", {.timeout = 30s});
  }

  TestCertificates ours_, others_;
  TlsFiles task_, stranger_;
};

TEST_F(TlsTest, BothSidesAreOfOneAuthority) {
  const auto server = Serve(task_);
  const Result<std::string> answer = Ask(*server, ours_.Make("client"));
  ASSERT_TRUE(answer.ok()) << answer.status().ToString();
  EXPECT_EQ(*answer, "hello!");
}

TEST_F(TlsTest, WhoeverShowsNoneOrAnothersCertificateIsToldWhatIsExpected) {
  const auto server = Serve(task_);
  struct {
    const char* who;
    TlsFiles files;
    const char* word;
  } const kWrong[] = {
      {"a client in plain text", {}, "TLS"},
      {"a client that does not know the server's authority", stranger_, "--tls-ca"},
      {"a client of another authority",
       {stranger_.certificate, stranger_.key, task_.authority},
       "--tls-ca"},
  };
  for (const auto& wrong : kWrong) {
    const Status status = Ask(*server, wrong.files).status();
    EXPECT_EQ(status.code(), Code::kUnavailable) << wrong.who;
    EXPECT_THAT(status.message(), HasSubstr(wrong.word)) << wrong.who;
  }
  EXPECT_TRUE(Ask(*server, task_).ok());  // the server serves on
}

TEST_F(TlsTest, ACertificateMustNameTheHost) {
  const auto server = Serve(ours_.Make("elsewhere", "DNS:elsewhere.example"));
  const Status status = Ask(*server, task_).status();
  EXPECT_EQ(status.code(), Code::kUnavailable);
  EXPECT_THAT(status.message(), HasSubstr("subjectAltName"));
}

TEST_F(TlsTest, AClientWithTlsSaysSoToAServerInPlainText) {
  const auto server = Serve({});
  const Status status = Ask(*server, task_).status();
  EXPECT_EQ(status.code(), Code::kUnavailable);
  EXPECT_THAT(status.message(), HasSubstr("plain text"));
}

TEST_F(TlsTest, FilesAreAllThreeAndPem) {
  EXPECT_TRUE(ReadTls({})->empty());
  const auto why = [](const TlsFiles& files) { return ReadTls(files).status().ToString(); };
  EXPECT_THAT(why({task_.certificate, "", ""}), HasSubstr("--tls-key is not given"));
  EXPECT_THAT(why({task_.certificate, task_.key, ""}), HasSubstr("--tls-ca is not given"));
  EXPECT_THAT(why({"/nowhere/a.crt", task_.key, task_.authority}), HasSubstr("/nowhere/a.crt"));
  EXPECT_THAT(why({task_.key, task_.key, task_.authority}), HasSubstr("has no CERTIFICATE"));
  EXPECT_THAT(why({task_.certificate, task_.certificate, task_.authority}),
              HasSubstr("has no PRIVATE KEY"));
  std::ofstream(ours_.Path("empty"));
  EXPECT_THAT(why({ours_.Path("empty"), task_.key, task_.authority}), HasSubstr("--tls-cert"));
}

TEST_F(TlsTest, AKeyOfAnotherCertificateStartsNoServer) {
  const Result<TlsTexts> tls = ReadTls({task_.certificate, stranger_.key, task_.authority});
  ASSERT_TRUE(tls.ok());
  const Status status = RpcServer::Start({.tls = *tls}, [](const auto&) {}).status();
  EXPECT_FALSE(status.ok());
  EXPECT_THAT(status.message(), HasSubstr("--tls-key"));
}

TEST(RemoteTargetTest, IsReadAndWritten) {
  EXPECT_EQ(ParseTarget("grpc://a:1")->address, "a:1");
  const Result<RemoteTarget> target = ParseTarget("grpcs://a:1?cert=c&key=/k&ca=d/a");
  ASSERT_TRUE(target.ok()) << target.status().ToString();
  EXPECT_EQ(target->address, "a:1");
  EXPECT_EQ(target->tls.key, "/k");
  EXPECT_EQ(TargetText(*target), "grpcs://a:1?cert=c&key=/k&ca=d/a");
  EXPECT_EQ(TargetText({"a:1", {}}), "grpc://a:1");
  using std::chrono::milliseconds;
  EXPECT_EQ(target->lost_after, milliseconds(3000));
  const Result<RemoteTarget> far = ParseTarget("grpc://a:1?lost-after=7.5");
  ASSERT_TRUE(far.ok()) << far.status().ToString();
  EXPECT_EQ(far->address, "a:1");
  EXPECT_EQ(far->lost_after, milliseconds(7500));
  EXPECT_EQ(ParseTarget("grpcs://a:1?cert=c&lost-after=20")->lost_after, milliseconds(20000));
  for (const char* whole : {"[::1]:1", "[fe80::1%eth0]:1", "ipv6:[::1]:1", "dns:///a:1"}) {
    const Result<RemoteTarget> named = ParseTarget(StrCat("grpc://", whole));
    ASSERT_TRUE(named.ok()) << named.status().ToString();
    EXPECT_EQ(named->address, whole);
  }
  for (const auto& [bare, whole] :
       {std::pair("grpc://::1:2222", "grpc://[::1]:2222"),
        std::pair("grpcs://fe80::1%eth0:1?cert=c", "grpcs://[fe80::1%eth0]:1")}) {
    const Status status = ParseTarget(bare).status();
    EXPECT_EQ(status.code(), Code::kInvalidArgument);
    EXPECT_THAT(status.message(), HasSubstr(StrCat("needs brackets, as in ", whole)));
  }
  for (const char* bad :
       {"", "a:1", "http://a:1", "grpcs://a:1", "grpcs://a:1?", "grpcs://a:1?cert",
        "grpcs://a:1?cert=c&x=y", "grpcs://a:1?lost-after=20", "grpc://a:1?cert=c", "grpc://a:1?x",
        "grpc://a:1?lost-after", "grpc://a:1?lost-after=", "grpc://a:1?lost-after=0",
        "grpc://a:1?lost-after=2s", "grpc://a:1?lost-after=nan", "grpc://a:1?lost-after=1e9"}) {
    EXPECT_EQ(ParseTarget(bad).status().code(), Code::kInvalidArgument) << bad;
  }
}

}  // namespace
}  // namespace thalweg
