// SPDX-License-Identifier: Apache-2.0
// Fuzzer of SavedModels: the input is a saved_model.pb. Every graph of a model that is read must
// be refused with the graph left empty, or import, export and import again; so must the variables
// and savers that its collections name be readable or refused.
#include "thalweg/base/check.h"
#include "thalweg/graph/graph_proto.h"
#include "thalweg/proto/wire.h"

namespace thalweg {
namespace {

namespace Meta = pb::MetaGraphDef;

void ImportGraph(const Message& def, const std::shared_ptr<const OpRegistry>& registry) {
  const ImportOptions options = {.claim_budget = size_t{1} << 20};
  Graph graph(registry);
  const Result<ImportedGraph> imported = ImportGraphDef(def, graph, options);
  if (!imported.ok()) {
    CHECK(!imported.status().message().empty());
    CHECK(graph.num_nodes() == 0);
    return;
  }
  const Result<std::string> bytes = ExportGraphDefBytes(graph);
  CHECK(bytes.ok());
  Graph again(registry);
  CHECK(ImportGraphDefBytes(*bytes, again, options).ok());
}

void ReadCollections(const Message& meta) {
  for (const Message* entry : meta.Messages(Meta::kCollectionDef)) {
    const Message& collection = entry->GetMessage(pb::kMapValue);
    const Message& list = collection.GetMessage(pb::CollectionDef::kBytesList);
    for (const std::string_view bytes :
         list.Repeated<std::string_view>(pb::CollectionDef::BytesList::kValue)) {
      for (const MessageDescriptor* type :
           {&pb::VariableDef::Descriptor(), &pb::SaverDef::Descriptor()}) {
        const Result<OwnedMessage> item = ParseMessage(*type, bytes);
        CHECK(item.ok() || !item.status().message().empty());
      }
    }
  }
}

}  // namespace
}  // namespace thalweg

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace thalweg;
  static const auto registry = std::make_shared<const OpRegistry>();
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const Result<OwnedMessage> model =
      ParseMessage(pb::SavedModel::Descriptor(), bytes, {.max_memory = size_t{256} << 20});
  if (!model.ok()) {
    CHECK(!model.status().message().empty());
    return 0;
  }
  for (const Message* meta : (*model)->Messages(pb::SavedModel::kMetaGraphs)) {
    ImportGraph(meta->GetMessage(Meta::kGraphDef), registry);
    ReadCollections(*meta);
  }
  return 0;
}
