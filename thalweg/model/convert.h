// SPDX-License-Identifier: Apache-2.0
// ConvertModel: writes a signature of a model as a frozen graph: a GraphDef in one file, or a
// SavedModel without variables.
//
//   RETURN_IF_ERROR(ConvertModel(*model, place, "resnet.pb", {}));
//
// A GraphDef is text where the name ends so (.pbtxt, .prototxt, .txt). A SavedModel has the tags of
// the model, or "serve", one signature under its old name, and its tables' contents.
// Ownership: the model is used during the call; the files are the caller's.
// Threads: any.
// Errors: begin with the model's path and the signature; AlreadyExists for a SavedModel where there
// is one, and those of the files.
#pragma once

#include <string>

#include "thalweg/model/model.h"

namespace thalweg {

struct ConvertOptions {
  bool saved_model = false;
  bool fold_batch_norms = true;
  RunOptions run;  // of the reads of variables and tables
};

Status ConvertModel(const Model& model, size_t signature, const std::string& out,
                    const ConvertOptions& options);

}  // namespace thalweg
