// SPDX-License-Identifier: Apache-2.0
#include "thalweg/model/convert.h"

#include <utility>

#include "thalweg/model/frozen_graph.h"
#include "thalweg/proto/text_format.h"
#include "thalweg/proto/wire.h"
#include "thalweg/tensor/tensor_proto.h"

namespace thalweg {
namespace {

namespace mg = pb::MetaGraphDef;

void AddTensor(const ModelTensor& tensor, const std::string& name, Message* to) {
  to->SetString(pb::TensorInfo::kName, name);
  to->SetInt(pb::TensorInfo::kDtype, static_cast<int64_t>(tensor.dtype));
  ShapeToProto(tensor.shape, to->Mutable(pb::TensorInfo::kTensorShape));
}

OwnedMessage SavedModelOf(const Model& model, const ModelSignature& signature,
                          const FrozenGraph& frozen) {
  OwnedMessage saved(pb::SavedModel::Descriptor());
  saved->SetInt(pb::SavedModel::kSavedModelSchemaVersion, 1);
  Message* const meta_graph = saved->Add(pb::SavedModel::kMetaGraphs);
  Message* const info = meta_graph->Mutable(mg::kMetaInfoDef);
  for (const std::string& tag : model.tags()) info->AddString(mg::MetaInfoDef::kTags, tag);
  if (model.tags().empty()) info->AddString(mg::MetaInfoDef::kTags, "serve");
  meta_graph->Mutable(mg::kGraphDef)->CopyFrom(*frozen.graph_def);
  Message* const def = meta_graph->MapMutable(mg::kSignatureDef, signature.name);
  def->SetString(pb::SignatureDef::kMethodName,
                 signature.method.empty() ? "tensorflow/serving/predict" : signature.method);
  for (size_t i = 0; i < signature.inputs.size(); ++i) {
    const ModelTensor& input = signature.inputs[i];
    AddTensor(input, frozen.inputs[i], def->MapMutable(pb::SignatureDef::kInputs, input.name));
  }
  for (size_t i = 0; i < signature.outputs.size(); ++i) {
    const ModelTensor& output = signature.outputs[i];
    AddTensor(output, frozen.outputs[i], def->MapMutable(pb::SignatureDef::kOutputs, output.name));
  }
  if (!frozen.initializer.empty()) {
    meta_graph->MapMutable(mg::kCollectionDef, "saved_model_main_op")
        ->Mutable(pb::CollectionDef::kNodeList)
        ->AddString(pb::CollectionDef::NodeList::kValue, frozen.initializer);
  }
  return saved;
}

Status WriteSavedModel(FileSystem& fs, const std::string& folder, const Message& saved) {
  const std::string file = StrCat(folder, folder.ends_with('/') ? "" : "/", "saved_model.pb");
  ASSIGN_OR_RETURN(const bool is_there, FileExists(fs, file));
  if (is_there) return AlreadyExists(file, ": the file is there already");
  RETURN_IF_ERROR(fs.MakeDirectories(folder));
  ASSIGN_OR_RETURN(const std::string bytes, Serialize(saved));
  return WriteFileAtomically(fs, file, bytes);
}

Status Write(const Model& model, size_t signature, const std::string& out,
             const ConvertOptions& options) {
  ASSIGN_OR_RETURN(const FrozenGraph frozen,
                   FreezeSignature(model, signature,
                                   {.fold_batch_norms = options.fold_batch_norms,
                                    .with_tables = options.saved_model,
                                    .run = options.run}));
  PosixFileSystem fs;
  if (options.saved_model) {
    return WriteSavedModel(fs, out, *SavedModelOf(model, model.signatures()[signature], frozen));
  }
  ASSIGN_OR_RETURN(const std::string bytes,
                   IsTextName(out) ? PrintText(*frozen.graph_def) : Serialize(*frozen.graph_def));
  return WriteFileAtomically(fs, out, bytes);
}

}  // namespace

Status ConvertModel(const Model& model, size_t signature, const std::string& out,
                    const ConvertOptions& options) {
  return Write(model, signature, out, options)
      .WithContext(StrCat(model.path(), ": signature '", model.signatures()[signature].name, "'"));
}

}  // namespace thalweg
