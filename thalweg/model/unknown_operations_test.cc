// SPDX-License-Identifier: Apache-2.0
#include "thalweg/model/unknown_operations.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "thalweg/proto/text_format.h"

namespace thalweg {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// 'inner' has an operation that nobody knows, 'outer' calls it, 'good' calls nothing; 'loop' names
// 'outer' as an attribute.
constexpr char kGraph[] = R"(
node { name: "x" op: "Placeholder" }
node { name: "call" op: "good" input: "x" }
node { name: "direct" op: "outer" input: "x" }
node { name: "loop" op: "PartitionedCall" input: "call" attr { key: "f" value { func { name: "outer" } } } }
node { name: "branch" op: "Case" input: "call"
  attr { key: "branches" value { list { func { name: "good" } func { name: "outer" } } } } }
node { name: "after" op: "NoOp" input: "^direct" }
node { name: "strange" op: "Zzyzx" }
library {
  function { signature { name: "inner" } node_def { name: "a" op: "Qqfoo" } }
  function { signature { name: "outer" } node_def { name: "b" op: "inner" } }
  function { signature { name: "good" } node_def { name: "c" op: "NoOp" } }
  gradient { function_name: "good" gradient_func: "inner" }
  gradient { function_name: "good" gradient_func: "good" }
}
versions { producer: 27 }
)";

class UnknownOperationsTest : public testing::Test {
 protected:
  static std::vector<std::string> Nodes(const Message& graph) {
    std::vector<std::string> names;
    for (const Message* node : graph.Messages(pb::GraphDef::kNode)) {
      names.emplace_back(node->GetString(pb::NodeDef::kName));
    }
    return names;
  }

  const OwnedMessage graph_ = *ParseText(pb::GraphDef::Descriptor(), kGraph);
  const OpRegistry registry_;
  const UnknownOperations unknown_{*graph_, registry_};
};

TEST_F(UnknownOperationsTest, AreFoundInFunctionsOfFunctions) {
  EXPECT_THAT(unknown_.all(), ElementsAre("Qqfoo", "Zzyzx"));
  EXPECT_THAT(unknown_.NeededBy({"loop:0"}, {}), ElementsAre("Qqfoo"));
  EXPECT_THAT(unknown_.NeededBy({"branch:0"}, {}), ElementsAre("Qqfoo"));
  EXPECT_THAT(unknown_.NeededBy({"after"}, {}), ElementsAre("Qqfoo"));
  EXPECT_THAT(unknown_.NeededBy({"after", "strange:0"}, {}), ElementsAre("Qqfoo", "Zzyzx"));
  EXPECT_THAT(unknown_.NeededBy({"call:0", "nothing:0"}, {}), IsEmpty());
}

TEST_F(UnknownOperationsTest, AFeedEndsWhatIsNeeded) {
  EXPECT_THAT(unknown_.NeededBy({"after"}, {"direct:0"}), IsEmpty());
}

TEST_F(UnknownOperationsTest, TheRestIsWithoutThemAndTheirReaders) {
  const OwnedMessage rest = unknown_.WithoutThem();
  EXPECT_THAT(Nodes(*rest), ElementsAre("x", "call"));
  EXPECT_TRUE(unknown_.IsDropped("after"));
  EXPECT_TRUE(unknown_.IsReadByDropped("call"));
  EXPECT_FALSE(unknown_.IsReadByDropped("strange"));
  const Message& library = rest->GetMessage(pb::GraphDef::kLibrary);
  EXPECT_EQ(library.Size(pb::FunctionDefLibrary::kFunction), 1u);
  EXPECT_EQ(library.Size(pb::FunctionDefLibrary::kGradient), 1u);
  EXPECT_EQ(rest->GetMessage(pb::GraphDef::kVersions).GetInt(pb::VersionDef::kProducer), 27);
}

TEST_F(UnknownOperationsTest, TheNearestAreNamed) {
  EXPECT_THAT(unknown_.Text({"MatMull", "Zzyzx"}), HasSubstr("'MatMul'"));
  EXPECT_THAT(unknown_.Text({"MatMull", "Zzyzx"}), HasSubstr(", 'Zzyzx'"));
}

}  // namespace
}  // namespace thalweg
