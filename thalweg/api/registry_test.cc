// SPDX-License-Identifier: Apache-2.0
// What holds for all operations of the library together.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "thalweg/graph/graph_proto.h"
#include "thalweg/graph/op_registry.h"
#include "thalweg/testing/registries.h"

namespace thalweg {
namespace {

std::shared_ptr<OpRegistry> FullRegistry() {
  auto registry = std::make_shared<OpRegistry>();
  RegisterAllOps(*registry);
  return registry;
}

TEST(AllOpsTest, EachHasShapeFunctionDocLineAndGradientOrReason) {
  const auto registry = FullRegistry();
  EXPECT_FALSE(registry->RegisteredNames().empty());
  EXPECT_EQ(registry->UnfinishedRegistrations(), "");
}

// Graphs that TensorFlow made: no shape function may refuse one.
TEST(AllOpsTest, GoldenGraphsImportWithAllShapeFunctions) {
  const auto registry = FullRegistry();
  int graphs = 0;
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(THALWEG_GOLDEN_DIR "/graphs")) {
    if (entry.path().extension() != ".pb") continue;
    std::ifstream in(entry.path(), std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
    Graph graph(registry);
    const Status status = ImportGraphDefBytes(bytes, graph).status();
    EXPECT_TRUE(status.ok()) << entry.path() << ": " << status.ToString();
    ++graphs;
  }
  EXPECT_EQ(graphs, 70);
}

}  // namespace
}  // namespace thalweg
