// SPDX-License-Identifier: Apache-2.0
// What makes an imported model ready: its variables restored, its tables filled.
//
//   RETURN_IF_ERROR(RestoreWeights(files, unknown, RunOptions(), *session));
//   RETURN_IF_ERROR(Initialize(files, unknown, RunOptions(), *session));
//
// Ownership: files and session are used during the call; what is restored belongs to the session.
// Threads: one at a time for a session.
// Errors: NotFound where the checkpoint is missing; else those of the operations, DataLoss where
// bytes do not match their checksums.
#pragma once

#include <string>
#include <vector>

#include "thalweg/base/status.h"
#include "thalweg/model/model_files.h"
#include "thalweg/model/unknown_operations.h"
#include "thalweg/session/session.h"

namespace thalweg {

// Whether the node holds a variable's state.
bool IsVariable(const Node& node);

// A tensor that names a file, and where that is below the model's folder.
struct AssetFile {
  std::string tensor;
  std::string file;  // "assets/vocabulary.txt"
};
Result<std::vector<AssetFile>> AssetsOf(const ModelFiles& files);
// What makes the graph ready, "node" or "node:0"; "" where there is none.
Result<std::string> InitializerOf(const ModelFiles& files);

Status RestoreWeights(const ModelFiles& files, const UnknownOperations& unknown,
                      const RunOptions& options, Session& session);
// With the paths of assets, as they are now, in the place of those that the model was made with.
Status Initialize(const ModelFiles& files, const UnknownOperations& unknown,
                  const RunOptions& options, Session& session);

}  // namespace thalweg
