// SPDX-License-Identifier: Apache-2.0
// FreezeSignature: what a signature computes as a graph that needs nothing beside it: functions
// expanded, variables and what follows from them constants, batch normalizations folded.
//
//   ASSIGN_OR_RETURN(FrozenGraph frozen, FreezeSignature(*model, place, {}));
//   ASSIGN_OR_RETURN(std::string bytes, Serialize(*frozen.graph_def));
//
// Its inputs and outputs have the names of the signature's, so whoever reads it as a graph finds
// the same signature.
// Ownership: the message is the caller's and holds copies of the values.
// Threads: any.
// Errors: FailedPrecondition for a signature that changes its variables, needs tables (unless
// `with_tables`) or calls itself; those of the session that reads the variables.
#pragma once

#include "thalweg/model/frozen_names.h"
#include "thalweg/model/model.h"

namespace thalweg {

struct FreezeOptions {
  bool fold_batch_norms = true;
  // Tables stay, and a node fills them with what they hold now.
  bool with_tables = false;
  RunOptions run;  // of the reads of variables and tables
};

Result<FrozenGraph> FreezeSignature(const Model& model, size_t signature,
                                    const FreezeOptions& options);

}  // namespace thalweg
