// SPDX-License-Identifier: Apache-2.0
// What a master refuses before a session is made. Its sessions are tested where operations are
// (api/server_test.cc).
#include "thalweg/cluster/master/master.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "thalweg/cluster/master/remote_device.h"
#include "thalweg/proto/messages.h"
#include "thalweg/proto/text_format.h"

namespace thalweg {
namespace {

using ::testing::HasSubstr;

Result<std::vector<std::unique_ptr<Device>>> OneDevice(const DeviceRequest&) {
  const Result<OwnedMessage> attributes = ParseText(
      pb::DeviceAttributes::Descriptor(),
      R"(name: "/job:a/replica:0/task:0/device:CPU:0" device_type: "CPU" incarnation: 1)");
  EXPECT_TRUE(attributes.ok()) << attributes.status().ToString();
  std::vector<std::unique_ptr<Device>> devices(1);
  ASSIGN_OR_RETURN(devices[0], RemoteDevice::Make(**attributes));
  return devices;
}

class MasterTest : public ::testing::Test {
 protected:
  MasterTest() {
    Registries registries;
    registries.devices = {OneDevice};
    Result<std::shared_ptr<Environment>> made = Environment::Create({.threads = 0}, registries);
    EXPECT_TRUE(made.ok()) << made.status().ToString();
    environment_ = *std::move(made);
  }

  // What CreateSession says to a graph; the session itself is Unavailable here.
  Status Create(std::string_view graph, const ServiceLimits& limits) {
    Master master(
        environment_,
        [](auto, const Message&, const MasterCall&) { return Unavailable("no sessions here"); },
        [](const auto&) { return OkStatus(); }, limits);
    OwnedMessage request(pb::CreateSessionRequest::Descriptor());
    Result<OwnedMessage> def = ParseText(pb::GraphDef::Descriptor(), graph);
    EXPECT_TRUE(def.ok()) << def.status().ToString();
    request->Mutable(pb::CreateSessionRequest::kGraphDef)->CopyFrom(**def);
    return master.Call("CreateSession", *request, {}).status();
  }

  std::shared_ptr<Environment> environment_;
};

TEST_F(MasterTest, AGraphOfANewerReleaseIsRefused) {
  EXPECT_EQ(Create("versions { producer: 5 }", {}).code(), Code::kUnavailable);
  const Status status = Create("versions { min_consumer: 1000000 }", {});
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_THAT(status.message(), HasSubstr("newer release"));
}

TEST_F(MasterTest, NodesOfFunctionsCountToo) {
  const ServiceLimits limits{.max_nodes = 2};
  const std::string_view kTwo = R"(
    node { name: "a" op: "NoOp" } library { function {
      signature { name: "f" } node_def { name: "b" op: "NoOp" } } })";
  EXPECT_EQ(Create(kTwo, limits).code(), Code::kUnavailable);
  const Status status = Create(StrCat(kTwo, R"(node { name: "c" op: "NoOp" })"), limits);
  EXPECT_EQ(status.code(), Code::kResourceExhausted);
  EXPECT_THAT(status.message(), HasSubstr("3 nodes"));
  EXPECT_THAT(status.message(), HasSubstr("--max-graph-nodes"));
}

TEST_F(MasterTest, NoSessionBeyondTheLimit) {
  const Status status = Create("", {.max_sessions = 0});
  EXPECT_EQ(status.code(), Code::kResourceExhausted);
  EXPECT_THAT(status.message(), HasSubstr("--max-sessions"));
}

}  // namespace
}  // namespace thalweg
