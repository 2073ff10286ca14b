// SPDX-License-Identifier: Apache-2.0
// ModelFiles: the model that lies at a path, as messages, and where its other files are. A folder
// with a SavedModel, or its saved_model.pb; a MetaGraphDef with a checkpoint beside it; a GraphDef.
//
//   ASSIGN_OR_RETURN(ModelFiles files, ReadModelFiles(fs, "/models/resnet", {}));
//   const Message& graph = files.graph();
//
// Ownership: owns its messages; nothing of the files stays open.
// Threads: const members from any.
// Errors: one sentence with the path. NotFound for no model, half of one and tags that it does not
// have; FailedPrecondition for a newer format; InvalidArgument for damaged messages.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "thalweg/base/file_system.h"
#include "thalweg/base/status.h"
#include "thalweg/proto/message.h"

namespace thalweg {

enum class ModelKind : uint8_t { kGraphDef, kMetaGraph, kSavedModel };

// "SavedModel"
std::string_view ModelKindName(ModelKind kind);

struct ModelFiles {
  ModelKind kind = ModelKind::kGraphDef;
  std::string path;                     // as given
  std::string folder;                   // of a SavedModel
  std::string checkpoint;               // the prefix of its variables; "" where there is none
  std::string missing_checkpoint;       // where it was looked for and is not
  std::unique_ptr<std::string> bytes;   // of the file; `message` points into them
  OwnedMessage message;                 // SavedModel, MetaGraphDef or GraphDef
  const Message* meta_graph = nullptr;  // in it; null for a GraphDef

  const Message& graph() const;
};

// Whether the name is that of a message as text: .pbtxt, .prototxt, .txt.
bool IsTextName(std::string_view path);
// `tags`: of the MetaGraph that is meant; none: the only one, or the one for serving.
Result<ModelFiles> ReadModelFiles(FileSystem& fs, const std::string& path,
                                  const std::vector<std::string>& tags);

}  // namespace thalweg
