// SPDX-License-Identifier: Apache-2.0
// VerifyModel: runs a model with recorded inputs and compares what comes out of its nodes with what
// was recorded.
//
//   ASSIGN_OR_RETURN(Verification found, VerifyModel(*model, place, recorded, {.rtol = 1e-4}, {}));
//   if (found.first >= 0) Use(found.values[static_cast<size_t>(found.first)].tensor);
//
// All recorded values come from one step. They are told in the graph's order, so that the first one
// that differs is where a difference begins; what is known of its inputs stands beside it.
// Ownership: values; the model is used during the call.
// Threads: any.
// Errors: InvalidArgument for inputs that neither the signature nor the graph has, and where it has
// none of the values (a converted graph lacks some); those of the run.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "thalweg/files/checkpoint_difference.h"
#include "thalweg/model/model.h"

namespace thalweg {

using NamedValues = std::vector<std::pair<std::string, Tensor>>;

// Names are those of the signature, or of tensors of the graph: "dense/BiasAdd:0".
struct RecordedStep {
  NamedValues inputs;
  NamedValues values;
};

struct VerifiedValue {
  std::string name;    // as recorded
  std::string tensor;  // of the graph
  std::string operation;
  bool is_same = false;  // within the tolerances
  std::string kind;      // another type or shape: "expected float32 [2], found ..."
  // How far a value is off that differs, or an exact input of the first that does.
  std::optional<ValueDifference> difference;
  // Places in Verification::values of what it is computed from, the nearest that were recorded.
  std::vector<int> inputs;
};

struct Verification {
  std::vector<VerifiedValue> values;  // in an order in which they can be computed
  int first = -1;                     // the first that differs; -1: none
  std::vector<std::string> missing;   // recorded, but no tensors of this graph
};

// What a step of the signature computes that can be recorded: tensors of the graph, numbers and
// texts, that are there in every step; in an order in which they can be computed.
std::vector<Output> RecordableValues(const Model& model, size_t signature);

Result<Verification> VerifyModel(const Model& model, size_t signature, const RecordedStep& recorded,
                                 const CompareOptions& options, const RunOptions& run);
std::string VerificationJson(const Verification& found);

}  // namespace thalweg
