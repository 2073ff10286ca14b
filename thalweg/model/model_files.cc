// SPDX-License-Identifier: Apache-2.0
#include "thalweg/model/model_files.h"

#include <algorithm>
#include <set>
#include <utility>

#include "thalweg/proto/text_format.h"
#include "thalweg/proto/wire.h"

namespace thalweg {
namespace {

constexpr std::string_view kBinaryName = "saved_model.pb";
constexpr std::string_view kTextName = "saved_model.pbtxt";
constexpr std::string_view kChunkedName = "saved_model.cpb";
constexpr int64_t kSchemaVersion = 1;

std::string Joined(const std::string& folder, std::string_view name) {
  return folder.ends_with('/') ? StrCat(folder, name) : StrCat(folder, "/", name);
}

std::string_view NameOf(std::string_view path) { return path.substr(path.rfind('/') + 1); }

// Errors begin with the model's path.
Status Read(FileSystem& fs, const std::string& file, ModelFiles& files) {
  Result<std::string> bytes = ReadFile(fs, file);
  if (!bytes.ok()) return std::move(bytes).status().WithContext(files.path);
  files.bytes = std::make_unique<std::string>(std::move(*bytes));
  return OkStatus();
}

Result<OwnedMessage> Parse(const MessageDescriptor& type, std::string_view bytes, bool is_text) {
  return is_text ? ParseText(type, bytes) : ParseMessage(type, bytes, {.borrow = true});
}

// Nodes have operations; what a GraphDef has in the place of a MetaGraph's nodes, functions, has
// none in that field.
bool IsMetaGraph(const Message& read) {
  const auto nodes = read.GetMessage(pb::MetaGraphDef::kGraphDef).Messages(pb::GraphDef::kNode);
  return !nodes.empty() && !nodes[0]->GetString(pb::NodeDef::kOp).empty();
}

std::string TagsText(const std::set<std::string, std::less<>>& tags) {
  std::string text = "[";
  for (const std::string& tag : tags) text += StrCat(text.size() > 1 ? ", '" : "'", tag, "'");
  return text + "]";
}

std::set<std::string, std::less<>> TagsOf(const Message& meta_graph) {
  const auto tags = meta_graph.GetMessage(pb::MetaGraphDef::kMetaInfoDef)
                        .Repeated<std::string_view>(pb::MetaGraphDef::MetaInfoDef::kTags);
  return {tags.begin(), tags.end()};
}

Result<const Message*> ChooseMetaGraph(const ModelFiles& files,
                                       const std::vector<std::string>& tags) {
  const auto all = files.message->Messages(pb::SavedModel::kMetaGraphs);
  if (all.empty()) {
    return NotFound(files.path, ": half a model: its message holds no graph");
  }
  if (tags.empty() && all.size() == 1) return all[0];
  const std::set<std::string, std::less<>> wanted =
      tags.empty() ? std::set<std::string, std::less<>>{"serve"}
                   : std::set<std::string, std::less<>>(tags.begin(), tags.end());
  std::string there;
  for (const Message* one : all) {
    const auto found = TagsOf(*one);
    if (found == wanted) return one;
    there += StrCat(there.empty() ? "" : ", ", TagsText(found));
  }
  return NotFound(files.path, ": no graph of this SavedModel has the tags ", TagsText(wanted),
                  "; there are ", there);
}

Result<ModelFiles> ReadSavedModel(FileSystem& fs, ModelFiles files,
                                  const std::vector<std::string>& tags) {
  std::string file = Joined(files.folder, kBinaryName);
  ASSIGN_OR_RETURN(const bool is_binary, FileExists(fs, file));
  if (!is_binary) {
    file = Joined(files.folder, kTextName);
    ASSIGN_OR_RETURN(const bool is_text, FileExists(fs, file));
    if (!is_text) {
      ASSIGN_OR_RETURN(const bool is_chunked, FileExists(fs, Joined(files.folder, kChunkedName)));
      if (is_chunked) {
        return Unimplemented(files.path, ": a SavedModel in chunks (", kChunkedName,
                             "); this build reads ", kBinaryName, " and ", kTextName);
      }
      return NotFound(files.path, ": a directory without a model: there is neither ", kBinaryName,
                      " nor ", kTextName);
    }
  }
  files.kind = ModelKind::kSavedModel;
  RETURN_IF_ERROR(Read(fs, file, files));
  if (files.bytes->empty()) {
    return NotFound(files.path, ": half a model: ", NameOf(file), " is empty");
  }
  Result<OwnedMessage> parsed = Parse(pb::SavedModel::Descriptor(), *files.bytes, !is_binary);
  if (!parsed.ok()) {
    return std::move(parsed).status().WithContext(StrCat(file, ": this is no SavedModel"));
  }
  files.message = std::move(*parsed);
  const int64_t version = files.message->GetInt(pb::SavedModel::kSavedModelSchemaVersion);
  if (version > kSchemaVersion) {
    return FailedPrecondition(files.path, ": a SavedModel of a newer format, version ", version,
                              "; this build reads version ", kSchemaVersion);
  }
  ASSIGN_OR_RETURN(files.meta_graph, ChooseMetaGraph(files, tags));
  const std::string prefix = Joined(files.folder, "variables/variables");
  ASSIGN_OR_RETURN(const bool has_variables, FileExists(fs, prefix + ".index"));
  (has_variables ? files.checkpoint : files.missing_checkpoint) = prefix;
  return files;
}

// Of a MetaGraph PREFIX.meta, in either format of checkpoints.
Status FindCheckpoint(FileSystem& fs, ModelFiles& files) {
  std::string prefix = files.path;
  if (prefix.ends_with(".meta")) prefix.resize(prefix.size() - std::string_view(".meta").size());
  ASSIGN_OR_RETURN(const bool is_bundle, FileExists(fs, prefix + ".index"));
  bool is_file = false;
  if (!is_bundle && prefix != files.path) {
    ASSIGN_OR_RETURN(is_file, FileExists(fs, prefix));
  }
  (is_bundle || is_file ? files.checkpoint : files.missing_checkpoint) = prefix;
  return OkStatus();
}

// What others call a model, by its first bytes; "" for none of these.
std::string_view OtherFormat(std::string_view bytes) {
  if (bytes.starts_with("PK\x03\x04")) return "a zip archive, as of Keras 3's .keras";
  if (bytes.starts_with("\x89HDF\r\n")) return "an HDF5 file, as of Keras's .h5";
  if (bytes.substr(std::min<size_t>(bytes.size(), 4)).starts_with("TFL3")) return "a TFLite model";
  return "";
}

Result<ModelFiles> ReadGraphFile(FileSystem& fs, ModelFiles files) {
  RETURN_IF_ERROR(Read(fs, files.path, files));
  const std::string_view bytes = *files.bytes;
  if (bytes.empty()) return NotFound(files.path, ": half a model: the file is empty");
  if (const std::string_view other = OtherFormat(bytes); !other.empty()) {
    return Unimplemented(files.path, ": expected a SavedModel, a MetaGraph or a GraphDef, found ",
                         other, "; export a SavedModel from it");
  }
  const bool is_text = IsTextName(files.path);
  Result<OwnedMessage> meta_graph = Parse(pb::MetaGraphDef::Descriptor(), bytes, is_text);
  if (meta_graph.ok() && IsMetaGraph(**meta_graph)) {
    files.kind = ModelKind::kMetaGraph;
    files.message = std::move(*meta_graph);
    files.meta_graph = &*files.message;
    RETURN_IF_ERROR(FindCheckpoint(fs, files));
    return files;
  }
  Result<OwnedMessage> graph = Parse(pb::GraphDef::Descriptor(), bytes, is_text);
  if (!graph.ok()) {
    return std::move(graph).status().WithContext(
        StrCat(files.path, ": this is no model: neither a SavedModel, a MetaGraph nor a GraphDef"));
  }
  files.message = std::move(*graph);
  if (files.message->Size(pb::GraphDef::kNode) == 0) {
    return NotFound(files.path, ": half a model: its graph has no nodes");
  }
  return files;
}

}  // namespace

std::string_view ModelKindName(ModelKind kind) {
  switch (kind) {
    case ModelKind::kSavedModel:
      return "SavedModel";
    case ModelKind::kMetaGraph:
      return "MetaGraph";
    case ModelKind::kGraphDef:
      break;
  }
  return "GraphDef";
}

bool IsTextName(std::string_view path) {
  return path.ends_with(".pbtxt") || path.ends_with(".txt") || path.ends_with(".prototxt");
}

const Message& ModelFiles::graph() const {
  return meta_graph == nullptr ? *message : meta_graph->GetMessage(pb::MetaGraphDef::kGraphDef);
}

Result<ModelFiles> ReadModelFiles(FileSystem& fs, const std::string& path,
                                  const std::vector<std::string>& tags) {
  ModelFiles files;
  files.path = path;
  const Result<FileInfo> info = fs.Stat(path);
  if (!info.ok() && info.status().code() == Code::kNotFound) {
    return NotFound(path, ": there is no such file or directory");
  }
  RETURN_IF_ERROR(info.status());
  if (info->is_directory) {
    files.folder = path;
    return ReadSavedModel(fs, std::move(files), tags);
  }
  const std::string_view name = NameOf(path);
  if (name == kBinaryName || name == kTextName) {
    files.folder = ParentDirectory(path);
    return ReadSavedModel(fs, std::move(files), tags);
  }
  return ReadGraphFile(fs, std::move(files));
}

}  // namespace thalweg
