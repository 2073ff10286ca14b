// SPDX-License-Identifier: Apache-2.0
#include "thalweg/model/weights.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "thalweg/model/signature.h"
#include "thalweg/proto/wire.h"

namespace thalweg {
namespace {

namespace mg = pb::MetaGraphDef;

bool HasVariables(const Graph& graph) {
  const std::vector<Node*> nodes = graph.Nodes();
  return std::any_of(nodes.begin(), nodes.end(),
                     [](const Node* node) { return IsVariable(*node); });
}

Status CheckKnown(const UnknownOperations& unknown, const std::string& node,
                  const std::string& path, std::string_view what) {
  const auto needed = unknown.NeededBy({node}, {});
  if (needed.empty()) return OkStatus();
  return NotFound(path, ": ", what,
                  " needs operations that this build does not have: ", unknown.Text(needed));
}

// The names of the collection's nodes.
std::vector<std::string> Collected(const Message& meta_graph, std::string_view key) {
  const Message* const found = meta_graph.MapFind(mg::kCollectionDef, key);
  if (found == nullptr) return {};
  const auto names = found->GetMessage(pb::CollectionDef::kNodeList)
                         .Repeated<std::string_view>(pb::CollectionDef::NodeList::kValue);
  return {names.begin(), names.end()};
}

// Only files of the model: a hostile one names no others.
bool IsBelowItsFolder(std::string_view name) {
  return !name.starts_with('/') && StrCat("/", name, "/").find("/../") == std::string::npos;
}

Status AddAsset(const ModelFiles& files, const Message& asset, std::vector<AssetFile>* all) {
  const std::string_view name = asset.GetString(pb::AssetFileDef::kFilename);
  if (!IsBelowItsFolder(name)) {
    return InvalidArgument(files.path, ": the asset '", name, "' is not below its folder");
  }
  std::string tensor(
      asset.GetMessage(pb::AssetFileDef::kTensorInfo).GetString(pb::TensorInfo::kName));
  // A file that two collections list is listed twice.
  for (const AssetFile& known : *all) {
    if (known.tensor == tensor) return OkStatus();
  }
  all->push_back({std::move(tensor), StrCat("assets/", name)});
  return OkStatus();
}

}  // namespace

bool IsVariable(const Node& node) {
  const std::string& op = node.op_name();
  return op == "VarHandleOp" || op == "VariableV2" || op == "Variable";
}

Result<std::string> InitializerOf(const ModelFiles& files) {
  const Message* const signature = files.meta_graph->MapFind(mg::kSignatureDef, kInitSignature);
  if (signature != nullptr) {
    const Message* const output = signature->MapFind(pb::SignatureDef::kOutputs, kInitSignature);
    if (output != nullptr) return std::string(output->GetString(pb::TensorInfo::kName));
  }
  for (const char* key : {"saved_model_main_op", "legacy_init_op"}) {
    std::vector<std::string> names = Collected(*files.meta_graph, key);
    if (names.size() > 1) {
      return InvalidArgument(files.path, ": the collection '", key, "' has ", names.size(),
                             " nodes, where one is expected");
    }
    if (!names.empty()) return std::move(names[0]);
  }
  return std::string();
}

Result<std::vector<AssetFile>> AssetsOf(const ModelFiles& files) {
  std::vector<AssetFile> assets;
  for (const Message* asset : files.meta_graph->Messages(mg::kAssetFileDef)) {
    RETURN_IF_ERROR(AddAsset(files, *asset, &assets));
  }
  if (!assets.empty()) return assets;
  const Message* const old = files.meta_graph->MapFind(mg::kCollectionDef, "saved_model_assets");
  if (old == nullptr) return assets;
  for (const Message* any :
       old->GetMessage(pb::CollectionDef::kAnyList).Messages(pb::CollectionDef::AnyList::kValue)) {
    const Result<OwnedMessage> asset =
        ParseMessage(pb::AssetFileDef::Descriptor(), any->GetString(pb::Any::kValue));
    RETURN_IF_ERROR(asset.status().WithContext(StrCat(files.path, ": a damaged list of assets")));
    RETURN_IF_ERROR(AddAsset(files, **asset, &assets));
  }
  return assets;
}

Status RestoreWeights(const ModelFiles& files, const UnknownOperations& unknown,
                      const RunOptions& options, Session& session) {
  if (files.meta_graph == nullptr) return OkStatus();
  const Message& saver = files.meta_graph->GetMessage(mg::kSaverDef);
  const std::string restore(saver.GetString(pb::SaverDef::kRestoreOpName));
  if (restore.empty()) return OkStatus();
  if (files.checkpoint.empty()) {
    if (!HasVariables(*session.graph())) return OkStatus();
    return NotFound(files.path, ": half a model: it has variables, but there is no checkpoint ",
                    files.missing_checkpoint, ".index");
  }
  RETURN_IF_ERROR(CheckKnown(unknown, restore, files.path, "the restore of its variables"));
  const Session::NamedTensor feeds[] = {
      {std::string(saver.GetString(pb::SaverDef::kFilenameTensorName)),
       Tensor::Scalar(files.checkpoint)}};
  const std::string targets[] = {restore};
  return session.Run(options, feeds, {}, targets, nullptr)
      .WithContext(StrCat(files.path, ": its variables cannot be restored"));
}

Status Initialize(const ModelFiles& files, const UnknownOperations& unknown,
                  const RunOptions& options, Session& session) {
  if (files.kind != ModelKind::kSavedModel) return OkStatus();
  ASSIGN_OR_RETURN(const std::string initializer, InitializerOf(files));
  if (initializer.empty()) return OkStatus();
  RETURN_IF_ERROR(CheckKnown(unknown, initializer, files.path, "its initialization"));
  ASSIGN_OR_RETURN(const std::vector<AssetFile> assets, AssetsOf(files));
  std::vector<Session::NamedTensor> feeds;
  for (const AssetFile& asset : assets) {
    feeds.emplace_back(asset.tensor, Tensor::Scalar(StrCat(files.folder, "/", asset.file)));
  }
  const std::string targets[] = {initializer};
  return session.Run(options, feeds, {}, targets, nullptr)
      .WithContext(StrCat(files.path, ": its initialization failed"));
}

}  // namespace thalweg
