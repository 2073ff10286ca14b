// SPDX-License-Identifier: Apache-2.0
// A session whose restores map large tensors of checkpoints instead of reading them
// (base/mapped_file.h): they are pages of their files, shared with other processes.
//
//   const auto files = std::make_shared<MappedFiles>();
//   ASSIGN_OR_RETURN(auto session, MakeMappingSession(environment, graph, {}, files));
//
// Ownership: the session shares the files; a tensor that is mapped keeps its file.
// Threads: as for Session.
// Errors: those of MakeLocalSession; a step, but no partial run, ends with DataLoss where a file
// that is mapped has changed.
#pragma once

#include <memory>

#include "thalweg/base/mapped_file.h"
#include "thalweg/session/session.h"

namespace thalweg {

// `files` null: as MakeLocalSession.
Result<std::unique_ptr<Session>> MakeMappingSession(std::shared_ptr<Environment> environment,
                                                    std::shared_ptr<Graph> graph,
                                                    SessionOptions options,
                                                    std::shared_ptr<MappedFiles> files);

}  // namespace thalweg
