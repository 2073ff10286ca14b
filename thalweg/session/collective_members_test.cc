// SPDX-License-Identifier: Apache-2.0
// Which members of collective operations a step has, and the key that it shares with other steps.
#include "thalweg/session/collective_members.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "thalweg/graph/shape_inference.h"
#include "thalweg/session/session_fixture.h"

namespace thalweg {
namespace {

using ::testing::HasSubstr;

// A step of one part, with a reduction of a group of two for each instance key.
class Members {
 public:
  explicit Members(const std::vector<int64_t>& instances) {
    Registries registries = TestRegistries();
    registries.ops->Op("CollectiveReduce").Shape(UnchangedShape);
    const auto graph = std::make_shared<Graph>(registries.ops);
    GraphBuilder b(graph.get());
    const Output value = b.Const(Tensor::Scalar(1.0F));
    for (const int64_t instance : instances) {
      b.Op("CollectiveReduce", {value},
           {{"group_size", int64_t{2}},
            {"group_key", int64_t{1}},
            {"instance_key", instance},
            {"merge_op", std::string("Add")},
            {"final_op", std::string("Id")},
            {"subdiv_offsets", std::vector<int64_t>{0}}});
    }
    EXPECT_TRUE(b.status().ok()) << b.status().ToString();
    parts_.emplace_back();
    parts_.back().step.graph = graph;
  }
  const std::vector<StepPartition>& parts() const { return parts_; }
  int64_t Key() const {
    const Result<int64_t> key = CollectiveGraphKey(parts_);
    EXPECT_TRUE(key.ok()) << key.status().ToString();
    return key.ok() ? *key : 0;
  }

 private:
  std::vector<StepPartition> parts_;
};

TEST(CollectiveGraphKeyTest, IsOfTheSetOfInstanceKeys) {
  EXPECT_EQ(Members({}).Key(), 0);
  EXPECT_NE(Members({100}).Key(), 0);
  EXPECT_EQ(Members({100, 101}).Key(), Members({101, 100, 100}).Key());
  EXPECT_NE(Members({100, 101}).Key(), Members({100}).Key());
  EXPECT_NE(Members({100, 101}).Key(), Members({100, 102}).Key());
}

// The numbers of TensorFlow's masters: h' = k ^ (h + 0x9e3779b97f4a7800 + (k << 10) + (k >> 4)).
TEST(CollectiveGraphKeyTest, IsTensorFlows) {
  const uint64_t one = 1 ^ (0x8774aa605c729c72 + 0x9e3779b97f4a7800 + 1024);
  EXPECT_EQ(static_cast<uint64_t>(Members({1}).Key()), one);
  const uint64_t both = 100 ^ (one + 0x9e3779b97f4a7800 + 102400 + 6);
  EXPECT_EQ(static_cast<uint64_t>(Members({100, 1}).Key()), both);
}

TEST(CheckCollectiveMembersTest, SaysHowMembersOfOtherSessionsCome) {
  EXPECT_TRUE(CheckCollectiveMembers(Members({7, 7}).parts()).ok());
  const Status lacks = CheckCollectiveMembers(Members({7, 7, 8}).parts());
  EXPECT_EQ(lacks.code(), Code::kUnimplemented);
  const std::string text(lacks.message());
  EXPECT_THAT(text, HasSubstr("group 1, instance 8 has 1 of 2 members"));
  EXPECT_THAT(text, HasSubstr("collective_group_leader"));
}

}  // namespace
}  // namespace thalweg
