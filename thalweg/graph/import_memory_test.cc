// SPDX-License-Identifier: Apache-2.0
// What importing a graph of N bytes may take beside its parsed tree (proto/parse_memory_test.cc),
// and making the bodies of its functions: for every field of every message in it.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "thalweg/graph/function_body.h"
#include "thalweg/graph/graph_proto.h"
#include "thalweg/proto/text_format.h"
#include "thalweg/proto/wire.h"
#include "thalweg/testing/hostile_fields.h"
#include "thalweg/testing/process_counters.h"

namespace thalweg {
namespace {

// README.md promises this: for each byte, and beside it; and what is claimed.
constexpr int64_t kMostPerByte = 256;
constexpr int64_t kMostBeside = int64_t{64} << 10;
constexpr size_t kClaims = size_t{4} << 20;

constexpr std::string_view kEveryMessage = R"(
  node { name: "c" op: "Const" device: "/cpu:0"
         experimental_debug_info { original_node_names: "o" original_func_names: "f" }
         attr { key: "dtype" value { type: DT_STRING } }
         attr { key: "value" value { tensor { dtype: DT_STRING tensor_shape { dim { size: 1 } }
                                              string_val: "a" } } }
         attr { key: "_shapes" value { list { shape { dim { size: 1 name: "d" } } } } }
         attr { key: "_class" value { list { s: "loc:@c" } } }
         attr { key: "_f" value { func { name: "f" attr { key: "a" value { i: 1 } } } } }
         attr { key: "_t" value { list { tensor { dtype: DT_FLOAT tensor_shape {} float_val: 1 } } } }
         attr { key: "_u" value { list { func { name: "f" } } } } }
  node { name: "i" op: "Identity" input: "c" attr { key: "T" value { type: DT_STRING } } }
  node { name: "n" op: "Const" attr { key: "dtype" value { type: DT_FLOAT } }
         attr { key: "value" value { tensor { dtype: DT_FLOAT tensor_shape { dim { size: 2 } }
                                              float_val: 1 } } } }
  node { name: "call" op: "PartitionedCall" input: "n"
         attr { key: "Tin" value { list { type: DT_FLOAT } } }
         attr { key: "Tout" value { list { type: DT_FLOAT } } }
         attr { key: "f" value { func { name: "f" } } } }
  library {
    function {
      signature { name: "f" description: "d"
                  input_arg { name: "x" type: DT_FLOAT description: "x" }
                  output_arg { name: "y" type: DT_FLOAT }
                  attr { name: "a" type: "string" default_value { s: "u" } description: "a"
                         allowed_values { list { s: "u" } } }
                  control_output: "e" }
      attr { key: "_noinline" value { b: true } }
      arg_attr { key: 0 value { attr { key: "_output_shapes"
                                       value { list { shape { dim { size: 2 } } } } } } }
      resource_arg_unique_id { key: 0 value: 1 }
      node_def { name: "k" op: "Const" attr { key: "dtype" value { type: DT_FLOAT } }
                 attr { key: "value" value { tensor { dtype: DT_FLOAT tensor_shape {}
                                                      float_val: 2 } } } }
      node_def { name: "m" op: "Mul" input: "x" input: "k:output:0"
                 attr { key: "T" value { type: DT_FLOAT } } }
      ret { key: "y" value: "m:z:0" }
      control_ret { key: "e" value: "m" }
    }
    gradient { function_name: "f" gradient_func: "f" }
  }
  versions { producer: 1087 min_consumer: 12 bad_consumers: 3 })";

class ImportMemoryTest : public ::testing::Test {
 protected:
  // The bytes that the import took at most, and the bodies of all functions.
  int64_t PeakOf(const std::string& bytes, Status* imported) {
    AllocatorPtr memory =
        MakeCpuAllocator(static_cast<int64_t>(kClaims + bytes.size() * 64) + kMostBeside);
    ImportOptions options;
    options.claim_budget = kClaims;
    options.allocator = memory.get();
    const int64_t before = BytesHeld();
    ForgetPeak();
    {
      Graph graph(registry_);
      *imported = ImportGraphDefBytes(bytes, graph, options).status();
      if (imported->ok()) {
        for (const std::string& name : graph.library().Names()) {
          InstantiateFunction(graph.library(), registry_, {name, {}}).status().IgnoreError();
        }
      }
    }
    return PeakBytes() - before;
  }

  const std::shared_ptr<const OpRegistry> registry_ = std::make_shared<const OpRegistry>();
};

TEST_F(ImportMemoryTest, NoFieldTakesMoreThanAMultipleOfItsBytes) {
  const Result<OwnedMessage> seed = ParseText(pb::GraphDef::Descriptor(), kEveryMessage);
  ASSERT_TRUE(seed.ok()) << seed.status().ToString();
  const Result<std::string> bytes = Serialize(**seed);
  ASSERT_TRUE(bytes.ok());
  Status imported;
  PeakOf(*bytes, &imported);
  ASSERT_TRUE(imported.ok()) << imported.ToString();
  int accepted = 0, tried = 0;
  double most = 0;
  const HostileWrap whole = [](const std::string& changed) { return changed; };
  ForEachHostileMessage(
      pb::GraphDef::Descriptor(), *bytes, whole,
      [&](const MessageDescriptor& type, const HostileWrap& add) {
        for (const FieldDescriptor& field : type.fields) {
          for (const std::string& hostile : HostileFields(field)) {
            const std::string changed = add(hostile);
            const auto size = static_cast<int64_t>(changed.size());
            const int64_t peak = PeakOf(changed, &imported);
            EXPECT_LE(peak, kMostPerByte * size + kMostBeside)
                << type.full_name << "." << field.name << " of " << size << " bytes";
            accepted += imported.ok() ? 1 : 0;
            ++tried;
            most = std::max(most, static_cast<double>(peak) / static_cast<double>(size));
          }
        }
      });
  // That the test reaches what it is there for.
  EXPECT_GT(tried, 1000);
  EXPECT_GT(accepted, tried / 10);
  RecordProperty("bytes_per_byte", static_cast<int>(most));
  RecordProperty("accepted", accepted);
}

// That the measure can fail: a graph is not as small as its bytes.
TEST_F(ImportMemoryTest, TheMeasureCounts) {
  std::string nodes;
  for (char name = 'a'; name <= 'z'; ++name) {
    nodes += HostileTag(1, 2) + "\x09\x0a\x01" + name + "\x12\x04NoOp";
  }
  Status imported;
  EXPECT_GT(PeakOf(nodes, &imported), static_cast<int64_t>(4 * nodes.size()));
  EXPECT_TRUE(imported.ok()) << imported.ToString();
}

// Strings that a tensor repeats count with their bytes.
TEST_F(ImportMemoryTest, ClaimedStringsAreInTheBudget) {
  const std::string text = StrCat(R"(
    node { name: "c" op: "Const" attr { key: "dtype" value { type: DT_STRING } }
           attr { key: "value" value { tensor { dtype: DT_STRING
                  tensor_shape { dim { size: 10000 } } string_val: ")",
                                  std::string(1000, 'x'), R"(" } } } })");
  Graph graph(registry_);
  const Status status = ImportGraphDefText(text, graph, {.claim_budget = kClaims}).status();
  EXPECT_EQ(status.code(), Code::kResourceExhausted) << status.ToString();
  EXPECT_TRUE(ImportGraphDefText(text, graph).ok());
}

}  // namespace
}  // namespace thalweg
