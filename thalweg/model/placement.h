// SPDX-License-Identifier: Apache-2.0
// DescribePlacement: on which devices the step of a signature would run, what it would take there,
// and why some nodes are where they are, as JSON.
//
//   ASSIGN_OR_RETURN(std::string json, DescribePlacement(*model, place, {.nodes = {"y"}}));
//
// Placed is the graph before it is rewritten, functions expanded, by what the operations cost for
// inputs of the shapes (placement/cost_model.h); nothing was measured. Devices need not be there:
// one that is only described has the kernels of its kind in this build.
// Ownership: the text is the caller's.
// Threads: any.
// Errors: InvalidArgument for shapes as of costs.h and for names of devices; NotFound for a node
// that is not there, with the nearest; those of the placer.
#pragma once

#include <string>
#include <vector>

#include "thalweg/model/costs.h"
#include "thalweg/passes/placement_method.h"

namespace thalweg {

struct PlacementQuestion {
  CostOptions inputs;
  PlacementMethod method = PlacementMethod::kPreferred;
  // "/job:worker/task:1/device:CPU:0", "/gpu:0": what is left out is this process's; none: the
  // model's own.
  std::vector<std::string> devices;
  std::vector<std::string> nodes;  // that are explained; none: where all are
};

Result<std::string> DescribePlacement(const Model& model, size_t signature,
                                      const PlacementQuestion& question);

}  // namespace thalweg
