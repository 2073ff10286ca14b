// SPDX-License-Identifier: Apache-2.0
// Fuzzer of GraphDef import: the first byte says binary (even) or text (odd), the rest is the
// graph. What is accepted must export, import again and export to the same bytes; what is refused
// must leave the graph empty.
#include "thalweg/base/check.h"
#include "thalweg/graph/graph_proto.h"
#include "thalweg/proto/text_format.h"
#include "thalweg/proto/wire.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace thalweg;
  if (size == 0) return 0;
  static const auto registry = std::make_shared<const OpRegistry>();
  const std::string_view rest(reinterpret_cast<const char*>(data) + 1, size - 1);
  const MessageDescriptor& type = pb::GraphDef::Descriptor();
  Result<OwnedMessage> def = data[0] % 2 == 0
                                 ? ParseMessage(type, rest, {.max_memory = size_t{256} << 20})
                                 : ParseText(type, rest);
  if (!def.ok()) return 0;
  const ImportOptions options = {.claim_budget = size_t{1} << 20};
  Graph graph(registry);
  Result<ImportedGraph> imported = ImportGraphDef(**def, graph, options);
  if (!imported.ok()) {
    CHECK(!imported.status().message().empty());
    CHECK(graph.num_nodes() == 0);
    return 0;
  }
  Result<std::string> bytes = ExportGraphDefBytes(graph);
  CHECK(bytes.ok());
  Graph again(registry);
  CHECK(ImportGraphDefBytes(*bytes, again, options).ok());
  Result<std::string> bytes_again = ExportGraphDefBytes(again);
  CHECK(bytes_again.ok() && *bytes_again == *bytes);
  return 0;
}
