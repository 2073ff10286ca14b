// SPDX-License-Identifier: Apache-2.0
// `thalweg convert`: a signature of a model as a graph without variables.
#include <cstdio>
#include <filesystem>

#include "commands.h"
#include "new_file.h"
#include "thalweg/model.h"

namespace cli {

void Convert(const ConvertArgs& args) {
  std::error_code ignored;
  // A SavedModel is never replaced: files of others may lie beside it.
  if (!args.saved_model && !args.force && std::filesystem::exists(args.out, ignored)) {
    throw FileError(args.out + ": the file is there already; --force replaces it");
  }
  const tw::Model model = tw::Model::Load(args.model, {.tags = args.tags}).OrThrow();
  model
      .Convert(args.out, args.signature,
               {.saved_model = args.saved_model, .keep_batch_norms = args.keep_batch_norms})
      .OrThrow();
}

}  // namespace cli
