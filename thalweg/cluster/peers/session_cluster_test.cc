// SPDX-License-Identifier: Apache-2.0
#include "thalweg/cluster/peers/session_cluster.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace thalweg {
namespace {

using ::testing::HasSubstr;

ClusterSpec Spec(const std::vector<std::string>& workers) {
  ClusterSpec spec;
  for (size_t i = 0; i < workers.size(); ++i) {
    EXPECT_TRUE(spec.Add("worker", static_cast<int>(i), workers[i]).ok());
  }
  return spec;
}

// "worker:1", or the error.
std::string Self(const std::vector<std::string>& workers, const std::vector<std::string>& own) {
  const Result<SessionCluster::Self> self = SessionCluster::FindSelf(Spec(workers), own);
  return self.ok() ? StrCat(self->job, ":", self->task) : std::string(self.status().message());
}

TEST(SessionClusterTest, ATaskIsKnownByItsPort) {
  EXPECT_EQ(Self({"a:1", "b:2"}, {"b:2"}), "worker:1");
  EXPECT_EQ(Self({"a:1", "127.0.0.1:2"}, {"localhost:2"}), "worker:1");
  EXPECT_EQ(Self({"a:1", "localhost:2"}, {"0.0.0.0:2"}), "worker:1");
  EXPECT_EQ(Self({"a:1", "host.example:2"}, {"0.0.0.0:2", "host.example:2"}), "worker:1");
}

TEST(SessionClusterTest, OtherHostsAndPortsAreOtherTasks) {
  for (const char* own : {"a:2", "127.0.0.1:1", "0.0.0.0:1", "a:0"}) {
    EXPECT_THAT(Self({"a:1", "b:2"}, {own}), HasSubstr("is not included")) << own;
  }
  EXPECT_THAT(Self({"a:1", "b:2"}, {"c:3", "d:4"}),
              HasSubstr("expected a task at c:3, d:4, found worker:0 at a:1, worker:1 at b:2"));
  EXPECT_THAT(Self({}, {"c:3"}), HasSubstr("found no task"));
}

TEST(SessionClusterTest, TwoTasksCannotBeOneServer) {
  EXPECT_THAT(Self({"localhost:1", "127.0.0.1:1"}, {"127.0.0.1:1"}),
              HasSubstr("Found multiple matching tasks that correspond to the master"));
}

}  // namespace
}  // namespace thalweg
